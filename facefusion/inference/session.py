"""A loaded graph."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_state

from facefusion.core.errors import ModelError, ProviderError, VideoMemoryError
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Tensor
from facefusion.inference.arena import SHARED, open_store
from facefusion.inference.binding import Shapes, shapes_of
from facefusion.inference.compiled import compiling, discard
from facefusion.inference.graph_rules import broken_rule
from facefusion.inference.interruption import RunOptions
from facefusion.inference.providers.base import Provider, ProviderOptions
from facefusion.inference.replay import ReplayError
from facefusion.inference.runs import Runs, runs_of, shared_card
from facefusion.inference.runtime import FATAL_ONLY
from facefusion.observability.events import EventSink, Fanout, Notice

logger = logging.getLogger(__name__)

KEPT_WEIGHTS = "weights.bin"
"""File of the constants of a kept graph, which is mapped into memory."""

KEPT = {
    "session.optimized_model_external_initializers_file_name": KEPT_WEIGHTS,
    "session.optimized_model_external_initializers_min_size_in_bytes": "1024",
    "session.disable_prepacking": "1",
}
"""Entries of a session's configuration with which an optimised graph is written: large constants into a file of their
own, none copied for runs that never come."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A graph on disk and how it is to be run."""

    name: str
    """Name of the model, for people."""
    path: Path
    threads: int = 1
    """Processor threads for one run, at least 1."""
    callers: int = 0
    """Runs at once on the processor, where each takes several threads of it; 0 for any number."""
    warm_up: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Shape of each input whose shape the graph leaves open, for the first run on a device."""
    workspace: int = 0
    """Bytes that one run takes beside the weights, as far as the catalogue tells; else 0."""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """Everything that decides a session."""

    model: ModelFile
    providers: tuple[tuple[Provider, ProviderOptions], ...]
    """The provider asked for, then those that take the nodes it does not know; the CPU last."""
    optimised: Path | None = None
    """The graph as it was optimised before, loaded as it is in place of the model's file."""
    kept_as: Path | None = None
    """Where the graph goes once it is optimised, its constants beside it. Such a session is there for nothing else."""

    @property
    def options(self) -> ProviderOptions:
        """Of the provider asked for."""
        return self.providers[0][1]

    @property
    def is_for_the_processor(self) -> bool:
        """Whether all nodes run on the processor."""
        return not any(provider.on_gpu for provider, _ in self.providers)

    def with_options(self, change: Callable[[ProviderOptions], ProviderOptions]) -> LoadRequest:
        """The same with other options of the provider asked for."""
        (provider, options), *others = self.providers
        return replace(self, providers=((provider, change(options)), *others))


class Session(Protocol):
    """Runs one loaded graph; any number of threads at once, as far as its provider allows."""

    @property
    def provider(self) -> str:
        """Name of the provider the session really got."""

    @property
    def signature(self) -> GraphSignature:
        """What the graph takes and gives."""

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None = None) -> dict[str, Tensor]:
        """Run once and return all outputs by name; another thread may end it by way of ``options``.

        Raises:
            ModelError: the graph rejects the inputs.
            DeviceMemoryError: the device has no memory left for the run.
        """


SessionLoader = Callable[[LoadRequest], Session]


class DeviceMemoryError(VideoMemoryError):
    """A device has no memory left for a session or a run; releasing others may help."""

    def __init__(self, fault: str) -> None:
        super().__init__(
            fault,
            "Close other programs that use the device, lower --inference-gate-count, --execution-thread-count or "
            "--execution-queue-count, set --video-memory-strategy conservative, or choose smaller models.",
        )


_RUNTIME_ERRORS: tuple[type[Exception], ...] = (
    # ONNX Runtime's own errors share no base class.
    *(kind for kind in vars(runtime_state).values() if isinstance(kind, type) and issubclass(kind, Exception)),
    RuntimeError,
    ValueError,
    MemoryError,
)
_LOAD_ERRORS: tuple[type[Exception], ...] = (OSError, *_RUNTIME_ERRORS)
_NOT_REPLAYED: set[Path] = set()
"""Graphs whose launches cannot be recorded: known for the life of the process, so that it is said and tried once."""
_CANNOT_RECORD = re.compile(r"graph capture feature|CUDA Graph feature", re.IGNORECASE)
"""ONNX Runtime on a graph that it cannot record, before anything runs."""
_UNUSABLE = re.compile(r"(could not|failed to) (deserialize engine|create timing cache)", re.IGNORECASE)
"""TensorRT on a file of its own that is damaged."""
_DAMAGED = "Delete the file and fetch it again with force-download, or bring another one."
"""What can be done about a file that is no graph."""
_TOO_NEW = re.compile(r"official support for domain|Unsupported model IR version")
"""ONNX Runtime on a graph of a later version of ONNX than it knows."""
_FILE_ERRORS = (runtime_state.NoSuchFile, runtime_state.InvalidProtobuf, runtime_state.InvalidGraph)
_OUT_OF_MEMORY = re.compile(
    r"out of memory|failed to allocate|bad_alloc|available memory of .* is smaller than requested|"
    r"cuda failure 2\b|cublas_status_alloc_failed|8007000E",
    re.IGNORECASE,
)
_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


