from __future__ import annotations

import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from facefusion.core.errors import MediaError, OutputError
from facefusion.core.values import Frame
from facefusion.media.animation import AnimationReader, animation_facts, write_animation
from facefusion.media.animation.parts import Pacer, Timing
from facefusion.media.image import ImageDetails, image_facts, read_image
from facefusion.media.image.gif_palette import to_palette
from facefusion.media.orientation import Orientation
from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.picture import BgrPicture, Layout, YuvPicture

SUFFIXES = [".gif", ".webp", ".png", ".apng"]
DELAYS = tuple(Fraction(each, 100) for each in (2, 90, 10, 3, 50))


def drawings(count=5, width=40, height=30, *, alpha=False, colours=6):
    """Flat blocks of few colours that wander over a still ground, so that every format holds them exactly."""
    found = []
    for number in range(count):
        codes = np.full((height, width, 4 if alpha else 3), 200, np.uint8)
        codes[..., 0] = np.arange(width) * colours // width * 40
        if alpha:
            codes[..., 3] = 255
            codes[:, : 4 + 3 * number, 3] = 0
            codes[codes[..., 3] == 0] = 0
        codes[5 + number : 15 + number, 10 + 2 * number : 20 + 2 * number] = (10, 20, 30, 255)[: codes.shape[2]]
        found.append(codes)
    return found


def frames(codes, delays=DELAYS):
    time = Fraction(0)
    for index, (each, delay) in enumerate(zip(codes, delays, strict=True)):
        alpha = each[..., 3].copy() if each.shape[2] == 4 else None
        yield Frame(index, time, BgrPicture(np.ascontiguousarray(each[..., 2::-1]), alpha), delay)
        time += delay


def as_shown(path):
    """By Pillow: RGBA, hidden pixels black."""
    shown = []
    with Image.open(path) as image:
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            codes = np.array(image.convert("RGBA"))
            codes[codes[..., 3] == 0] = 0
            shown.append(codes)
    return shown


def opaque(codes):
    return codes if codes.shape[2] == 4 else np.dstack((codes, np.full(codes.shape[:2], 255, np.uint8)))


@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_frame_delay_and_play_comes_back(tmp_path, suffix, alpha):
    codes = drawings(alpha=alpha)
    path = tmp_path / f"a{suffix}"
    assert write_animation(frames(codes), path, quality=100, loops=3) == ()
    facts = animation_facts(path)
    assert facts is not None
    assert (facts.frames, facts.delays, facts.loops, facts.alpha) == (5, DELAYS, 3, alpha)
    assert (facts.size, facts.duration, facts.whole) == ((40, 30), sum(DELAYS), True)
    assert all(np.array_equal(a, opaque(b)) for a, b in zip(as_shown(path), codes, strict=True))
    with AnimationReader(path) as reader:
        read = list(reader)
    assert [frame.index for frame in read] == [0, 1, 2, 3, 4]
    assert [frame.duration for frame in read] == list(DELAYS)
    assert [frame.time for frame in read] == [sum(DELAYS[:number], Fraction(0)) for number in range(5)]
    for frame, each in zip(read, codes, strict=True):
        assert isinstance(frame.picture, BgrPicture)
        shown = opaque(each)[..., 3] > 0
        assert np.array_equal(frame.picture.pixels[shown], each[..., 2::-1][shown])
        assert (frame.picture.alpha is not None) == alpha
    assert reader.damage.notice is None


@pytest.mark.parametrize("loops", [0, 1, 2, 7])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_how_often_it_plays(tmp_path, suffix, loops):
    write_animation(frames(drawings()), tmp_path / f"a{suffix}", quality=80, loops=loops)
    facts = animation_facts(tmp_path / f"a{suffix}")
    assert facts is not None and facts.loops == loops
    with Image.open(tmp_path / f"a{suffix}") as image:
        repeats = image.info.get("loop")
    assert repeats == ({0: 0, 1: None}.get(loops, loops - 1) if suffix == ".gif" else loops)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_pillow_writes(tmp_path, suffix):
    pictures = [Image.fromarray(each) for each in drawings()]
    delays = [20, 900, 100, 30, 500]
    pictures[0].save(
        tmp_path / f"a{suffix}",
        {".apng": "PNG"}.get(suffix),
        save_all=True,
        append_images=pictures[1:],
        duration=delays,
        loop=2,
        **({"lossless": True} if suffix == ".webp" else {}),
    )
    facts = animation_facts(tmp_path / f"a{suffix}")
    assert facts is not None
    assert [delay * 1000 for delay in facts.delays] == delays
    assert facts.loops == (3 if suffix == ".gif" else 2)
    with AnimationReader(tmp_path / f"a{suffix}") as reader:
        read = [frame.picture.to_bgr() for frame in reader]
    assert all(np.array_equal(a[..., ::-1], b) for a, b in zip(read, drawings(), strict=True))


