"""Intel processors, graphics and accelerators through OpenVINO."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from facefusion.inference.providers.base import (
    GATE_WHERE_UNKNOWN,
    Placement,
    Provider,
    ProviderOptions,
    gate_of,
    offered,
)

PACKAGE = "onnxruntime-openvino"


@dataclass(frozen=True, slots=True)
class OpenVinoOptions(ProviderOptions):
    """Options of the OpenVINO provider."""

    device: str
    """``GPU`` for the first graphics unit, ``GPU.1`` for the second and so on."""
    cache_folder: Path
    """Compiled graphs; OpenVINO names them by content itself."""
    precision: Literal["FP32", "FP16"] = "FP32"

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        return {"device_type": self.device, "precision": self.precision, "cache_dir": str(self.cache_folder)}

    def folders(self) -> tuple[Path, ...]:
        """See :class:`ProviderOptions`."""
        return (self.cache_folder,)


def options(placement: Placement) -> OpenVinoOptions:
    """Full precision unless half is asked for."""
    return OpenVinoOptions(
        device="GPU" if placement.device_id == 0 else f"GPU.{placement.device_id}",
        cache_folder=placement.cache / "openvino",
        precision="FP16" if placement.half is True else "FP32",
    )


OPENVINO = Provider(
    name="openvino",
    runtime_name="OpenVINOExecutionProvider",
    note="Runs on Intel graphics; --execution-device-ids 1 is the second unit.\n"
    "On a machine without Intel graphics the cpu provider is quicker.",
    hardware="Intel processors and graphics",
    package=PACKAGE,
    makers=("Intel",),
    systems=("Linux", "Windows"),
    halves=True,
    options=options,
    gate=gate_of(GATE_WHERE_UNKNOWN),
    obstacle=offered("OpenVINOExecutionProvider", PACKAGE),
)
