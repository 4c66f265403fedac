"""Tests on a real card: ``pytest -m gpu tests/gpu``, which ``scripts/check_gpu.py`` runs too.

Without a card they are skipped. With ``FACEFUSION_TEST_GPU=1``, which says that one is there, a provider that does not
work fails them; with ``FACEFUSION_TEST_GPU=cuda`` TensorRT may be missing. With ``FACEFUSION_TEST_GPU=cpu`` those of
CUDA run on the CPU, which rehearses them: it proves that they can be run, and nothing about a card.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from facefusion.inference.devices import Gpu
from facefusion.inference.execution import find_obstacle
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.runtime import read_runtime
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from scripts.gpu_check.graphs import Place

CARD_IS_THERE = "FACEFUSION_TEST_GPU"


REHEARSAL = "cpu"
QUICK_LEVEL = 1
"""Of TensorRT's compiler: the numbers are the same, and the highest level takes minutes for all graphs."""


def is_missing(what: str, provider: str = "cuda") -> None:
    """Skip the test, or fail it where a card was promised.

    Args:
        what: is missing.
        provider: that needs it.
    """
    said = os.environ.get(CARD_IS_THERE)
    if said in {"1", provider}:
        pytest.fail(f"{CARD_IS_THERE}={said} says that a card is there, but {what}", pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session")
def obstacles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """For each provider of NVIDIA cards, what keeps it from working."""
    found = {
        name: find_obstacle(
            PROVIDERS[name],
            ExecutionSettings(),
            InferenceSettings(),
            runtime=read_runtime(),
            cache=tmp_path_factory.mktemp("obstacles"),
        )
        for name in ("cuda", "tensorrt")
    }
    return {name: None if obstacle is None else obstacle.reason for name, obstacle in found.items()}


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where engines are compiled to, once for all tests."""
    return tmp_path_factory.mktemp("engines")


@pytest.fixture
def place_of(obstacles: dict[str, str | None], engines: Path) -> Callable[[str], Place]:
    """Where graphs run, by provider."""

    def place(name: str) -> Place:
        if os.environ.get(CARD_IS_THERE) == REHEARSAL:
            if name != "cuda":
                pytest.skip("only CUDA is rehearsed")
            return Place("cpu", engines)
        if obstacles[name] is not None:
            is_missing(f"{name} does not work: {obstacles[name]}", name)
        return Place(name, engines, level=QUICK_LEVEL)

    return place


@pytest.fixture(params=["cuda", "tensorrt"])
def place(request: pytest.FixtureRequest, place_of: Callable[[str], Place]) -> Place:
    """Where graphs run: each provider of NVIDIA cards."""
    return place_of(request.param)


@pytest.fixture
def cuda(place_of: Callable[[str], Place]) -> Place:
    """CUDA."""
    return place_of("cuda")


@pytest.fixture
def card(cuda: Place) -> Gpu:
    """The card that the driver tells of; none in a rehearsal."""
    if cuda.provider == REHEARSAL:
        pytest.skip("needs a card")
    found = read_runtime().gpus
    if not found:
        is_missing("nvidia-smi tells of none")
    return found[cuda.plan().devices[0].id]


@pytest.fixture
def tensorrt(place_of: Callable[[str], Place]) -> Place:
    """TensorRT."""
    return place_of("tensorrt")
