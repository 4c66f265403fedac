"""AMD cards through MIGraphX, which compiles a program per graph and card."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from facefusion.inference.providers.base import (
    Placement,
    Provider,
    ProviderOptions,
    gate_by_free_memory,
    offered,
    switch,
)

PACKAGE = "onnxruntime-migraphx, from AMD's package index"


@dataclass(frozen=True, slots=True)
class MiGraphXOptions(ProviderOptions):
    """Options of the MIGraphX provider."""

    device_id: int
    cache_folder: Path
    """Compiled programs. MIGraphX names them by graph, card and version itself."""
    half: bool = False
    memory_limit: int | None = None
    """Bytes of video memory the arena of one session may take; none for no limit."""

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        values = {
            "device_id": str(self.device_id),
            "migraphx_model_cache_dir": str(self.cache_folder),
            "migraphx_fp16_enable": switch(self.half),
        }
        if self.memory_limit is not None:
            values["migraphx_mem_limit"] = str(self.memory_limit)
        return values

    def folders(self) -> tuple[Path, ...]:
        """See :class:`ProviderOptions`."""
        return (self.cache_folder,)

    def caches(self) -> tuple[Path, ...]:
        """See :class:`ProviderOptions`."""
        return (self.cache_folder,)


def options(placement: Placement) -> MiGraphXOptions:
    """One cache folder per graph and precision, since the names inside do not tell precisions apart."""
    half = placement.half is True
    precision = "half" if half else "full"
    return MiGraphXOptions(
        device_id=placement.device_id,
        cache_folder=placement.cache / "migraphx" / f"{placement.model_digest[:32]}-{precision}",
        half=half,
        memory_limit=placement.memory_limit,
    )


MIGRAPHX = Provider(
    name="migraphx",
    runtime_name="MIGraphXExecutionProvider",
    note="Compiles each graph for each input size on first use, up to minutes; later runs start from the cache.\n"
    "Half precision: --inference-precision half.",
    hardware="AMD cards on Linux",
    package=PACKAGE,
    makers=("AMD",),
    systems=("Linux",),
    halves=True,
    options=options,
    gate=gate_by_free_memory,
    obstacle=offered("MIGraphXExecutionProvider", PACKAGE),
)
