"""Graphs on a provider as the program loads them, and noise to feed them with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from facefusion.app.paths import model_folders
from facefusion.core.graph import GraphSignature
from facefusion.core.values import Tensor
from facefusion.inference.execution import Execution, plan_execution
from facefusion.inference.providers.base import ProviderOptions
from facefusion.inference.providers.tensorrt import TensorRtOptions
from facefusion.inference.runtime import read_runtime
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from facefusion.observability.events import Fanout

SIDE = 256
"""Height and width of pictures where a graph leaves them open."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where graphs are run."""

    provider: str
    cache: Path
    """For what providers compile, and for copies in half precision."""
    models: Path | None = None
    """Folder to look in for graphs first."""
    device: int | None = None
    """Number of the card; the one with the most free memory where none is given."""
    side: int = SIDE
    """Height and width of pictures where a graph leaves them open."""
    level: int | None = None
    """How long TensorRT looks for a quicker engine; as long as the program has it look where none is given."""

    def plan(self, precision: str = "auto", *, replay: bool = False) -> Execution:
        """As the program plans a run on this provider alone.

        Raises:
            ProviderError: the provider does not work here.
        """
        return plan_execution(
            ExecutionSettings(
                execution_providers=(self.provider,), execution_device_ids=() if self.device is None else (self.device,)
            ),
            InferenceSettings(inference_precision=precision, inference_cuda_graphs=replay),
            runtime=read_runtime(),
            cache=self.cache,
            events=Fanout(),
        )

    def request(self, graph: Path, precision: str = "auto", *, replay: bool = False) -> LoadRequest:
        """How the program asks for a graph.

        Raises:
            ProviderError: the provider does not work here.
        """
        execution = self.plan(precision, replay=replay)
        digest = hashlib.sha256(graph.read_bytes()).hexdigest()
        request = execution.requests(ModelFile(graph.stem, graph), digest, execution.devices[0])[0]
        return request.with_options(self._at_level)

    def _at_level(self, options: ProviderOptions) -> ProviderOptions:
        if self.level is None or not isinstance(options, TensorRtOptions):
            return options
        folder = options.engine_folder.with_name(f"{options.engine_folder.name}-level-{self.level}")
        return replace(options, builder_level=self.level, engine_folder=folder)

    def find(self, names: Sequence[str]) -> Path | None:
        """The file of the first of these models that is there."""
        folders = model_folders(self.models)
        files = (folder / f"{name}.onnx" for name in names for folder in folders)
        return next((file for file in files if file.is_file()), None)


def load(
    request: LoadRequest, change: Callable[[ProviderOptions], ProviderOptions] = lambda options: options
) -> OrtSession:
    """Load a graph, with other options of its provider where these are changed.

    Raises:
        FaceFusionError: it cannot be loaded.
    """
    return OrtSession(request.with_options(change))


def noise(signature: GraphSignature, side: int = SIDE, rows: int = 1) -> dict[str, Tensor]:
    """What a graph is fed with: numbers in 0..1, the same each time.

    Args:
        signature: of the graph.
        side: of pictures, where it is open.
        rows: pictures, where their number is open.
    """
    generator = np.random.default_rng(20260101)
    inputs: dict[str, Tensor] = {}
    for name, value in signature.inputs.items():
        first, *rest = value.shape or (1,)
        shape = (rows if first is None else first, *(side if size is None else size for size in rest))
        inputs[name] = np.asarray(generator.random(shape)).astype(value.dtype)
    return inputs


@dataclass(frozen=True, slots=True)
class HandedOver(ProviderOptions):
    """Options with which inputs and outputs are handed over anew with each run."""

    own: ProviderOptions

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        return self.own.to_runtime()

    def folders(self) -> tuple[Path, ...]:
        """See :class:`ProviderOptions`."""
        return self.own.folders()

    def caches(self) -> tuple[Path, ...]:
        """See :class:`ProviderOptions`."""
        return self.own.caches()

    def fitted(self, path: Path) -> HandedOver:
        """See :class:`ProviderOptions`."""
        return replace(self, own=self.own.fitted(path))

    def graph(self, path: Path) -> Path:
        """See :class:`ProviderOptions`."""
        return self.own.graph(path)
