"""How many frames a worker takes at a time."""

from __future__ import annotations

import pytest

from facefusion.core.values import Size
from facefusion.pipeline.plan import automatic_grain


@pytest.mark.parametrize(
    ("processors", "size", "on_gpu", "grain"),
    [
        (("face_swapper",), Size(640, 360), False, 4),
        (("face_swapper",), Size(640, 360), True, 4),
        (("face_swapper",), Size(1280, 720), False, 4),
        (("face_swapper",), Size(1280, 720), True, 1),
        (("face_swapper",), Size(3840, 2160), False, 1),
        (("face_swapper", "face_enhancer"), Size(640, 360), False, 1),
        (("frame_enhancer",), Size(320, 180), False, 1),
    ],
)
def test_grain_follows_task_and_size(processors, size, on_gpu, grain) -> None:
    assert automatic_grain(processors, size, on_gpu=on_gpu) == grain
