"""The face and the frame enhancer on pictures whose right answer is known."""

from __future__ import annotations

from collections.abc import Mapping

import cv2
import numpy as np
import pytest

from facefusion.core.values import Size, Tensor
from facefusion.faces.mask.base import SEAM_MASKS
from facefusion.faces.mask.masker import FaceMasker
from facefusion.faces.settings import FaceMaskerSettings
from facefusion.processors.base import Scene
from facefusion.processors.face_enhancer.families.super_resolution import EnlargedFaces
from facefusion.processors.face_enhancer.processor import FaceEnhancer
from facefusion.processors.frame_enhancer.processor import FrameEnhancer
from facefusion.processors.super_resolution import SuperResolution
from facefusion.vision.picture import BgrPicture
from tests.processors.fakes import NearestEnlarger, enlarger_card, noise, oval_face, processed


def network(scale: int = 2) -> SuperResolution:
    return SuperResolution(enlarger_card(scale, 7, 0, 64), NearestEnlarger(scale, 7))


def face_enhancer(networks: SuperResolution, blend: float, **chosen: object) -> FaceEnhancer:
    masker = FaceMasker(FaceMaskerSettings(**chosen), SEAM_MASKS)  # type: ignore[arg-type]
    return FaceEnhancer(EnlargedFaces(networks, masker.before_each, blend))


@pytest.mark.parametrize("blend", [0.0, 0.5, 1.0])
def test_frame_enhancer_mixes_with_a_plain_enlargement(blend: float) -> None:
    pixels = noise(20, 30)
    enhanced = processed(FrameEnhancer(network(), blend), BgrPicture(pixels), (), None)
    assert enhanced.size == Size(60, 40)
    nearest = pixels.repeat(2, axis=0).repeat(2, axis=1).astype(float)
    cubic = cv2.resize(pixels, (60, 40), interpolation=cv2.INTER_CUBIC).astype(float)
    assert np.abs(enhanced.to_bgr() - (blend * nearest + (1 - blend) * cubic)).max() <= 0.51


def test_frames_that_are_enhanced_together_come_out_as_each_alone() -> None:
    pixels = [noise(20, 30, seed) for seed in range(6)]
    runner = NearestEnlarger(2, 7, batch=None)
    enhancer = FrameEnhancer(SuperResolution(enlarger_card(2, 7, 0, 64), runner), 0.5)
    together = enhancer.process([Scene(BgrPicture(one), (), None) for one in pixels])
    assert [shape[0] for shape in runner.shapes] == [4, 2]
    for one, picture in zip(pixels, together, strict=True):
        np.testing.assert_array_equal(processed(enhancer, BgrPicture(one), ()).to_bgr(), picture.to_bgr())


def test_faces_that_are_enhanced_together_come_out_as_each_alone() -> None:
    """Those of one size share a run; one that lies over another is cut out of what that became."""
    faces = [
        (oval_face(60, 60, 25), oval_face(200, 60, 25), oval_face(80, 80, 25)),
        (oval_face(60, 60, 25), oval_face(200, 80, 32)),
    ]
    pixels = [noise(160, 280, seed) for seed in range(2)]
    together = [BgrPicture(one.copy()) for one in pixels]
    runner = NearestEnlarger(2, 7, batch=None)
    enhancer = face_enhancer(SuperResolution(enlarger_card(2, 7, 0, 256), runner), 1.0)
    scenes = [Scene(picture, some, None) for picture, some in zip(together, faces, strict=True)]
    assert enhancer.process(scenes) == together
    assert sorted(shape[0] for shape in runner.shapes) == [1, 1, 3]
    for one, some, picture in zip(pixels, faces, together, strict=True):
        alone = BgrPicture(one.copy())
        for face in some:
            processed(enhancer, alone, (face,))
        np.testing.assert_array_equal(alone.pixels, picture.pixels)
        assert (picture.pixels != one).any()


def test_face_enhancer_leaves_everything_outside_the_crop_as_it_was() -> None:
    pixels = noise(200, 300)
    picture = BgrPicture(pixels.copy())
    processed(face_enhancer(network(), 1.0), picture, (oval_face(100, 90, 30),), None)
    after = picture.to_bgr()
    side = 2.4 * 30 * 1.4
    inside = np.zeros((200, 300), bool)
    inside[int(90 - side / 2) - 1 : int(90 + side / 2) + 2, int(100 - side / 2) - 1 : int(100 + side / 2) + 2] = True
    np.testing.assert_array_equal(after[~inside], pixels[~inside])


def test_face_enhancer_puts_the_face_back_where_it_was() -> None:
    """A network that only repeats pixels must give back a smooth picture, not a shifted one."""
    ramp = np.linspace(0, 255, 300)[None, :, None] * np.ones((200, 1, 3))
    pixels = np.rint(ramp).astype(np.uint8)
    picture = BgrPicture(pixels.copy())
    processed(face_enhancer(network(), 1.0), picture, (oval_face(150, 100, 40),), None)
    assert np.abs(picture.to_bgr().astype(int) - pixels).max() <= 1


def test_face_enhancer_without_blend_changes_nothing() -> None:
    pixels = noise(120, 120)
    picture = BgrPicture(pixels.copy())
    processed(face_enhancer(network(), 0.0), picture, (oval_face(60, 60, 25),), None)
    np.testing.assert_array_equal(picture.to_bgr(), pixels)


@pytest.mark.parametrize("blur", [0.0, 0.3, 0.6])
def test_the_blur_that_the_user_chose_softens_the_edge_of_the_enhanced_face(blur: float) -> None:
    """Where the crop is 100 % new in the middle, the edge rises from 0 over about a quarter of ``blur`` of its side."""
    black = BgrPicture(np.zeros((200, 200, 3), np.uint8))

    class White(NearestEnlarger):
        def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {"output": np.ones_like(super().run(inputs)["output"])}

    white = SuperResolution(enlarger_card(2, 7, 0, 4096), White(2, 7))
    processed(face_enhancer(white, 1.0, face_mask_blur=blur), black, (oval_face(100, 100, 40),), None)
    row = black.pixels[100, :, 0]
    assert row[100] == 255
    rise = int(np.count_nonzero((row[:100] > 12) & (row[:100] < 243)))
    side = 2.4 * 40 * 1.4
    assert abs(rise - blur / 8 * 3.3 * side) <= 4


def test_a_large_face_is_not_sampled_more_coarsely_than_the_frame() -> None:
    runner = NearestEnlarger(2, 7)
    enhancer = face_enhancer(SuperResolution(enlarger_card(2, 7, 0, 4096), runner), 1.0)
    processed(enhancer, BgrPicture(noise(500, 500)), (oval_face(250, 250, 100),), None)
    assert runner.shapes == [(1, 3, 336 + 14, 336 + 14)]
