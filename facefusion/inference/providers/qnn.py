"""Qualcomm's neural processor through QNN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from facefusion.inference.providers.base import Placement, Provider, ProviderOptions, gate_of, offered, switch

PACKAGE = "onnxruntime-qnn (Windows on Snapdragon)"


@dataclass(frozen=True, slots=True)
class QnnOptions(ProviderOptions):
    """Options of the QNN provider."""

    device_id: int = 0
    backend: Literal["htp", "gpu", "cpu"] = "htp"
    """``htp`` is the tensor processor."""
    performance: Literal["burst", "sustained_high_performance", "balanced", "default"] = "burst"
    half: bool = True
    """Run float graphs in half precision, the only float the tensor processor knows."""

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        return {
            "device_id": str(self.device_id),
            "backend_type": self.backend,
            "htp_performance_mode": self.performance,
            "enable_htp_fp16_precision": switch(self.half),
        }


def options(placement: Placement) -> QnnOptions:
    """Half precision unless full is asked for, with which float graphs leave the tensor processor for the CPU."""
    return QnnOptions(device_id=placement.device_id, half=placement.half is not False)


QNN = Provider(
    name="qnn",
    runtime_name="QNNExecutionProvider",
    note="Graphs with fixed input sizes run on the tensor processor; others fall back to the CPU.\n"
    "One graph runs at once, since there is one tensor processor.",
    hardware="Qualcomm accelerators",
    package=PACKAGE,
    makers=("Qualcomm",),
    systems=("Linux", "Windows"),
    halves=True,
    half_by_itself=True,
    options=options,
    gate=gate_of(1),
    obstacle=offered("QNNExecutionProvider", PACKAGE),
)
