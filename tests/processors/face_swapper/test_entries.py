"""Every swapper of the catalogue that is a network, by a toy graph of the size and inputs that its file has."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.core.values import Size
from facefusion.processors.base import Target, Workshop
from facefusion.processors.face_swapper.processor import KIND
from facefusion.processors.face_swapper.settings import FaceSwapperSettings, sizes_of
from facefusion.vision.geometry import fit_template
from facefusion.vision.picture import BgrPicture
from tests.processors.face_swapper.toy_shop import BIAS, CONVERSION, MATRIX, WEIGHTS, source, swap
from tests.processors.fakes import RecordingSink
from tests.toys.heard import Heard
from tests.toys.pooled import Toys
from tests.toys.scenes import face, smooth
from tests.toys.swappers import colour_swapper, identity_converter, recogniser

PIXELS = np.rint(smooth()).astype(np.uint8)
HALF = (0.5,) * 3
PLAIN = ((0.0,) * 3, (1.0,) * 3)
HALVES = (HALF, HALF)
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
IDENTITY = (512,)

FACTS = {
    "blendswap_256": ("ffhq_512", 256, PLAIN, PLAIN, (3, 112, 112), ()),
    "ghost_1_256": ("arcface_112_v1", 256, HALVES, HALVES, IDENTITY, ("crossface_ghost",)),
    "ghost_2_256": ("arcface_112_v1", 256, HALVES, HALVES, IDENTITY, ("crossface_ghost",)),
    "ghost_3_256": ("arcface_112_v1", 256, HALVES, HALVES, IDENTITY, ("crossface_ghost",)),
    "hififace_unofficial_256": ("mtcnn_512", 256, HALVES, HALVES, IDENTITY, ("crossface_hififace",)),
    "hyperswap_1a_256": ("arcface_128", 256, HALVES, HALVES, IDENTITY, ()),
    "hyperswap_1b_256": ("arcface_128", 256, HALVES, HALVES, IDENTITY, ()),
    "hyperswap_1c_256": ("arcface_128", 256, HALVES, HALVES, IDENTITY, ()),
    "inswapper_128": ("arcface_128", 128, PLAIN, PLAIN, IDENTITY, ()),
    "inswapper_128_fp16": ("arcface_128", 128, PLAIN, PLAIN, IDENTITY, ()),
    "simswap_256": ("arcface_112_v1", 256, IMAGENET, PLAIN, IDENTITY, ("crossface_simswap",)),
    "simswap_unofficial_512": ("arcface_112_v1", 512, PLAIN, PLAIN, IDENTITY, ("crossface_simswap",)),
    "uniface_256": ("ffhq_512", 256, HALVES, HALVES, (3, 256, 256), ()),
}
"""Template, size, how the target is coded, how the result is, shape of the source, converters."""


def test_all_of_them_are_in_the_catalogue():
    assert FACTS.keys() == set(Catalogue.load().names("face_swapper")) - {"mesh"}


def test_a_face_is_swapped_at_multiples_of_the_models_own_size():
    every = ("128x128", "256x256", "384x384", "512x512", "768x768", "1024x1024")
    offered = {128: every, 256: ("256x256", "512x512", "768x768", "1024x1024"), 512: ("512x512", "1024x1024")}
    assert {name: sizes_of(name) for name in FACTS} == {name: offered[facts[1]] for name, facts in FACTS.items()}
    assert sizes_of("mesh") is None
    assert sizes_of("auto") is None


@pytest.mark.parametrize("name", FACTS)
def test_a_model_of_facefusion_is_fed_by_its_numbers(tmp_path, name):
    template, size, (mean, deviation), given, source_shape, converters = FACTS[name]
    catalogue = Catalogue.load()
    card = catalogue.card(name, "face_swapper")
    companions = {one.name: one for one in catalogue.companions([card])}
    assert companions.keys() == ({"arcface_w600k_r50", *converters} if source_shape == IDENTITY else set())
    # Gives back the target in the coding of the result.
    gain = np.divide(deviation, given[1])
    offset = np.divide(np.subtract(mean, given[0]), given[1])
    graphs = {
        name: colour_swapper(source_shape, size, tuple(gain), tuple(offset), matrix=MATRIX),
        "arcface_w600k_r50": recogniser(WEIGHTS, BIAS),
        **dict.fromkeys(converters, identity_converter(CONVERSION)),
    }
    seen = face(160, 120, 150, angle=6)
    picture = BgrPicture(PIXELS.copy())
    with Toys(tmp_path) as toys:
        heard = {key: Heard(toys.run(graph)) for key, graph in graphs.items()}
        swapper = KIND.build(
            Workshop(
                settings=FaceSwapperSettings(),
                cards={"face_swapper": card},
                runner=lambda one: heard[one.name],
                companions=companions,
                sources=(source(),),
                target=Target(Size(320, 240), 0.0, is_video=False),
                events=RecordingSink(),
            )
        )
        swap(swapper, picture, [seen])
        (run,) = heard[name].inputs
    crop = BgrPicture(PIXELS.copy()).warp(fit_template(seen.landmarks5, template, size), Size(size, size))
    expected = ((crop[..., ::-1] / 255.0 - mean) / deviation).transpose(2, 0, 1)
    np.testing.assert_allclose(run["target"][0], expected, atol=1e-5)
    assert run["source"].shape == (1, *source_shape)
    assert np.abs(picture.pixels.astype(int) - PIXELS).max() <= 2
