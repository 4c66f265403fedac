"""What an execution provider is.

One provider is one file here: a frozen dataclass of its typed options, a note on tuning, a test whether it can work
on this machine, and a rule for its gate; plus one line in :mod:`facefusion.inference.providers.registry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from facefusion.inference.runtime import Runtime

GIB = 1 << 30

SYSTEMS = ("Linux", "Windows", "Darwin")

GATE_WHERE_UNKNOWN = 4
"""Graphs that may run at once on a device that does not tell its free memory."""
GATE_BYTES = 2 * GIB
"""Free device memory for each graph running at once: activations and convolution workspace of the largest models."""
GATE_MOST = 8
"""More graphs at once only queue up inside the driver."""


@dataclass(frozen=True, slots=True)
class Placement:
    """What a provider's options may depend on: the device, the graph and the user's settings."""

    device_id: int
    device_name: str
    """Name and capability of the card; empty where there is none to tell."""
    free_memory: int | None
    """Free memory of the device in bytes, where it tells."""
    memory_limit: int | None
    """Bytes of device memory one session may take; none for no limit."""
    half: bool | None
    """Compute in half precision, or never; none leaves it to the provider's habit."""
    cache: Path
    """Folder for compiled engines, the provider's own below it."""
    model_digest: str
    """SHA-256 of the graph; empty where the provider is only tried out."""
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    """Input shapes the graph is warmed up with."""
    runtime: Runtime
    replay: bool = False
    """Record what graphs launch and replay it, where the provider can."""
    workspace: int | None = None
    """Bytes of :attr:`memory_limit` for one run beside the weights, which follow from the graph alone; none for no
    limit."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Memory of a device in which inputs and outputs of a graph can stay."""

    kind: str
    """As ONNX Runtime names it: ``cuda``, or ``cpu`` in tests."""
    device_id: int = 0


class ProviderOptions(ABC):
    """The typed options of one provider; each is a frozen dataclass."""

    __slots__ = ()

    @abstractmethod
    def to_runtime(self) -> dict[str, str]:
        """The options under the names that ONNX Runtime knows them by."""

    def folders(self) -> tuple[Path, ...]:
        """Folders that must exist before a session is made: providers do not create more than the last part."""
        return ()

    def caches(self) -> tuple[Path, ...]:
        """Folders in which the provider keeps what it compiled, its own one first, those shared with others after it.

        A process that is killed leaves half a file there, which no later session could be made with.
        """
        return ()

    def fitted(self, path: Path) -> ProviderOptions:
        """The options with what only the file of the graph tells; the file may be large, so this is asked when loading.

        Raises:
            ModelError: the file cannot be read as a graph.
        """
        return self

    def graph(self, path: Path) -> Path:
        """The file to load in place of the model's: the same, or one made of it.

        Raises:
            ModelError: the file cannot be read as a graph, or none can be made of it.
        """
        return path

    def eased(self, fault: str) -> ProviderOptions | None:
        """Options with which a graph may load that failed to with these; none where there are none.

        Args:
            fault: what ONNX Runtime said.
        """
        return None

    def memory(self) -> DeviceMemory | None:
        """Where inputs and outputs stay from run to run; none where they are handed over anew with each."""
        return None

    def replayed(self) -> bool:
        """Whether launches are recorded once for each shape of the inputs, and replayed from then on."""
        return False

    def not_replayed(self) -> ProviderOptions:
        """The same options without recordings."""
        return self


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a provider cannot work on this machine."""

    reason: str
    """As the end of "skipped: ..."."""
    unexpected: bool = False
    """True where the device is there and something stands in its way, so that even a user who did not ask for it
    should know."""


def no_libraries(_: Runtime) -> tuple[str, ...]:
    """For providers that bring all they need."""
    return ()


@dataclass(frozen=True, slots=True)
class Provider:
    """One execution provider."""

    name: str
    """What users type."""
    runtime_name: str
    """What ONNX Runtime calls it."""
    note: str
    """Two lines on tuning, for people."""
    hardware: str
    """What it runs on, for people."""
    package: str
    """Which package brings it, for error messages."""
    options: Callable[[Placement], ProviderOptions]
    gate: Callable[[int | None], int | None]
    """Graphs that may run at once on a device with so many bytes free (none: unknown); none for no gate."""
    obstacle: Callable[[Runtime], Obstacle | None]
    """What is known to stand in its way here, before it is tried."""
    prepare: Callable[[], str] | None = None
    """Loads what the provider needs before the first session; returns complaints, one a line."""
    makers: tuple[str, ...] = ()
    """Makers of the graphics units and accelerators that it runs on."""
    systems: tuple[str, ...] = SYSTEMS
    """Where there are builds of it, as :class:`Runtime` names systems."""
    libraries: Callable[[Runtime], tuple[str, ...]] = no_libraries
    """Names of the shared libraries that it needs beside ONNX Runtime and the driver, as the loader knows them."""
    halves: bool = False
    """Whether it computes in half precision where that is asked for."""
    half_by_itself: bool = False
    """Whether it does where nothing is asked for."""
    companion_options: Callable[[Placement], ProviderOptions] | None = None
    """Its options where it only takes over what another provider leaves; none for the same."""
    companions: tuple[str, ...] = ()
    """Providers that take over the nodes this one does not know, before the CPU does."""
    concurrent: bool = True
    """Whether one session may run on several threads at once; if not, the gate holds one whatever the user says."""
    memory_pattern: bool = True
    """Whether ONNX Runtime may plan memory ahead; some providers forbid it."""

    def suits(self, system: str, makers: frozenset[str]) -> bool:
        """Whether it could run on a system with graphics units or accelerators of these makers."""
        return system in self.systems and not makers.isdisjoint(self.makers)

    @property
    def on_gpu(self) -> bool:
        """True for all but the CPU: workers wait for a device."""
        return self.name != "cpu"


def gate_by_free_memory(free_memory: int | None) -> int:
    """One graph at once for each 2 GiB free, at least 1 and at most 8; 4 where the device does not tell."""
    if free_memory is None:
        return GATE_WHERE_UNKNOWN
    return max(1, min(free_memory // GATE_BYTES, GATE_MOST))


def gate_of(count: int) -> Callable[[int | None], int]:
    """A gate of fixed size, for devices whose memory says nothing about how much may run at once."""
    return lambda _: count


def no_gate(_: int | None) -> None:
    """No gate."""
    return


def offered(runtime_name: str, package: str) -> Callable[[Runtime], Obstacle | None]:
    """The plainest test: this build of ONNX Runtime contains the provider."""

    def obstacle(runtime: Runtime) -> Obstacle | None:
        if runtime_name in runtime.offered:
            return None
        return Obstacle(f"the ONNX Runtime installed here has no {runtime_name}; it comes with {package}")

    return obstacle


def switch(value: bool) -> str:
    """A boolean as most providers read it."""
    return "1" if value else "0"