NOBODY = Fanout()
"""Is told, and passes nothing on."""


class OrtSession:
    """A graph loaded by ONNX Runtime.

    Args:
        request: what decides it.
        events: told once, and for the life of the process, of a graph whose launches cannot be recorded.

    Raises:
        ModelError: the file cannot be read as a graph, or the CPU cannot run it.
        ProviderError: the provider asked for could not be had for this graph.
        DeviceMemoryError: no memory was left for it.
    """

    def __init__(self, request: LoadRequest, events: EventSink = NOBODY) -> None:
        self._events = events
        self._name = request.model.name
        self._provider = request.providers[0][0].name
        self._caches = request.options.caches()
        self._seen: set[Shapes] = set()
        """For which the provider has compiled all that it needs, where it keeps what it compiles."""
        self._opening = threading.Lock()
        self._request = request.with_options(lambda options: options.fitted(request.model.path))
        if self._request.model.path in _NOT_REPLAYED:
            self._request = self._request.with_options(lambda options: options.not_replayed())
        self._signature, self._runs = self._open()
        self._outputs = tuple(self._signature.outputs)

    @property
    def provider(self) -> str:
        """Name of the provider the session really got."""
        return self._provider

    @property
    def signature(self) -> GraphSignature:
        """What the graph takes and gives."""
        return self._signature

    @property
    def is_replayed(self) -> bool:
        """Whether what the graph launches is recorded and replayed, as far as is known yet."""
        return self._request.options.replayed()

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None = None) -> dict[str, Tensor]:
        """See :meth:`Session.run`."""
        runs = self._runs
        try:
            with self._compiling_for(inputs):
                return runs(inputs, options)
        except ReplayError as error:
            self._replay_no_more(runs, error)
            return self.run(inputs, options)
        except _RUNTIME_ERRORS as error:
            if _is_out_of_memory(error):
                raise DeviceMemoryError(f"{self._name}: no memory left to run on {self._provider}") from error
            raise ModelError(
                f"{self._name}: the graph could not be run on {self._provider} ({_reason(error)})",
                "Fetch the model again with force-download; if that does not help, report it.",
            ) from error

    def _open(self) -> tuple[GraphSignature, Runs]:
        """Load the graph; without recordings where it is of a kind that cannot have any."""
        try:
            session = _create(self._request)
        except ReplayError as error:
            self._note_no_replay(error)
            session = _create(self._request)
        wanted = self._request.providers[0][0]
        obtained = tuple(session.get_providers())
        if wanted.runtime_name not in obtained:
            raise ProviderError(
                f"{self._name}: ONNX Runtime gave {', '.join(obtained)} instead of {wanted.name}",
                f"Check that the driver and {wanted.package} fit each other, or add cpu to --execution-providers.",
            )
        try:
            signature = GraphSignature(_values(session.get_inputs()), _values(session.get_outputs()))
        except UnicodeDecodeError as error:
            path = self._request.model.path
            fault = f"{self._name}: {path} cannot be read as a graph (a name in it is no text)"
            raise ModelError(fault, _DAMAGED) from error
        return signature, runs_of(session, signature, self._request.options)

    def _replay_no_more(self, runs: Runs, error: ReplayError) -> None:
        with self._opening:
            if self._runs is runs:  # else another thread was here before
                self._note_no_replay(error)
                _, self._runs = self._open()

    def _note_no_replay(self, error: ReplayError) -> None:
        if self._request.model.path not in _NOT_REPLAYED:
            self._events.emit(Notice(f"{self._name} runs without CUDA graphs: {_reason(error)}", warning=True))
        _NOT_REPLAYED.add(self._request.model.path)
        self._request = self._request.with_options(lambda options: options.not_replayed())

    def _compiling_for(self, inputs: Mapping[str, Tensor]) -> ExitStack:
        """Held while the provider may compile for inputs of a shape that it has not seen yet."""
        held = ExitStack()
        if self._caches and (shapes := shapes_of(inputs)) not in self._seen:
            held.enter_context(compiling(self._caches))
            self._seen.add(shapes)
        return held


def _values(entries: Sequence[Any]) -> dict[str, GraphValue]:
    return {
        entry.name: GraphValue(
            shape=tuple(size if isinstance(size, int) else None for size in entry.shape),
            dtype=np.dtype(_DTYPES.get(entry.type, np.object_)),
        )
        for entry in entries
    }


