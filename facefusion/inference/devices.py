"""The graphics cards of this machine, as ``nvidia-smi`` tells them.

A missing ``nvidia-smi`` means that there is no such card and is no error.
"""

from __future__ import annotations

import logging
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from xml.etree import ElementTree

logger = logging.getLogger(__name__)

_COMMAND = ("nvidia-smi", "-q", "-x")
_TIMEOUT_SECONDS = 20.0
"""The driver may take several seconds to wake a card that no process uses."""

SAID_MOST = 200
"""Characters of what ``nvidia-smi`` complains about that are told."""

Runner = Callable[[Sequence[str], float], str]
"""Runs a command with a time-out in seconds and returns what it prints; raises ``OSError`` or ``SubprocessError``."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One NVIDIA card. Sizes in bytes; what the driver does not tell is none."""

    index: int
    """Number of the card as CUDA counts those that this process may see, in PCI order."""
    name: str
    uuid: str
    total_memory: int | None
    free_memory: int | None
    driver_version: str
    cuda_version: tuple[int, int] | None
    """Newest CUDA that the driver supports."""
    architecture: str | None = None
    """``Ampere``, ``Hopper`` and so on."""
    compute_capability: str | None = None


class GpuClass(Enum):
    """What a card is made for, and with it the settings that suit it."""

    DATACENTRE = "datacentre"
    PROSUMER = "prosumer"
    CONSUMER = "consumer"
    NONE = "none"

    @property
    def advice(self) -> str:
        """Settings to recommend, in a sentence."""
        return _ADVICE[self]


_ADVICE = {
    GpuClass.DATACENTRE: "Use --execution-providers tensorrt cuda, --video-memory-strategy aggressive, several cards "
    "through --execution-device-ids.",
    GpuClass.PROSUMER: "Use --execution-providers cuda; tensorrt pays off on long videos and from 4K on.",
    GpuClass.CONSUMER: "Use --execution-providers cuda and --video-memory-strategy conservative where memory is short.",
    GpuClass.NONE: "Use --execution-providers cpu; a smaller output is quicker.",
}

_DATACENTRE = re.compile(
    r"\b(A\d{1,3}[GX]?|H\d{2,3}|L\d{1,2}[GS]?|B\d{3}|GB\d{2,3}|GH200|V100|P100|P40|T4G?|T10|RTX A\d{4}|Tesla)\b"
)
_PROSUMER = re.compile(r"\b(RTX [3-9]0\d0|RTX \d{4} Ada|RTX PRO \d{4}|TITAN)\b")


def classify(gpu: Gpu | None) -> GpuClass:
    """The class of a card, from its name."""
    if gpu is None:
        return GpuClass.NONE
    if _DATACENTRE.search(gpu.name):
        return GpuClass.DATACENTRE
    return GpuClass.PROSUMER if _PROSUMER.search(gpu.name) else GpuClass.CONSUMER


def roomiest(gpus: Sequence[Gpu]) -> Gpu | None:
    """The card with most free memory; the first of equals; none where there is none."""
    return max(gpus, key=lambda gpu: (gpu.free_memory or 0, -gpu.index), default=None)


def find_gpus(*, visible: str | None = None, run: Runner | None = None) -> tuple[Gpu, ...]:
    """Ask ``nvidia-smi`` for the cards of this machine.

    Args:
        visible: value of ``CUDA_VISIBLE_DEVICES``, which hides and renumbers cards; none where it is not set.
        run: runs a command; another one in tests.
    """
    gpus, fault = look_for_gpus(visible=visible, run=run)
    if fault:
        logger.warning("%s, so no graphics card is used", fault)
    return gpus


def look_for_gpus(*, visible: str | None = None, run: Runner | None = None) -> tuple[tuple[Gpu, ...], str]:
    """The same, with what is wrong where there should be cards; empty where nothing is."""
    try:
        report = (run or _run)(_COMMAND, _TIMEOUT_SECONDS)
    except FileNotFoundError:
        return (), ""
    except subprocess.CalledProcessError as error:
        said = " ".join((error.stdout or error.stderr or "").split())
        return (), f"nvidia-smi failed with status {error.returncode}{f': {said[:SAID_MOST]}' if said else ''}"
    except subprocess.TimeoutExpired:
        return (), f"nvidia-smi gave no answer within {_TIMEOUT_SECONDS:g} seconds"
    except (OSError, subprocess.SubprocessError) as error:
        return (), f"nvidia-smi failed: {error}"
    try:
        return _renumbered(parse_report(report), visible), ""
    except ElementTree.ParseError as error:
        return (), f"nvidia-smi printed no readable report: {error}"


def parse_report(report: str) -> tuple[Gpu, ...]:
    """Read the XML that ``nvidia-smi -q -x`` prints.

    Raises:
        ElementTree.ParseError: it is no XML.
    """
    log = ElementTree.fromstring(report)
    driver = log.findtext("driver_version", "")
    cuda = re.fullmatch(r"(\d+)\.(\d+)", log.findtext("cuda_version", "").strip())
    return tuple(
        Gpu(
            index=index,
            name=entry.findtext("product_name", "unknown"),
            uuid=entry.findtext("uuid", ""),
            total_memory=_bytes(entry.findtext("fb_memory_usage/total")),
            free_memory=_bytes(entry.findtext("fb_memory_usage/free")),
            driver_version=driver,
            cuda_version=(int(cuda[1]), int(cuda[2])) if cuda else None,
            architecture=_known(entry.findtext("product_architecture")),
            compute_capability=_known(entry.findtext("compute_cap")),
        )
        for index, entry in enumerate(log.findall("gpu"))
    )


def _renumbered(gpus: tuple[Gpu, ...], visible: str | None) -> tuple[Gpu, ...]:
    """Cards as CUDA sees them; as in CUDA, the first name that fits no card hides all that follow."""
    if visible is None:
        return gpus
    seen: list[Gpu] = []
    for name in (part.strip() for part in visible.split(",")):
        match = [gpu for gpu in gpus if name == str(gpu.index) or (name[:4] == "GPU-" and gpu.uuid.startswith(name))]
        if len(match) != 1:
            break
        seen.append(replace(match[0], index=len(seen)))
    return tuple(seen)


def _bytes(text: str | None) -> int | None:
    """``8188 MiB`` in bytes; none for ``N/A`` and the like."""
    match = re.fullmatch(r"(\d+) MiB", (text or "").strip())
    return int(match[1]) << 20 if match else None


def _known(text: str | None) -> str | None:
    return None if text is None or text.strip() in ("", "N/A", "Unknown", "Unknown Error") else text.strip()


def _run(command: Sequence[str], timeout: float) -> str:
    # What is no text is told by the report that cannot be read, not by the bytes that cannot be decoded.
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=timeout, check=True)
    return done.stdout
