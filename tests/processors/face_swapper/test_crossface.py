"""Converters of identities that give other than 512 numbers."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.errors import ModelError
from facefusion.processors.face_swapper.families.crossface import CrossFace
from tests.toys.masks import card
from tests.toys.vague import VagueGraph


@pytest.mark.parametrize("shape", [(512,), (1, 512), (1, 1, 512)])
def test_an_identity_may_come_in_any_shape(shape):
    graph = VagueGraph({"input": (1, 512)}, [np.ones(shape, np.float32)])
    converted = CrossFace(card("cross", "crossface", "identity_converter"), graph).convert(np.ones(512, np.float32))
    assert converted.tolist() == [1] * 512


@pytest.mark.parametrize("shape", [(), (1, 256), (2, 512)])
def test_an_identity_of_another_length_is_the_converters_fault(shape):
    graph = VagueGraph({"input": (1, 512)}, [np.ones(shape, np.float32)])
    with pytest.raises(ModelError) as refused:
        CrossFace(card("cross", "crossface", "identity_converter"), graph).convert(np.ones(512, np.float32))
    assert refused.value.fault == (
        f"cross: the graph does not fit its family: expected 512 numbers, found {int(np.prod(shape))}"
    )
