"""AMD cards through ROCm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from facefusion.inference.providers.base import (
    Placement,
    Provider,
    ProviderOptions,
    gate_by_free_memory,
    offered,
    switch,
)

PACKAGE = "onnxruntime-rocm (up to ONNX Runtime 1.22; newer ones have migraphx instead)"


@dataclass(frozen=True, slots=True)
class RocmOptions(ProviderOptions):
    """Options of the ROCm provider."""

    device_id: int = 0
    memory_limit: int | None = None
    """Bytes of video memory the arena of one session may take; none for no limit."""
    arena_strategy: Literal["kNextPowerOfTwo", "kSameAsRequested"] = "kNextPowerOfTwo"
    exhaustive_search: bool = True
    """Try all convolution algorithms of MIOpen for each shape."""
    copy_in_default_stream: bool = True

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        values = {
            "device_id": str(self.device_id),
            "arena_extend_strategy": self.arena_strategy,
            "miopen_conv_exhaustive_search": switch(self.exhaustive_search),
            "do_copy_in_default_stream": switch(self.copy_in_default_stream),
        }
        if self.memory_limit is not None:
            values["gpu_mem_limit"] = str(self.memory_limit)
        return values


def options(placement: Placement) -> RocmOptions:
    """The same on every card."""
    return RocmOptions(device_id=placement.device_id, memory_limit=placement.memory_limit)


ROCM = Provider(
    name="rocm",
    runtime_name="ROCMExecutionProvider",
    note="MIOpen keeps what its search found in the user's home folder, so only the first run is slow.\n"
    "On ONNX Runtime 1.23 and later use migraphx.",
    hardware="AMD cards on Linux, older builds",
    package=PACKAGE,
    makers=("AMD",),
    systems=("Linux",),
    options=options,
    gate=gate_by_free_memory,
    obstacle=offered("ROCMExecutionProvider", PACKAGE),
)
