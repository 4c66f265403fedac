"""The ways in which a loaded graph is run, by what its provider can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

from facefusion.core.graph import GraphSignature
from facefusion.core.values import Tensor
from facefusion.inference.binding import BoundRuns
from facefusion.inference.interruption import RunOptions
from facefusion.inference.providers.base import ProviderOptions
from facefusion.inference.replay import TRAFFIC, ReplayedRuns

Runs: TypeAlias = Callable[[Mapping[str, Tensor], RunOptions | None], dict[str, Tensor]]
"""Runs a graph once, and raises what ONNX Runtime raises."""


def runs_of(session: Any, signature: GraphSignature, options: ProviderOptions) -> Runs:  # noqa: ANN401 - untyped library
    """How a session is run: by replays where they are on, on buffers that stay where the device has such, else plainly.

    Args:
        session: of ONNX Runtime.
        signature: what its graph takes and gives.
        options: of the provider that it was made with.
    """
    memory = options.memory()
    values = (*signature.inputs.values(), *signature.outputs.values())
    if memory is None or any(value.dtype.hasobject for value in values):
        return _plain(session, tuple(signature.outputs))
    if options.replayed():
        return ReplayedRuns(session, memory).run
    bound = BoundRuns(session, memory)

    def run(inputs: Mapping[str, Tensor], run_options: RunOptions | None) -> dict[str, Tensor]:
        with shared_card(options):
            return bound.run(inputs, run_options)

    return run


def shared_card(options: ProviderOptions) -> AbstractContextManager[None]:
    """Held by whoever uses a card on which others may record; nothing where there is none."""
    memory = options.memory()
    return nullcontext() if memory is None else TRAFFIC.shared()


def _plain(session: Any, outputs: tuple[str, ...]) -> Runs:  # noqa: ANN401 - as above
    def run(inputs: Mapping[str, Tensor], run_options: RunOptions | None) -> dict[str, Tensor]:
        return dict(zip(outputs, session.run(outputs, dict(inputs), run_options), strict=True))

    return run
