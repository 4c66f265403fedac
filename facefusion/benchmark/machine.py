"""What a measurement was taken with, so that records can be compared."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

import psutil

from facefusion import __version__
from facefusion.inference.runtime import read_runtime

PACKAGES = ("numpy", "opencv-python", "onnxruntime-gpu", "onnxruntime", "av")
CPU_INFO = Path("/proc/cpuinfo")


def describe_machine() -> dict[str, object]:
    """Processor, memory, graphics cards, system and the versions of what does the work."""
    return {
        "processor": processor_name(),
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "graphics": [gpu.name for gpu in read_runtime().gpus],
        "system": platform.platform(),
        "python": platform.python_version(),
        "facefusion": __version__,
        "packages": {name: version for name in PACKAGES if (version := _version(name)) is not None},
    }


def processor_name(cpu_info: Path = CPU_INFO) -> str:
    """The processor's name as its maker gives it, where the system tells; else its architecture."""
    if cpu_info.is_file():
        for line in cpu_info.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
