"""YuNet's graph as it comes from elsewhere: of fixed size, with names of its own, in half precision."""

from __future__ import annotations

import pytest

from facefusion.core.errors import ModelError
from facefusion.faces.detect.yunet import OUTPUTS, YuNet
from tests.faces.planted import SCENES, check_planted
from tests.faces.stage import card
from tests.toys import detectors
from tests.toys.pooled import Toys

NUMBERS = tuple(str(number) for number in range(12))


@pytest.fixture
def toys(tmp_path):
    with Toys(tmp_path) as toys:
        yield toys


@pytest.mark.parametrize("names", [tuple(OUTPUTS), NUMBERS], ids=["named", "numbered"])
@pytest.mark.parametrize(
    ("height", "width", "half"), [(160, 160, False), ("height", "width", True)], ids=["fixed", "open"]
)
@pytest.mark.parametrize(("face", "frame"), SCENES)
def test_a_planted_face_is_found(toys, face, frame, height, width, half, names):
    check_planted(YuNet(card("yunet"), toys.run(detectors.yunet(height, width, names, half=half))), face, frame)


def test_a_graph_of_another_family_is_refused(toys):
    with pytest.raises(ModelError, match="yunet: the graph does not fit its family: expected 12 outputs, found 9"):
        YuNet(card("yunet"), toys.run(detectors.scrfd(64, 64, batched=True)))
