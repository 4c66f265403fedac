"""How a graph makes best use of the processor's cores: several runs at once on one thread each, or fewer on more.

Most graphs want the former, which is the rule. Where measuring finds that another way is clearly faster, it is
remembered, and runs of videos follow it from then on. Only a way that gives the same bits as one thread counts, so that
results do not depend on the machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from facefusion.core.errors import ModelError
from facefusion.core.graph import PICTURES_AT_ONCE, GraphSignature
from facefusion.core.instruction_sets import instruction_sets
from facefusion.core.storage import write_whole
from facefusion.inference.bare import Division, Timing, noise, with_threads
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession, SessionLoader
from facefusion.inference.tally import Fed

CLEARLY = 0.9
"""Of the seconds per run on one thread that another way may take at most to be chosen: what is measured on a machine in
use differs by as much from one time to the next, and a graph with threads of its own takes cores from all others."""

MOST_GRAPHS = 1 << 10
"""That are remembered."""


QUIET = 0.9
"""Share of the processor that runs on one thread each get on a machine that does little else. On a busy one, other
programs decide which way seems faster."""

Measure: TypeAlias = Callable[[Division], Timing]
"""What a graph takes with one way to divide the cores."""


def choose(
    request: LoadRequest,
    fed: Fed,
    measured: Mapping[Division, Timing],
    measure: Measure,
    *,
    load: SessionLoader = OrtSession,
) -> Division | None:
    """The way to divide the cores that is best by what was measured, and gives the bits of one thread.

    None where the machine was too busy to tell.

    Args:
        request: how to load the graph; its model's number of threads is replaced.
        fed: what it was fed while it was measured.
        measured: see :func:`~facefusion.inference.bare.measure_divisions`.
        measure: measures one way again, as a moment in which others worked may have decided.
        load: makes a session; another function in tests.

    Raises:
        ModelError: the graph cannot be loaded or run.
    """
    single = next(division for division in measured if division.threads == 1)
    if measured[single].share < QUIET:
        return None
    for division in sorted(measured, key=lambda one: measured[one].seconds):
        if not _is_clearly_faster(measured[division], measured[single]):
            break
        timing, yardstick = measure(division), measure(single)
        if yardstick.share < QUIET:
            return None
        if _is_clearly_faster(timing, yardstick) and _same_bits(request, fed, division.threads, load):
            return division
    return single


def _is_clearly_faster(timing: Timing, yardstick: Timing) -> bool:
    return timing.seconds < CLEARLY * yardstick.seconds


def closed_shapes(signature: GraphSignature) -> Fed | None:
    """What a graph may be fed, one picture at a time; none where it leaves more open than the number of pictures."""
    if any(None in value.shape[1:] or value.dtype.hasobject for value in signature.inputs.values()):
        return None
    return tuple(
        (name, tuple(1 if size is None else size for size in value.shape), value.dtype)
        for name, value in signature.inputs.items()
    )


class ThreadPlans:
    """What was chosen for graphs on this machine, remembered on disk.

    Args:
        path: of the file. Where it cannot be written, nothing is remembered.
        version: of ONNX Runtime.
        cores: of the machine.
    """

    def __init__(self, path: Path, version: str, cores: int) -> None:
        self._path = path
        self._version = version
        self._cores = cores
        self._plans = self._read()

    def of(self, digest: str) -> Division | None:
        """What was chosen for a graph; none where that was not measured, or cannot have been: files get damaged.

        Args:
            digest: SHA-256 of its file.
        """
        plan = self._plans.get(self._key(digest))
        return None if plan is None or math.prod(plan) > self._cores else Division(*plan)

    def apply(self, model: ModelFile, digest: str) -> ModelFile:
        """The model as it is to be run, where that was measured."""
        plan = self.of(digest)
        return model if plan is None else replace(model, threads=plan.threads, callers=plan.callers)

    def remember(self, digest: str, chosen: Division) -> None:
        """Keep what was chosen for a graph."""
        self._plans = {**self._read(), self._key(digest): (chosen.callers, chosen.threads)}
        newest = dict(list(self._plans.items())[-MOST_GRAPHS:])
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(newest, indent=0).encode())

    def _key(self, digest: str) -> str:
        recipe = f"{digest} {self._version} {self._cores} {instruction_sets()}"
        return hashlib.sha256(recipe.encode()).hexdigest()[:32]

    def _read(self) -> dict[str, tuple[int, int]]:
        try:
            table = json.loads(self._path.read_text(encoding="utf-8"))
            return {str(key): (max(1, int(callers)), max(1, int(threads))) for key, (callers, threads) in table.items()}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return {}


def _same_bits(request: LoadRequest, fed: Fed, threads: int, load: SessionLoader) -> bool:
    one, several = load(with_threads(request, 1)), load(with_threads(request, threads))
    for shapes in _rows(fed, one.signature):
        inputs = noise(shapes)
        try:
            expected = one.run(inputs)
        except ModelError:
            if shapes == fed:
                raise
            continue  # of several pictures, which some graphs promise to take and do not
        found = several.run(inputs)
        if any(found[name].tobytes() != tensor.tobytes() for name, tensor in expected.items()):
            return False
    return True


def _rows(fed: Fed, signature: GraphSignature) -> Iterator[Fed]:
    """What a graph is fed, with every number of pictures that may go through it together."""
    yield fed
    if not signature.takes_several:
        return
    for count in range(1, PICTURES_AT_ONCE + 1):
        yield tuple(
            (name, (count, *shape[1:]) if signature.inputs[name].shape[:1] == (None,) else shape, dtype)
            for name, shape, dtype in fed
        )
