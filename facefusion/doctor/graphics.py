"""Graphics units and accelerators of every maker, as the system lists them, whether a driver works or not."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MAKERS = {0x10DE: "NVIDIA", 0x1002: "AMD", 0x8086: "Intel", 0x19E5: "Huawei", 0x5143: "Qualcomm"}
"""By the number that the PCI group gave them."""

DISPLAY = 0x03
ACCELERATOR = 0x12
"""Base classes of PCI devices that graphs may run on."""

WINDOWS_QUESTION = (
    "powershell",
    "-NoProfile",
    "-Command",
    "Get-CimInstance Win32_VideoController | Select-Object Name, PNPDeviceID | ConvertTo-Json",
)
ANSWER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Unit:
    """A graphics unit or an accelerator."""

    maker: str
    name: str = ""
    """Empty where the system does not tell."""
    is_integrated: bool = False
    """Part of the processor, so that it shares its memory and is slow. Of others than Intel nobody tells."""

    def __str__(self) -> str:
        kind = "graphics of the processor" if self.is_integrated else "graphics unit or accelerator"
        return self.name or f"{self.maker} {kind}"


def find_units(system: str | None = None, root: Path = Path("/"), ask: Callable[[], str] | None = None) -> list[Unit]:
    """The units of this machine by known makers; empty where the system does not tell.

    Args:
        system: as :func:`platform.system` names it.
        root: where ``sys`` lies; another folder in tests.
        ask: asks Windows, and returns the JSON that it answers with; another one in tests.
    """
    system = system or platform.system()
    if system == "Linux":
        return list(_of_linux(root))
    if system == "Windows":
        return list(_of_windows((ask or _ask_windows)()))
    return [Unit("Apple", "Apple silicon")] if platform.machine() == "arm64" else []


def _of_linux(root: Path) -> Iterator[Unit]:
    folder = root / "sys/bus/pci/devices"
    for device in sorted(folder.iterdir()) if folder.is_dir() else ():
        maker = MAKERS.get(_number(device / "vendor"))
        if maker is not None and _number(device / "class") >> 16 in (DISPLAY, ACCELERATOR):
            # Intel's graphics within processors are always at this place; its cards are behind a bridge.
            yield Unit(maker, is_integrated=maker == "Intel" and device.name.endswith(":00:02.0"))


def _number(path: Path) -> int:
    try:
        return int(path.read_text().strip(), 16)
    except (OSError, ValueError):
        return 0


def _of_windows(answer: str) -> Iterator[Unit]:
    try:
        found = json.loads(answer)
    except ValueError:
        return
    for entry in found if isinstance(found, list) else [found]:
        name = str(entry.get("Name") or "")
        place = str(entry.get("PNPDeviceID") or "").upper()
        maker = next((maker for number, maker in MAKERS.items() if f"VEN_{number:04X}" in place), None)
        if maker is not None:
            yield Unit(maker, name, is_integrated=maker == "Intel" and "Arc" not in name)


def _ask_windows() -> str:
    try:
        done = subprocess.run(
            WINDOWS_QUESTION, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