def test_a_picture_for_viewers_that_do_not_move_is_no_frame(tmp_path):
    pictures = [Image.fromarray(each) for each in drawings()]
    pictures[4].save(
        tmp_path / "a.png", save_all=True, default_image=True, append_images=pictures[:4], duration=[50, 60, 70, 80]
    )
    facts = animation_facts(tmp_path / "a.png")
    assert facts is not None and (facts.frames, facts.still_first) == (4, True)
    with AnimationReader(tmp_path / "a.png", start=1, end=3) as reader:
        read = list(reader)
    assert [(frame.index, frame.time) for frame in read] == [(1, Fraction(5, 100)), (2, Fraction(11, 100))]
    assert np.array_equal(read[0].picture.to_bgr()[..., ::-1], drawings()[1])


def test_delays_that_players_do_not_keep(tmp_path):
    delays = (Fraction(0), Fraction(1, 100), Fraction(2, 100), Fraction(0), Fraction(5, 100))
    write_animation(frames(drawings()), tmp_path / "a.gif", quality=80, delays=delays)
    facts = animation_facts(tmp_path / "a.gif")
    assert facts is not None
    assert facts.delays == delays
    assert [float(each) for each in facts.durations] == [0.1, 0.1, 0.02, 0.1, 0.05]
    with AnimationReader(tmp_path / "a.gif") as reader:
        again = write_animation(reader, tmp_path / "b.gif", quality=80, delays=facts.delays)
    assert again == ()
    copy = animation_facts(tmp_path / "b.gif")
    assert copy is not None and copy.delays == delays


def test_a_fast_video_loses_frames_in_a_gif_but_not_its_length(tmp_path):
    codes = drawings(60, 80, 80)
    notices = write_animation(frames(codes, (Fraction(1, 60),) * 60), tmp_path / "a.gif", quality=80)
    facts = animation_facts(tmp_path / "a.gif")
    assert facts is not None
    assert facts.frames == 40 and min(facts.delays) >= Fraction(2, 100)
    assert abs(facts.duration - 1) <= Fraction(1, 100)
    assert notices == ("a.gif leaves out 20 frames: players of GIF show none for less than 20 ms.",)
    assert write_animation(frames(codes, (Fraction(1, 60),) * 60), tmp_path / "a.png", quality=80) == ()
    facts = animation_facts(tmp_path / "a.png")
    assert facts is not None and facts.delays == (Fraction(1, 60),) * 60
    notices = write_animation(frames(codes, (Fraction(1, 60),) * 60), tmp_path / "a.webp", quality=80)
    assert notices == ("a.webp counts time in thousandths of a second; delays are rounded to them, their sum is kept.",)
    facts = animation_facts(tmp_path / "a.webp")
    assert facts is not None and (facts.frames, facts.duration) == (60, Fraction(1))


@given(st.lists(st.fractions(Fraction(1, 240), 2, max_denominator=1001), min_size=1, max_size=60))
def test_rounding_never_adds_up(durations):
    pacer = Pacer(Timing(Fraction(1, 100), Fraction(655), least=2), None)
    picture = BgrPicture(np.zeros((1, 1, 3), np.uint8))
    total = Fraction(0)
    for index, duration in enumerate(durations):
        delay = pacer.delay(Frame(index, Fraction(0), picture, duration))
        assert delay is None or (delay >= Fraction(2, 100) and (delay * 100).denominator == 1)
        total += delay or 0
        assert abs(total - sum(durations[: index + 1])) <= Fraction(25, 1000)


def test_pixels_that_do_not_change_cannot_flicker(tmp_path):
    rng = np.random.default_rng(5)
    ground = rng.integers(0, 256, (60, 60, 3), np.uint8)
    codes = []
    for number in range(4):
        each = ground.copy()
        each[20:40, 20:40] = rng.integers(0, 256, (20, 20, 3)) if number else ground[20:40, 20:40]
        codes.append(each)
    notices = write_animation(frames(codes, DELAYS[:4]), tmp_path / "a.gif", quality=80)
    assert notices == ("a.gif holds 256 colours per frame; further ones are mixed from these.",)
    shown = as_shown(tmp_path / "a.gif")
    still = np.ones((60, 60), bool)
    still[20:40, 20:40] = False
    for each in shown[1:]:
        assert np.array_equal(each[still], shown[0][still])
    assert not np.array_equal(shown[1], shown[2])