def _create(request: LoadRequest) -> Any:  # noqa: ANN401 - ONNX Runtime is not typed
    model, wanted = request.model, request.providers[0][0]
    caches = request.options.caches()
    _check_rules(request)
    try:
        with compiling(caches):
            try:
                return _load(request)
            except _RUNTIME_ERRORS as error:
                eased = request.options.eased(str(error))
                if eased is not None:
                    logger.info("%s is loaded otherwise: %s", model.name, _reason(error))
                    return _load(request.with_options(lambda _: eased))
                if not caches or not _UNUSABLE.search(str(error)):
                    raise
                discard(caches)
                return _load(request)
    except _FILE_ERRORS as error:
        raise ModelError(
            f"{model.name}: {model.path} cannot be read as a graph ({_reason(error)})", _DAMAGED
        ) from error
    except _LOAD_ERRORS as error:
        if request.options.replayed() and _CANNOT_RECORD.search(str(error)):
            raise ReplayError(str(error)) from error
        if _TOO_NEW.search(str(error)):
            raise ModelError(
                f"{model.name}: {model.path} is of a version of ONNX that ONNX Runtime {onnxruntime.__version__} does "
                f"not know ({_reason(error)})",
                "Export the model again for an earlier version, or bring another file.",
            ) from error
        if "External data path" in str(error):
            raise ModelError(
                f"{model.name}: {model.path} keeps its weights in another file, which cannot be had ({_reason(error)})",
                "Put that file beside it, or save the model as one file.",
            ) from error
        if _is_out_of_memory(error):
            raise DeviceMemoryError(f"{model.name}: no memory left to load it on {wanted.name}") from error
        if wanted.on_gpu:
            raise ProviderError(
                f"{model.name}: execution provider {wanted.name} could not load it ({_reason(error)})",
                "Add cpu to --execution-providers to run it there.",
            ) from error
        raise ModelError(f"{model.name}: {model.path} could not be loaded ({_reason(error)})", _DAMAGED) from error


def _check_rules(request: LoadRequest) -> None:
    """Refuse a graph that must not be loaded; one that was optimised here before has been looked at.

    Raises:
        ModelError: it is such a one, or is none.
    """
    if request.optimised is not None:
        return
    name, path = request.model.name, request.model.path
    try:
        fault = broken_rule(path)
    except OSError as error:
        raise ModelError(f"{name}: {path} cannot be read as a graph ({error.strerror})", _DAMAGED) from error
    except (ValueError, IndexError) as error:
        raise ModelError(f"{name}: {path} cannot be read as a graph ({error})", _DAMAGED) from error
    if fault:
        raise ModelError(f"{name}: {path} {fault}", "Export the model again as a plain graph, or bring another file.")


def _load(request: LoadRequest) -> Any:  # noqa: ANN401 - ONNX Runtime is not typed
    for provider, chosen in request.providers:
        for folder in chosen.folders():
            folder.mkdir(parents=True, exist_ok=True)
        if provider.prepare is not None:
            provider.prepare()
    with shared_card(request.options):
        return onnxruntime.InferenceSession(
            str(request.optimised or request.options.graph(request.model.path)),
            _session_options(request),
            providers=[(provider.runtime_name, chosen.to_runtime()) for provider, chosen in request.providers],
            # Its own fallback prints to the terminal and hides which provider failed; the pool does better.
            enable_fallback=0,
        )


def _session_options(request: LoadRequest) -> Any:  # noqa: ANN401 - ONNX Runtime is not typed
    chosen = onnxruntime.SessionOptions()
    chosen.log_severity_level = FATAL_ONLY  # what is wrong with a graph is raised; it need not be printed as well
    chosen.intra_op_num_threads = request.model.threads
    chosen.inter_op_num_threads = 1
    chosen.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    chosen.enable_mem_pattern = all(provider.memory_pattern for provider, _ in request.providers)
    # Spinning threads take the cores that decoder, encoder and other workers need.
    chosen.add_session_config_entry("session.intra_op.allow_spinning", "0")
    chosen.add_session_config_entry("session.inter_op.allow_spinning", "0")
    if request.is_for_the_processor:
        open_store()
        chosen.enable_mem_pattern = False  # a run in one block would need a block of its own: see the store
        for name, value in SHARED.items():
            chosen.add_session_config_entry(name, value)
    if request.optimised is not None:
        chosen.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if request.kept_as is not None:
        chosen.optimized_model_filepath = str(request.kept_as)
        for name, value in KEPT.items():
            chosen.add_session_config_entry(name, value)
    return chosen


def _is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(str(error)) is not None


def _reason(error: Exception) -> str:
    """What ONNX Runtime says, without its own prefix and places in its source, in one line of readable length."""
    text = " ".join(str(error).split())
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    text = re.sub(r"^Load model from .*? failed:", "", text)
    text = re.sub(r"/\S+\.(cc|h|cpp):\d+ .*?\) (?=\w)", "", text)
    # It is told at length why a limit is set before what the limit is.
    text = re.sub(r"^ONNX Runtime only \*guarantees\* .*(?=Current official support)", "", text)
    return text[:300].rstrip(" .") or type(error).__name__
