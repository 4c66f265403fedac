"""Huawei Ascend cards through CANN."""

from __future__ import annotations

from dataclasses import dataclass
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

PACKAGE = "onnxruntime-cann"


@dataclass(frozen=True, slots=True)
class CannOptions(ProviderOptions):
    """Options of the CANN provider."""

    device_id: int = 0
    memory_limit: int | None = None
    """Bytes of device memory the arena of one session may take; none for no limit."""
    arena_strategy: Literal["kNextPowerOfTwo", "kSameAsRequested"] = "kNextPowerOfTwo"
    whole_graph: bool = True
    """Compile the graph as one instead of node by node."""
    precision: Literal["force_fp16", "force_fp32", "allow_fp32_to_fp16", "must_keep_origin_dtype"] = (
        "must_keep_origin_dtype"
    )

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        values = {
            "device_id": str(self.device_id),
            "arena_extend_strategy": self.arena_strategy,
            "enable_cann_graph": switch(self.whole_graph),
            "precision_mode": self.precision,
        }
        if self.memory_limit is not None:
            values["npu_mem_limit"] = str(self.memory_limit)
        return values


def options(placement: Placement) -> CannOptions:
    """Half precision where it is asked for."""
    return CannOptions(
        device_id=placement.device_id,
        memory_limit=placement.memory_limit,
        precision="force_fp16" if placement.half is True else "must_keep_origin_dtype",
    )


CANN = Provider(
    name="cann",
    runtime_name="CANNExecutionProvider",
    note="Compiles each graph for each input size on first use; fixed sizes suit it best.\n"
    "Half precision is what Ascend cards are quick at: --inference-precision half.",
    hardware="Huawei Ascend cards",
    package=PACKAGE,
    makers=("Huawei",),
    systems=("Linux",),
    halves=True,
    options=options,
    gate=gate_of(GATE_WHERE_UNKNOWN),
    obstacle=offered("CANNExecutionProvider", PACKAGE),
)