def test_the_colours_of_a_palette():
    few = np.zeros((4, 64, 3), np.uint8)
    few[..., 1] = np.arange(64) * 4
    reduced = to_palette(few)
    assert reduced.exact and reduced.transparent is None
    assert np.array_equal(np.asarray(reduced.image.convert("RGB")), few)
    y, x = np.mgrid[:64, :64]
    many = np.dstack((x * 4, y * 4, (x + y) * 2)).astype(np.uint8)
    keep = x < 8
    reduced = to_palette(many, keep)
    indices = np.asarray(reduced.image)
    assert not reduced.exact and np.array_equal(indices == reduced.transparent, keep)
    error = np.asarray(reduced.image.convert("RGB")).astype(int) - many
    assert np.abs(error[~keep]).mean() < 8
    assert np.abs(error[8:56, 16:56].reshape(6, 8, 5, 8, 3).mean(axis=(1, 3))).max() < 6, "dithering keeps the mean"


def test_white_is_never_taken_for_transparent():
    noise = np.random.default_rng(6).integers(0, 200, (40, 40, 3), np.uint8)
    noise[:20] = 255
    keep = np.zeros((40, 40), bool)
    keep[0, 0] = True
    reduced = to_palette(noise, keep)
    assert np.array_equal(np.asarray(reduced.image) == reduced.transparent, keep)


@pytest.mark.parametrize("suffix", [".gif", ".png"])
def test_a_file_that_breaks_off_gives_its_frames_and_says_so(tmp_path, suffix):
    codes = [np.random.default_rng(n).integers(0, 256, (40, 40, 3), np.uint8) for n in range(5)]
    write_animation(frames(codes), tmp_path / f"a{suffix}", quality=100)
    data = (tmp_path / f"a{suffix}").read_bytes()
    (tmp_path / f"b{suffix}").write_bytes(data[: int(len(data) * 0.7)])
    with AnimationReader(tmp_path / f"b{suffix}") as reader:
        read = list(reader)
    assert 3 <= len(read) <= 4
    assert reader.damage.ended_early and reader.damage.reached == len(read)
    if suffix != ".gif":
        assert all(np.array_equal(frame.picture.to_bgr()[..., ::-1], codes[n]) for n, frame in enumerate(read[:3]))


def test_a_webp_that_breaks_off_is_refused(tmp_path):
    write_animation(frames(drawings()), tmp_path / "a.webp", quality=80)
    data = (tmp_path / "a.webp").read_bytes()
    (tmp_path / "b.webp").write_bytes(data[: int(len(data) * 0.7)])
    with pytest.raises(MediaError, match=r"b\.webp is damaged"):
        animation_facts(tmp_path / "b.webp")


def test_frames_do_not_pile_up(tmp_path):
    alive: weakref.WeakSet[BgrPicture] = weakref.WeakSet()
    most = 0

    def many():
        nonlocal most
        for index in range(30):
            picture = BgrPicture(np.full((16, 16, 3), index, np.uint8))
            alive.add(picture)
            yield Frame(index, Fraction(index, 10), picture, Fraction(1, 10))
            most = max(most, len(alive))

    for suffix in (".gif", ".webp", ".png"):
        write_animation(many(), tmp_path / f"a{suffix}", quality=80)
    assert most <= 3


def test_frames_of_a_video(tmp_path):
    layout = Layout(Coding(Matrix.BT709, full_range=False, bit_depth=10), 2, 2)
    flat = np.full((16, 16, 3), (30, 120, 200), np.uint8)
    pictures = [YuvPicture.from_bgr(flat, layout) for _ in range(2)]
    shots = [Frame(n, Fraction(n, 5), each, Fraction(0)) for n, each in enumerate(pictures)]
    notices = write_animation(shots, tmp_path / "a.png", quality=80)
    assert notices == ("a.png holds 8 bits per component; the frames have more, which are rounded.",)
    assert np.abs(as_shown(tmp_path / "a.png")[1][..., 2::-1].astype(int) - flat).max() <= 1
    facts = animation_facts(tmp_path / "a.png")
    assert facts is not None and facts.delays == (Fraction(1, 10),) * 2


