"""Apple machines through Core ML."""

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
    switch,
)

PACKAGE = "onnxruntime on macOS"


@dataclass(frozen=True, slots=True)
class CoreMlOptions(ProviderOptions):
    """Options of the Core ML provider."""

    cache_folder: Path
    """Compiled models; the folder belongs to one graph, since Core ML may name two graphs alike."""
    model_format: Literal["MLProgram", "NeuralNetwork"] = "MLProgram"
    """The newer format knows more operators and half precision."""
    compute_units: Literal["ALL", "CPUOnly", "CPUAndGPU", "CPUAndNeuralEngine"] = "ALL"
    specialization: Literal["Default", "FastPrediction"] = "FastPrediction"
    """Compile longer for quicker runs."""
    half_accumulation: bool = False
    """Let the GPU add up in half precision."""

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        return {
            "ModelFormat": self.model_format,
            "MLComputeUnits": self.compute_units,
            "SpecializationStrategy": self.specialization,
            "AllowLowPrecisionAccumulationOnGPU": switch(self.half_accumulation),
            "ModelCacheDirectory": str(self.cache_folder),
        }

    def folders(self) -> tuple[Path, ...]:
        """See :class:`ProviderOptions`."""
        return (self.cache_folder,)


def options(placement: Placement) -> CoreMlOptions:
    """One cache folder per graph and version of ONNX Runtime."""
    name = f"{placement.model_digest[:32]}-{placement.runtime.version}"
    return CoreMlOptions(cache_folder=placement.cache / "coreml" / name, half_accumulation=placement.half is True)


COREML = Provider(
    name="coreml",
    runtime_name="CoreMLExecutionProvider",
    note="Graphs with fixed input sizes run on the Neural Engine; others mostly on the GPU or the CPU.\n"
    "The first run compiles; later runs start from the cache.",
    hardware="Apple silicon",
    package=PACKAGE,
    makers=("Apple",),
    systems=("Darwin",),
    halves=True,
    options=options,
    gate=gate_of(GATE_WHERE_UNKNOWN),
    obstacle=offered("CoreMLExecutionProvider", PACKAGE),
)
