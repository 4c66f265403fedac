"""Any DirectX 12 card on Windows through DirectML."""

from __future__ import annotations

from dataclasses import dataclass

from facefusion.inference.providers.base import Placement, Provider, ProviderOptions, gate_of, offered

PACKAGE = "onnxruntime-directml (Windows)"


@dataclass(frozen=True, slots=True)
class DirectMlOptions(ProviderOptions):
    """Options of the DirectML provider."""

    device_id: int = 0

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        return {"device_id": str(self.device_id)}


def options(placement: Placement) -> DirectMlOptions:
    """The same on every card."""
    return DirectMlOptions(device_id=placement.device_id)


DIRECTML = Provider(
    name="directml",
    runtime_name="DmlExecutionProvider",
    note="Works on cards of every maker; on NVIDIA cards cuda is quicker.\n"
    "One graph runs at once, since a DirectML session allows no second run beside the first.",
    hardware="any card on Windows",
    package=PACKAGE,
    makers=("NVIDIA", "AMD", "Intel", "Qualcomm"),
    systems=("Windows",),
    options=options,
    gate=gate_of(1),
    obstacle=offered("DmlExecutionProvider", PACKAGE),
    concurrent=False,
    memory_pattern=False,
)
