"""Masks that networks see, on faces that a network swaps: before the swap what covers them, after it their regions."""

from __future__ import annotations

import numpy as np

from facefusion.faces.mask.base import SWAP_MASKS
from facefusion.faces.mask.bisenet import BiSeNet
from facefusion.faces.mask.masker import FaceMasker
from facefusion.faces.mask.xseg import XSeg
from facefusion.faces.settings import FaceMaskerSettings
from facefusion.vision.picture import BgrPicture
from tests.processors.face_swapper.toy_shop import ToyShop, swap
from tests.toys import masks as toys
from tests.toys.pooled import Toys
from tests.toys.scenes import face

FACES = (face(70, 120, 70), face(160, 120, 70), face(250, 120, 70))
FRAME = np.zeros((240, 320, 3), np.uint8)
FRAME[:, :160, 0] = 255
"""Blue, which the toy occluder takes for the face, as far as the middle of the second face."""
GREY = "lower-lip"
"""The region that the toy parser finds in what a network paints that gives nothing but 128."""


def changed(folder, *faces, **settings):
    """Where faces are swapped for plain grey; and what the occluder and the parser were given, run by run."""
    picture = BgrPicture(FRAME.copy())
    networks = folder / "networks"
    networks.mkdir(exist_ok=True)
    with Toys(networks) as pool, ToyShop(folder, "hyperswap", gain=(0, 0, 0)) as shop:
        occluder, parser = pool.run(toys.occluder(batch="n")), pool.run(toys.parser(side=64, batch="n"))
        masker = FaceMasker(
            FaceMaskerSettings(face_mask_blur=0.0, **settings),
            SWAP_MASKS,
            XSeg(toys.card("xseg_1", "xseg"), occluder),
            BiSeNet(toys.card("bisenet_resnet_34", "bisenet", "face_parser"), parser),
        )
        swap(shop.swapper(masker=masker), picture, faces)
    return (picture.pixels != FRAME).any(axis=2), [occluder.runs, parser.runs]


def test_what_covers_a_face_is_seen_before_the_swap(tmp_path):
    box, runs = changed(tmp_path, *FACES)
    assert runs == [[], []]
    uncovered, _ = changed(tmp_path, *FACES, face_mask_types=("box", "occlusion"))
    np.testing.assert_array_equal(uncovered[:, :150], box[:, :150])
    assert box[:, 165:].any()
    assert not uncovered[:, 162:].any()


def test_regions_are_seen_after_the_swap(tmp_path):
    box, _ = changed(tmp_path, *FACES)
    grey, _ = changed(tmp_path, *FACES, face_mask_types=("box", "region"), face_mask_regions=(GREY,))
    np.testing.assert_array_equal(grey, box)
    other, _ = changed(tmp_path, *FACES, face_mask_types=("box", "region"), face_mask_regions=("nose", "skin"))
    assert not other.any()


def test_the_faces_of_a_frame_go_through_each_graph_together(tmp_path):
    _, runs = changed(tmp_path, *FACES, face_mask_types=("occlusion", "region"))
    assert runs == [[{"input": (3, 256, 256, 3)}], [{"input": (3, 3, 64, 64)}]]