@pytest.mark.parametrize("suffix", [".webp", ".png"])
def test_metadata_goes_along(tmp_path, suffix):
    exif = Image.Exif()
    exif[271] = "A maker"
    profile = bytes(16) + b"RGB " + bytes(108)
    details = ImageDetails(icc_profile=profile, exif=exif.tobytes(), xmp=b"<x:xmpmeta/>")
    assert write_animation(frames(drawings()), tmp_path / f"a{suffix}", quality=80, details=details) == ()
    with Image.open(tmp_path / f"a{suffix}") as image:
        assert getattr(image, "n_frames", 1) == 5
        assert image.info["icc_profile"] == profile and image.getexif()[271] == "A maker"
        assert image.info["xmp"] == b"<x:xmpmeta/>"
    before = "a.gif does not keep what the source holds beside its pixels: "
    assert write_animation(frames(drawings()), tmp_path / "a.gif", quality=80, details=details) == (
        before + "a colour profile; its colours are shown as sRGB.",
        before + "EXIF data.",
        before + "XMP data.",
    )


@pytest.mark.parametrize("lossless", [False, True])
def test_a_webp_that_only_blends_by_its_alpha_is_opaque(tmp_path, lossless):
    pictures = [Image.fromarray(opaque(each)) for each in drawings()]
    pictures[0].save(tmp_path / "a.webp", save_all=True, append_images=pictures[1:], duration=50, lossless=lossless)
    facts = animation_facts(tmp_path / "a.webp")
    assert facts is not None and not facts.alpha
    with AnimationReader(tmp_path / "a.webp") as reader:
        for frame, each in zip(reader, drawings(), strict=True):
            assert isinstance(frame.picture, BgrPicture) and frame.picture.alpha is None
            assert np.abs(frame.picture.pixels[..., ::-1].astype(int) - each).mean() < 4


def test_orientation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    turned = [Image.fromarray(each).transpose(Image.Transpose.ROTATE_90) for each in drawings()]
    turned[0].save(tmp_path / "a.png", save_all=True, append_images=turned[1:], duration=50, exif=exif)
    with AnimationReader(tmp_path / "a.png") as reader:
        read = [frame.picture.to_bgr()[..., ::-1] for frame in reader]
    assert all(np.array_equal(a, b) for a, b in zip(read, drawings(), strict=True))
    assert (reader.facts.size, reader.facts.orientation) == ((40, 30), Orientation.from_exif(6))


def test_what_is_no_animation(tmp_path):
    for suffix in (".gif", ".png", ".webp"):
        Image.fromarray(drawings()[0]).save(tmp_path / f"a{suffix}")
        assert animation_facts(tmp_path / f"a{suffix}") is None
        facts = image_facts(tmp_path / f"a{suffix}")
        assert facts is not None and facts.size == (40, 30)
        assert read_image(tmp_path / f"a{suffix}").size == (40, 30)
        with pytest.raises(MediaError, match="is no animated image"):
            AnimationReader(tmp_path / f"a{suffix}")
    (tmp_path / "b.gif").write_bytes(b"GIF89a\x01")
    with pytest.raises(MediaError, match=r"b\.gif is damaged: its header breaks off"):
        animation_facts(tmp_path / "b.gif")


def test_a_webp_whose_first_letter_is_another_is_none(tmp_path):
    first, second = (Image.fromarray(drawing) for drawing in drawings()[:2])
    path = tmp_path / "a.webp"
    first.save(path, save_all=True, append_images=[second])
    path.write_bytes(b"S" + path.read_bytes()[1:])
    assert animation_facts(path) is None
    with pytest.raises(MediaError, match=r"a\.webp is a WebP that is damaged"):
        read_image(path)


def test_writing_fails_without_touching_what_is_there(tmp_path, monkeypatch):
    target = tmp_path / "a.png"
    target.write_bytes(b"what was there")

    def broken():
        yield from list(frames(drawings()))[:2]
        raise MediaError("the source broke", "Get it again.")

    with pytest.raises(MediaError, match="the source broke"):
        write_animation(broken(), target, quality=80)
    with pytest.raises(OutputError, match="would hold no frame"):
        write_animation(iter(()), target, quality=80)
    monkeypatch.setattr("facefusion.media.animation.apng.KEEP", 2)
    with pytest.raises(OutputError, match=r"a\.png was written but reads back differently"):
        write_animation(frames(drawings()), target, quality=80)
    assert target.read_bytes() == b"what was there" and [each.name for each in tmp_path.iterdir()] == ["a.png"]
    with pytest.raises(OutputError, match=r"a\.jpg names no format of moving images"):
        write_animation(frames(drawings()), tmp_path / "a.jpg", quality=80)
