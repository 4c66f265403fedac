"""NVIDIA cards through CUDA and cuDNN."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

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
from facefusion.inference.runtime import Runtime, load_cuda_libraries

PACKAGE = "onnxruntime-gpu (pip install -r requirements-cuda.txt)"
LAST_FOR_CUDA_12 = "1.26.0"
"""The last onnxruntime-gpu on the package index that is built for CUDA 12."""

BUILT_FOR = (13, 0)
"""CUDA of the pinned onnxruntime-gpu."""

CUFFT_OF_CUDA = {11: 10, 12: 11, 13: 12}
"""Version of cuFFT that comes with a version of CUDA."""

ArenaStrategy = Literal["kNextPowerOfTwo", "kSameAsRequested"]


@dataclass(frozen=True, slots=True)
class CudaOptions(ProviderOptions):
    """Options of the CUDA provider."""

    device_id: int = 0
    memory_limit: int | None = None
    """Bytes of video memory the arena of one session may take; none for no limit."""
    arena_strategy: ArenaStrategy = "kNextPowerOfTwo"
    copy_in_default_stream: bool = True
    """Copy in the stream that computes: without it some models race."""
    rounded_products: bool = True
    """Let tensor cores round factors to 10 bits of mantissa (TF32), as ONNX Runtime does unless told otherwise."""
    replay: bool = False
    """Record what a graph launches, and replay it."""
    half_folder: Path | None = None
    """Where the graph is kept in half precision, which is loaded in place of the model's; none for full precision."""

    def to_runtime(self) -> dict[str, str]:
        """See :class:`ProviderOptions`."""
        values = {
            "device_id": str(self.device_id),
            "arena_extend_strategy": self.arena_strategy,
            # For each shape of a convolution's input, by cuDNN's quick heuristic, which by all reports chooses as well
            # as the slow one (EXHAUSTIVE) in a tenth of the time. DEFAULT takes whatever works: many times slower.
            "cudnn_conv_algo_search": "HEURISTIC",
            "do_copy_in_default_stream": switch(self.copy_in_default_stream),
            # Read by builds with cuDNN 8 alone: left on, as it is by default, their search takes up to 90 % of what the
            # card has free, past the arena and its limit. With cuDNN 9 a convolution takes what its algorithm needs, of
            # the arena.
            "cudnn_conv_use_max_workspace": switch(False),
            "use_tf32": switch(self.rounded_products),
        }
        if self.replay:
            values["enable_cuda_graph"] = switch(True)
        if self.memory_limit is not None:
            values["gpu_mem_limit"] = str(self.memory_limit)
        return values

    def graph(self, path: Path) -> Path:
        """See :class:`ProviderOptions`."""
        if self.half_folder is None:
            return path
        from facefusion.inference.half import half_graph  # noqa: PLC0415 - the options list the providers

        return half_graph(path, self.half_folder)

    def memory(self) -> DeviceMemory:
        """See :class:`ProviderOptions`."""
        return DeviceMemory("cuda", self.device_id)

    def replayed(self) -> bool:
        """See :class:`ProviderOptions`."""
        return self.replay

    def not_replayed(self) -> CudaOptions:
        """See :class:`ProviderOptions`."""
        return replace(self, replay=False)


def options(placement: Placement) -> CudaOptions:
    """The precision that is asked for, and the limits."""
    tried = not placement.model_digest  # then the graph is one of text, which no card runs
    folder = placement.cache / "half" / f"{placement.model_digest[:32]}-{placement.runtime.version}"
    return CudaOptions(
        device_id=placement.device_id,
        memory_limit=placement.memory_limit,
        rounded_products=placement.half is not False,
        replay=placement.replay and not tried,
        half_folder=folder if placement.half and not tried else None,
    )


def companion_options(placement: Placement) -> CudaOptions:
    """For nodes that TensorRT leaves over: the graph stays as it is, and nothing is recorded."""
    return replace(options(placement), replay=False, half_folder=None)


def obstacle(runtime: Runtime) -> Obstacle | None:
    """No such build, no card, or a driver older than the CUDA that ONNX Runtime is built for."""
    missing = offered("CUDAExecutionProvider", PACKAGE)(runtime)
    if missing:
        return missing
    if not runtime.gpus and not runtime.cuda_driver:
        return Obstacle(
            "no NVIDIA card was found (nvidia-smi and the driver's library are missing or see none, or "
            "CUDA_VISIBLE_DEVICES hides all)"
        )
    supported = max((gpu.cuda_version for gpu in runtime.gpus if gpu.cuda_version), default=None)
    wanted = runtime.cuda_version
    if supported and wanted and supported[0] < wanted[0]:
        return Obstacle(
            f"the NVIDIA driver {runtime.gpus[0].driver_version} supports CUDA {supported[0]}.{supported[1]} and "
            f"ONNX Runtime {runtime.version} needs CUDA {wanted[0]}.{wanted[1]}; update the driver, or install the "
            f"last build for CUDA 12: pip install 'onnxruntime-gpu[cuda,cudnn]=={LAST_FOR_CUDA_12}'",
            unexpected=True,
        )
    return None


def libraries(runtime: Runtime) -> tuple[str, ...]:
    """Those of CUDA and cuDNN that ONNX Runtime loads before it starts the provider (its ``preload_dlls``)."""
    major = (runtime.cuda_version or BUILT_FOR)[0]
    transforms = CUFFT_OF_CUDA.get(major, major - 1)
    if runtime.system == "Windows":
        names = (f"cudart64_{major}", f"cublas64_{major}", f"cublasLt64_{major}", f"cufft64_{transforms}", "cudnn64_9")
        return tuple(f"{name}.dll" for name in names)
    return (
        f"libcudart.so.{major}",
        f"libcublas.so.{major}",
        f"libcublasLt.so.{major}",
        f"libcufft.so.{transforms}",
        "libcurand.so.10",
        f"libnvrtc.so.{major}",
        "libcudnn.so.9",
    )


CUDA = Provider(
    name="cuda",
    runtime_name="CUDAExecutionProvider",
    note="What a model computes with is chosen anew whenever the size of its input changes, which takes a moment.\n"
    "Set --gpu-memory-limit where other programs share the card.",
    hardware="NVIDIA cards",
    package=PACKAGE,
    makers=("NVIDIA",),
    systems=("Linux", "Windows"),
    libraries=libraries,
    halves=True,
    options=options,
    companion_options=companion_options,
    gate=gate_by_free_memory,
    obstacle=obstacle,
    prepare=load_cuda_libraries,
)
