"""Swapping by networks: what happens to the picture, for each family, by graphs that give back what they are given."""

from __future__ import annotations

import dataclasses
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from facefusion.core.errors import InferenceError, ModelError, UsageError
from facefusion.core.values import Size
from facefusion.faces.landmark.points import aligned_points
from facefusion.faces.mask.base import SWAP_MASKS
from facefusion.faces.mask.masker import PLAIN, FaceMasker
from facefusion.faces.settings import FaceMaskerSettings
from facefusion.processors.base import Scene
from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.geometry import fit_template, invert
from facefusion.vision.picture import BgrPicture, Layout, YuvPicture
from facefusion.vision.warp import sample
from tests.faces.fakes import cut
from tests.processors.face_swapper.toy_shop import FAMILIES, HALVES, ToyShop, card, source, swap
from tests.toys.scenes import face, smooth
from tests.toys.swappers import colour_swapper

FRAME = Size(320, 240)
PIXELS = np.rint(smooth()).astype(np.uint8)
TILTED = face(160, 118, 130, angle=-14)


def shown(seen, template, size=128):
    """How much of each pixel of the frame the swapped face covers: its mask, warped independently of pasting."""
    frame_to_crop = fit_template(aligned_points(seen), template, size)
    mask = PLAIN.before(cut(np.zeros((size, size, 3), np.uint8)))
    padded = np.pad(mask, 1)
    crop_to_frame = invert(frame_to_crop)
    crop_to_frame[:, 2] -= crop_to_frame[:, :2] @ (1, 1)
    return sample([padded], crop_to_frame, FRAME)[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_network_that_gives_back_what_it_gets_changes_nothing_to_speak_of(tmp_path, family):
    picture = BgrPicture(PIXELS.copy())
    with ToyShop(tmp_path, family) as shop:
        swap(shop.swapper(), picture, [TILTED])
    difference = np.abs(picture.pixels.astype(int) - PIXELS).max(axis=2)
    cover = shown(TILTED, FAMILIES[family][0])
    assert difference.max() <= 2
    assert (difference[cover == 0] == 0).all()
    assert (cover > 0.99).sum() > 3000


@pytest.mark.parametrize("family", FAMILIES)
def test_a_network_that_tints_tints_the_mask_and_nothing_else(tmp_path, family):
    # 0.1 of red, 0.05 of green and 0.2 of blue, in the coding of what the family gives.
    coding = FAMILIES[family][1] if family != "simswap" else {"mean": (0.485, 0.456, 0.406), "deviation": (1, 1, 1)}
    deviation = coding.get("deviation", (1, 1, 1))
    moved = np.array((0.1, -0.05, 0.2)) / deviation
    if family == "simswap":
        moved = moved + coding["mean"]
    dim = (PIXELS * 0.6 + 25).astype(np.uint8)
    picture = BgrPicture(dim.copy())
    with ToyShop(tmp_path, family, offset=tuple(moved)) as shop:
        swap(shop.swapper(), picture, [TILTED])
    change = picture.pixels.astype(float) - dim
    cover = shown(TILTED, FAMILIES[family][0])
    assert (change[cover == 0] == 0).all()
    expected = np.array((0.2, -0.05, 0.1)) * 255 * cover[..., None]
    assert np.abs(change - expected).max() < 3


def test_only_what_the_user_s_masks_leave_open_changes(tmp_path):
    masks = FaceMasker(FaceMaskerSettings(face_mask_padding=(0, 0, 50, 0), face_mask_blur=0.0), SWAP_MASKS)
    picture = BgrPicture(PIXELS.copy())
    upright = face(160, 120, 128)
    with ToyShop(tmp_path, "hyperswap", gain=(0, 0, 0)) as shop:
        swap(shop.swapper(masker=masks), picture, [upright])
    grey = (picture.pixels == 128).all(axis=2)
    rows, columns = np.nonzero(grey)
    assert (rows.min(), rows.max()) == pytest.approx((57, 118), abs=2)
    assert (columns.min(), columns.max()) == pytest.approx((97, 222), abs=2)
    assert (picture.pixels[124:] == PIXELS[124:]).all()


def test_boost_keeps_what_the_network_s_own_size_loses(tmp_path):
    detail = np.random.default_rng(3).integers(90, 166, (240, 320, 3)).astype(np.uint8)
    errors = []
    for boost in (None, "128x128"):
        picture = BgrPicture(detail.copy())
        with ToyShop(tmp_path, "inswapper", size=64) as shop:
            # At 128 pixels the crop has the frame's own.
            swap(shop.swapper(boost=boost), picture, [face(160, 120, 128)])
        errors.append(np.abs(picture.pixels.astype(int) - detail)[80:160, 120:200].mean())
    assert errors[0] > 10
    assert errors[1] == 0


def test_each_sub_image_is_the_crop_at_every_nth_pixel(tmp_path):
    seen = face(160, 120, 128)
    with ToyShop(tmp_path, "hyperswap", size=64) as shop:
        swap(shop.swapper(boost="256x256"), BgrPicture(PIXELS.copy()), [seen])
        targets = [run["target"][0] for run in shop.given("toy")]
    crop = BgrPicture(PIXELS.copy()).warp(fit_template(seen.landmarks5, "arcface_128", 256), Size(256, 256))
    assert len(targets) == 16
    for number, target in enumerate(targets):
        a, b = divmod(number, 4)
        expected = (crop[a::4, b::4, ::-1].transpose(2, 0, 1) / 255.0 - 0.5) / 0.5
        np.testing.assert_allclose(target, expected, atol=1e-6)


APART = (face(70, 120, 70), face(160, 120, 70), face(250, 120, 70))
PEOPLE = ((0, 1, 0), (1, 1, 0), (0, 0, 1))
"""Of the faces of three frames."""


@pytest.mark.parametrize(("batch", "runs"), [(1, [1] * 3), ("n", [3])])
def test_faces_that_lie_apart_go_in_one_run_where_the_graph_takes_a_batch(tmp_path, batch, runs):
    pictures = [BgrPicture(PIXELS.copy()) for _ in range(2)]
    with ToyShop(tmp_path, "hyperswap", gain=(-1, -1, -1), batch=batch) as shop:
        swapper = shop.swapper()
        swap(swapper, pictures[0], APART)
        assert [len(run["target"]) for run in shop.given("toy")] == runs
        for one in APART:
            swap(swapper, pictures[1], [one])
    np.testing.assert_array_equal(pictures[0].pixels, pictures[1].pixels)
    assert (pictures[0].pixels != PIXELS).any(axis=2).sum() > 5000


@pytest.mark.parametrize(("batch", "runs"), [(1, [1] * 9), ("n", [4, 4, 1])])
def test_faces_of_several_frames_go_in_runs_of_bounded_size(tmp_path, batch, runs):
    frames = [np.roll(PIXELS, 7 * number, axis=1) for number in range(3)]
    together = [BgrPicture(pixels.copy()) for pixels in frames]
    alone = [BgrPicture(pixels.copy()) for pixels in frames]
    with ToyShop(tmp_path, "hyperswap", gain=(-1, -1, -1), batch=batch) as shop:
        swapper = shop.swapper()
        scenes = [Scene(picture, APART, (None,) * 3) for picture in together]
        assert swapper.process(scenes) == together
        assert [len(run["target"]) for run in shop.given("toy")] == runs
        for picture in alone:
            swap(swapper, picture, APART)
    for picture, other, pixels in zip(together, alone, frames, strict=True):
        np.testing.assert_array_equal(picture.pixels, other.pixels)
        assert (picture.pixels != pixels).any(axis=2).sum() > 5000


def test_each_face_of_several_frames_gets_its_own_person(tmp_path):
    with ToyShop(tmp_path, "blendswap", batch="n") as shop:
        swapper = shop.swapper(source(5), dataclasses.replace(source(7), person=1))
        people = [[dataclasses.replace(one, source=who) for one, who in zip(APART, row, strict=True)] for row in PEOPLE]
        swapper.process([Scene(BgrPicture(PIXELS.copy()), faces, (None,) * 3) for faces in people])
        swap(swapper, BgrPicture(PIXELS.copy()), people[0][:2])
        *told, first, second = np.concatenate([run["source"] for run in shop.given("toy")])
    assert np.abs(first - second).max() > 0.1
    for source_of_face, who in zip(told, itertools.chain(*PEOPLE), strict=True):
        np.testing.assert_array_equal(source_of_face, second if who else first)


@pytest.mark.parametrize("boost", ["32x32", "64x64", "128x128"])
def test_sub_images_of_a_face_go_in_one_run(tmp_path, boost):
    times = int(boost.split("x")[0]) // 32
    with ToyShop(tmp_path, "hyperswap", size=32, gain=(-1, 1, -1), batch="n") as shop:
        swap(shop.swapper(boost=boost), BgrPicture(PIXELS.copy()), APART[:1])
        assert [len(run["target"]) for run in shop.given("toy")] == [times**2]


def test_faces_that_touch_are_swapped_one_after_another(tmp_path):
    near = (face(130, 120, 110), face(190, 124, 110, angle=10), face(60, 50, 60))
    pictures = [BgrPicture(PIXELS.copy()) for _ in range(2)]
    with ToyShop(tmp_path, "hyperswap", gain=(-1, -1, -1), batch="n") as shop:
        swapper = shop.swapper()
        swap(swapper, pictures[0], near)
        assert [len(run["target"]) for run in shop.given("toy")] == [1, 2]
        for one in near:
            swap(swapper, pictures[1], [one])
    np.testing.assert_array_equal(pictures[0].pixels, pictures[1].pixels)


def test_half_precision_graphs_get_half_precision(tmp_path):
    picture = BgrPicture(PIXELS.copy())
    with ToyShop(tmp_path, "inswapper", precision="float16") as shop:
        swap(shop.swapper(), picture, [TILTED])
        assert {tensor.dtype for tensor in shop.given("toy")[0].values()} == {np.dtype(np.float16)}
    assert np.abs(picture.pixels.astype(int) - PIXELS).max() <= 2


@pytest.mark.parametrize("family", ["inswapper", "simswap"])
def test_deep_pictures_keep_their_fractions(tmp_path, family):
    deep = np.rint(smooth() * 257).astype(np.uint16)
    picture = BgrPicture(deep.copy())
    with ToyShop(tmp_path, family, size=128) as shop:
        swap(shop.swapper(), picture, [face(160.5, 120, 128, angle=7)])
    difference = np.abs(picture.pixels.astype(int) - deep)
    changed = difference.max(axis=2) > 0
    assert changed.sum() > 5000
    # Steps of 8 bits are 257 apart; rounded to them, the difference would be 64 on average.
    assert difference[changed].mean() < 32
    assert len(np.unique(picture.pixels[changed] % 257)) == 257


def test_ten_bit_video_keeps_its_steps(tmp_path):
    layout = Layout(Coding(Matrix.BT709, bit_depth=10, full_range=False), 2, 2)
    deep = YuvPicture.from_bgr(smooth(), layout)
    before = [plane.copy() for plane in deep.planes]
    with ToyShop(tmp_path, "hyperswap", size=128) as shop:
        swap(shop.swapper(), deep, [face(160.5, 120, 128, angle=7)])
    difference = np.abs(deep.planes[0].astype(int) - before[0])
    changed = difference > 0
    assert changed.sum() > 1000
    assert difference.max() <= 4
    # Steps of 8 bits are 4 apart; rounded to them, the difference would be 1 on average.
    assert difference[80:160, 120:200].mean() < 0.5


def test_a_face_at_the_border_of_the_frame_is_swapped_as_far_as_it_shows(tmp_path):
    picture = BgrPicture(PIXELS.copy())
    seen = face(5, 235, 120)
    with ToyShop(tmp_path, "hyperswap", gain=(0, 0, 0)) as shop:
        swap(shop.swapper(), picture, [seen])
    assert (picture.pixels[200:, :40] == 128).all()
    assert (picture.pixels[:160, 80:] == PIXELS[:160, 80:]).all()


def test_no_face_runs_nothing(tmp_path):
    picture = BgrPicture(PIXELS.copy())
    with ToyShop(tmp_path, "hyperswap") as shop:
        swap(shop.swapper(), picture, [])
        assert shop.given("toy") == []
    np.testing.assert_array_equal(picture.pixels, PIXELS)


def test_threads_do_not_matter(tmp_path):
    pictures = [np.rint(smooth(seed=seed)).astype(np.uint8) for seed in range(6)]
    with ToyShop(tmp_path, "hififace", gain=(-1, 1, -1), batch="n") as shop, ThreadPoolExecutor(4) as workers:
        swapper = shop.swapper(weight=0.8).afresh()

        def work(pixels):
            picture = BgrPicture(pixels.copy())
            swap(swapper, picture, APART)
            return picture.pixels

        one_by_one = [work(pixels) for pixels in pictures]
        at_once = list(workers.map(work, pictures))
    for first, second in zip(one_by_one, at_once, strict=True):
        np.testing.assert_array_equal(first, second)


def test_values_that_are_no_numbers_do_not_reach_the_picture(tmp_path):
    picture = BgrPicture(PIXELS.copy())
    with ToyShop(tmp_path, "hyperswap", offset=(float("nan"), 0, 0)) as shop:
        swapper = shop.swapper()
        with pytest.raises(InferenceError, match="toy gave values that are no numbers"):
            swap(swapper, picture, [TILTED])
    np.testing.assert_array_equal(picture.pixels, PIXELS)


REFETCH = (
    "Its file is another model than the catalogue says: delete it and fetch it with force-download, "
    "or bring the right one."
)


@pytest.mark.parametrize(
    ("family", "graph", "message"),
    [
        (
            "hyperswap",
            colour_swapper((512,), 96),
            "toy: the graph does not fit its family: expected the input target as 1 x 3 x 64 x 64, "
            f"found 1 x 3 x 96 x 96 of type float32. {REFETCH}",
        ),
        (
            "hyperswap",
            colour_swapper((3, 112, 112), 64),
            "toy: the graph does not fit its family: expected the input source as 1 x 512, "
            f"found 1 x 3 x 112 x 112 of type float32. {REFETCH}",
        ),
        (
            "blendswap",
            colour_swapper((3, 256, 256), 64),
            "toy: the graph does not fit its family: expected the input source as 1 x 3 x 112 x 112, "
            f"found 1 x 3 x 256 x 256 of type float32. {REFETCH}",
        ),
        (
            "inswapper",
            colour_swapper((512,), 64),
            "toy: the last constant of its file is 2 and must be the 512 x 512 matrix of identities. "
            "It was saved anew and lost that, as quantised graphs do: put the matrix back as the last constant, or "
            "delete the file and fetch it with force-download.",
        ),
    ],
)
def test_a_graph_that_does_not_fit_is_refused_before_the_first_frame(tmp_path, family, graph, message):
    with ToyShop(tmp_path, family, size=64, graph=graph) as shop, pytest.raises(ModelError) as refused:
        shop.swapper()
    assert str(refused.value) == message


def test_a_boost_that_is_no_multiple_is_refused(tmp_path):
    with ToyShop(tmp_path, "hyperswap", size=96) as shop, pytest.raises(UsageError) as refused:
        shop.swapper(boost="256x256")
    assert str(refused.value) == (
        "toy cannot work at 256x256, which is no multiple of its size 96x96. "
        "Set --face-swapper-pixel-boost to 96x96 or 192x192."
    )


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"template": "round", **HALVES}, "Model toy: template is 'round' in the catalogue"),
        ({**HALVES}, "Model toy: template is None in the catalogue"),
        ({"template": "arcface_128", "mean": (0.5,)}, "Model toy: mean is (0.5,) in the catalogue"),
        ({"template": "arcface_128", "deviation": 2.0}, "Model toy: deviation is 2.0 in the catalogue"),
    ],
)
def test_an_entry_that_lacks_something_is_named(tmp_path, numbers, message):
    with ToyShop(tmp_path, "hyperswap") as shop:
        shop.card = card("toy", "face_swapper", "hyperswap", ["eye"], input_size=64, **numbers)
        with pytest.raises(ModelError) as refused:
            shop.swapper()
    assert str(refused.value).startswith(message)


def test_a_swapper_without_its_recogniser_is_named(tmp_path):
    with ToyShop(tmp_path, "ghost") as shop:
        shop.card = dataclasses.replace(shop.card, companions=("cross",))
        with pytest.raises(ModelError) as refused:
            shop.swapper()
    assert str(refused.value) == (
        "Model toy: 0 of its companions are of the kind face_recognizer in the catalogue. It must be one."
    )
