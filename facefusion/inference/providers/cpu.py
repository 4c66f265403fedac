"""The processor itself."""

from __future__ import annotations

from dataclasses import dataclass

from facefusion.inference.providers.base import Placement, Provider, ProviderOptions, no_gate, offered, switch

PACKAGE = "any ONNX Runtime"


@dataclass(frozen=True, slots=True)
class CpuOptions(ProviderOptions):
    """Options of the CPU provider."""

    use_arena: bool = True
    """Keep freed memory for the next run."""

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        return {"use_arena": switch(self.use_arena)}


def options(_: Placement) -> CpuOptions:
    """The same everywhere."""
    return CpuOptions()


CPU = Provider(
    name="cpu",
    runtime_name="CPUExecutionProvider",
    note="Many workers with one thread per graph beat few workers with many threads.\n"
    "For a single image the graph gets all cores instead.",
    hardware="any processor",
    package=PACKAGE,
    options=options,
    gate=no_gate,
    obstacle=offered("CPUExecutionProvider", PACKAGE),
)
