"""NVIDIA cards through TensorRT, which compiles an engine per graph and card."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from facefusion.inference.providers import cuda
from facefusion.inference.providers.base import (
    DeviceMemory,
    Obstacle,
    Placement,
    Provider,
    ProviderOptions,
    gate_by_free_memory,
    offered,
    switch,
)
from facefusion.inference.runtime import (
    TENSORRT_LIBRARIES,
    TENSORRT_MAJOR,
    Runtime,
    load_cuda_libraries,
    load_tensorrt_libraries,
)

if TYPE_CHECKING:
    from facefusion.inference.profile import Range

PACKAGE = cuda.PACKAGE

NO_PROFILE = "no associated shape profiles"
"""What ONNX Runtime says where some input of a part of a graph has no range of sizes."""


@dataclass(frozen=True, slots=True)
class TensorRtOptions(ProviderOptions):
    """Options of the TensorRT provider."""

    device_id: int
    engine_folder: Path
    """Compiled engines; the folder belongs to one graph, card, precision and version."""
    timing_folder: Path
    """Measured kernels; shared by all graphs on one card and version."""
    half: bool = True
    builder_level: int = 5
    """0..5: how long the compiler looks for a quicker engine."""
    workspace: int | None = None
    """Bytes of video memory a kernel may use while it runs; none for what the card has."""
    exact_norms: bool = True
    """Keep the squares and sums of layer norms in full precision where the rest is half: they overflow first."""
    shared_context: bool = True
    """One scratch memory for the engines of a graph that is compiled in parts, which run one after the other."""
    alone: bool = True
    """Compile one engine at a time: kernels that are measured beside others are chosen wrongly."""
    shapes: Range = field(default_factory=dict)
    """Smallest and largest shape of each input whose shape is open."""

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        values = {
            "device_id": str(self.device_id),
            "trt_engine_cache_enable": switch(True),
            "trt_engine_cache_path": str(self.engine_folder),
            "trt_timing_cache_enable": switch(True),
            "trt_timing_cache_path": str(self.timing_folder),
            "trt_builder_optimization_level": str(self.builder_level),
            "trt_fp16_enable": switch(self.half),
            "trt_layer_norm_fp32_fallback": switch(self.half and self.exact_norms),
            "trt_context_memory_sharing_enable": switch(self.shared_context),
            "trt_force_sequential_engine_build": switch(self.alone),
        }
        if self.workspace is not None:
            values["trt_max_workspace_size"] = str(self.workspace)
        if self.shapes:
            smallest, largest = ({name: ends[end] for name, ends in self.shapes.items()} for end in (0, 1))
            # One picture is what most frames have; engines are quickest at the shape that they are tuned for.
            for name, shapes in (("min", smallest), ("opt", smallest), ("max", largest)):
                values[f"trt_profile_{name}_shapes"] = ",".join(
                    f"{entry}:{'x'.join(map(str, shape))}" for entry, shape in shapes.items()
                )
        return values

    def folders(self) -> tuple[Path, ...]:
        """See :class:`ProviderOptions`."""
        return (self.engine_folder, self.timing_folder)

    def caches(self) -> tuple[Path, ...]:
        """See :class:`ProviderOptions`."""
        return (self.engine_folder, self.timing_folder)

    def fitted(self, path: Path) -> TensorRtOptions:
        """See :class:`ProviderOptions`."""
        from facefusion.inference.profile import input_shapes, shape_range  # noqa: PLC0415 - needs NumPy

        return replace(self, shapes=shape_range(input_shapes(path)))

    def eased(self, fault: str) -> TensorRtOptions | None:
        """A graph of which TensorRT takes parts alone may have open shapes between them, which no file tells."""
        return replace(self, shapes={}) if self.shapes and NO_PROFILE in fault else None

    def memory(self) -> DeviceMemory:
        """See :class:`ProviderOptions`."""
        return DeviceMemory("cuda", self.device_id)


def options(placement: Placement) -> TensorRtOptions:
    """Engines under a key of everything that decides them."""
    from facefusion.inference.profile import RULE  # noqa: PLC0415 - needs NumPy, which reading the options does not

    root = placement.cache / "tensorrt"
    host = {
        "card": placement.device_name,
        "runtime": placement.runtime.version,
        "tensorrt": placement.runtime.tensorrt_version,
    }
    draft = TensorRtOptions(
        device_id=placement.device_id,
        engine_folder=Path(),
        timing_folder=root / f"timing-{_digest(host)}",
        half=placement.half is not False,
        workspace=placement.workspace,
    )
    tuning = {name: str(value) for name, value in asdict(draft).items() if name not in ("device_id", "timing_folder")}
    key = {"model": placement.model_digest, "shapes": [RULE, placement.shapes], "host": host, "tuning": tuning}
    return replace(draft, engine_folder=root / f"engine-{_digest(key)}")


def obstacle(runtime: Runtime) -> Obstacle | None:
    """What stops CUDA, or no TensorRT libraries of the right version."""
    missing = offered("TensorrtExecutionProvider", PACKAGE)(runtime) or cuda.obstacle(runtime)
    if missing:
        # What is unexpected about CUDA is said for CUDA.
        return replace(missing, unexpected=False)
    if runtime.tensorrt_version is None:
        return Obstacle(
            f"the TensorRT {TENSORRT_MAJOR} libraries are not installed (pip install -r requirements-cuda.txt)"
        )
    return None


def prepare() -> str:
    """Load CUDA before TensorRT, which is linked with it; returns complaints, one a line."""
    return "\n".join(filter(None, (load_cuda_libraries(), load_tensorrt_libraries())))


def libraries(runtime: Runtime) -> tuple[str, ...]:
    """Those of TensorRT, beside those of CUDA."""
    windows = runtime.system == "Windows"
    return tuple(
        f"{name}_{TENSORRT_MAJOR}.dll" if windows else f"lib{name}.so.{TENSORRT_MAJOR}" for name in TENSORRT_LIBRARIES
    )


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


TENSORRT = Provider(
    name="tensorrt",
    runtime_name="TensorrtExecutionProvider",
    note="The first run on a card compiles for tens of seconds per graph; later runs start from the cache.\n"
    "Half precision halves memory and doubles speed; it suits 4K and batches of long videos.",
    hardware="NVIDIA cards, with engines compiled for the card",
    package=PACKAGE,
    makers=("NVIDIA",),
    systems=("Linux", "Windows"),
    libraries=libraries,
    halves=True,
    half_by_itself=True,
    options=options,
    gate=gate_by_free_memory,
    obstacle=obstacle,
    prepare=prepare,
    companions=("cuda",),
)
