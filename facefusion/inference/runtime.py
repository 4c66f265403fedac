"""What ONNX Runtime and its companions offer on this machine.

ONNX Runtime is imported when somebody asks, not before: the options list the providers, and ``--help`` must not wait
for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import io
import logging
import os
import platform
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from facefusion.inference.devices import Gpu, find_gpus
from facefusion.inference.nvml import MemoryReader, read_memory

logger = logging.getLogger(__name__)

ERRORS_ONLY = 3
FATAL_ONLY = 4
"""Severities from which ONNX Runtime prints; below errors it tells about each node that runs on another device."""

TENSORRT_MAJOR = 10
"""Version of TensorRT that the pinned onnxruntime-gpu is linked with; its libraries carry it in their names."""

TENSORRT_LIBRARIES = ("nvinfer", "nvinfer_plugin", "nvonnxparser")


@dataclass(frozen=True, slots=True)
class Runtime:
    """Facts that decide which execution providers can work here."""

    version: str
    """Of ONNX Runtime."""
    offered: frozenset[str]
    """Names of the execution providers that this build of ONNX Runtime contains."""
    system: str
    """``Linux``, ``Windows`` or ``Darwin``."""
    cuda_version: tuple[int, int] | None = None
    """CUDA that this build is made for; none for a build without."""
    cuda_driver: bool = False
    """Whether the driver's library is there; true in some containers that lack ``nvidia-smi``."""
    gpus: tuple[Gpu, ...] = ()
    tensorrt_version: str | None = None
    """Of the TensorRT libraries found; none where there are none."""


@functools.cache
def read_runtime() -> Runtime:
    """Look at this machine, once per process."""
    import onnxruntime  # noqa: PLC0415

    # CUDA numbers cards by speed unless told otherwise; nvidia-smi, and so this program, by their place on the bus.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    onnxruntime.disable_telemetry_events()
    onnxruntime.set_default_logger_severity(ERRORS_ONLY)
    offered = frozenset(onnxruntime.get_available_providers())
    with_cuda = "CUDAExecutionProvider" in offered
    return Runtime(
        version=onnxruntime.__version__,
        offered=offered,
        system=platform.system(),
        cuda_version=_version(onnxruntime.cuda_version) if with_cuda else None,
        cuda_driver=with_cuda and library_loads("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"),
        gpus=find_gpus(visible=os.environ.get("CUDA_VISIBLE_DEVICES")) if with_cuda else (),
        tensorrt_version=_tensorrt_version() if "TensorrtExecutionProvider" in offered else None,
    )


def with_memory_of_now(runtime: Runtime, read: MemoryReader = read_memory) -> Runtime:
    """The same machine with what its cards have free now, where the driver tells.

    Args:
        runtime: as it was looked at once.
        read: asks the driver; another function in tests.
    """
    told = {gpu.uuid: read(gpu.uuid) for gpu in runtime.gpus}
    return replace(
        runtime,
        gpus=tuple(
            replace(gpu, free_memory=memory.free) if (memory := told[gpu.uuid]) else gpu for gpu in runtime.gpus
        ),
    )


@functools.cache
def load_cuda_libraries() -> str:
    """Load CUDA and cuDNN from the packages that pip installed, so that only a driver is needed.

    Returns:
        What the loader had to complain about, one a line; empty where all was found.
    """
    import onnxruntime  # noqa: PLC0415

    said = io.StringIO()
    # The loader prints instead of raising.
    with contextlib.redirect_stdout(said):
        onnxruntime.preload_dlls()
    complaints = said.getvalue().strip()
    if complaints:
        logger.debug("loading the CUDA libraries: %s", complaints)
    return complaints


@functools.cache
def load_tensorrt_libraries() -> str:
    """Load the TensorRT libraries that pip installed or the system has.

    Returns:
        Which could not be loaded, one a line; empty where all could.
    """
    missing = [name for name in TENSORRT_LIBRARIES if _load_tensorrt(name) is None]
    return "\n".join(f"cannot load the TensorRT library {name}" for name in missing)


def _tensorrt_version() -> str | None:
    library = _load_tensorrt("nvinfer")
    if library is None:
        return None
    number = int(library.getInferLibVersion())
    # Since version 10 the number is major * 10000 + minor * 100 + patch.
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


@functools.cache
def _load_tensorrt(name: str) -> ctypes.CDLL | None:
    file = f"{name}_{TENSORRT_MAJOR}.dll" if sys.platform == "win32" else f"lib{name}.so.{TENSORRT_MAJOR}"
    found = importlib.util.find_spec("tensorrt_libs")
    folders = [Path(folder) for folder in (found.submodule_search_locations or ())] if found else []
    for candidate in [str(folder / file) for folder in folders] + [file]:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(candidate, mode=ctypes.RTLD_GLOBAL)
    return None


def library_loads(library: str) -> bool:
    """Whether a shared library is loaded already or can be."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _version(text: str) -> tuple[int, int] | None:
    match = re.match(r"(\d+)\.(\d+)", text or "")
    return (int(match[1]), int(match[2])) if match else None
