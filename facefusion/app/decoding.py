"""Whether a graphics card decodes the target."""

from __future__ import annotations

from collections.abc import Callable

from facefusion.core.errors import SetupError
from facefusion.inference.execution import Execution
from facefusion.media.decoder_card import DecoderCard
from facefusion.media.nvdec import Nvdec, misfit, obstacle
from facefusion.media.probe import MediaInfo
from facefusion.media.settings import AUTO, GPU
from facefusion.observability.events import EventSink, Notice

NVIDIA = frozenset(("cuda", "tensorrt"))
"""Execution providers whose devices are NVIDIA cards, numbered as CUDA counts."""

Trial = Callable[[int, str, str], str]
"""Tries a card, by its number, with a codec and a pixel format; says what stands in the way, nothing where it can."""


def nvidia_device(execution: Execution) -> int | None:
    """Number of the NVIDIA card that graphs run on, the first of several; none where they run elsewhere."""
    return execution.devices[0].id if execution.providers[0].name in NVIDIA else None


def decoder_card(
    choice: str, info: MediaInfo, execution: Execution, events: EventSink, trial: Trial = obstacle
) -> DecoderCard | None:
    """The card that decodes a video; none where the processor does.

    Args:
        choice: ``--decoder-device``.
        info: the video, or an animated image.
        execution: what graphs run on.
        events: told what decodes where a card could have, and when the processor takes over from it.
        trial: tries a card; another one in tests.

    Raises:
        SetupError: a card is asked for and cannot decode the video.
    """
    device = nvidia_device(execution)
    if info.animation is not None or choice not in (AUTO, GPU) or (choice == AUTO and device is None):
        return None
    device = device or 0
    kind = info.pixel_format.replace("yuvj", "yuv")
    reason = misfit(info.codec, info.pixel_format, info.coded_size, alpha=info.alpha)
    reason = reason or trial(device, info.codec, kind)
    if not reason:
        events.emit(Notice(f"{info.path.name} is decoded on card {device}."))
        return DecoderCard(
            Nvdec(device), info.path, info.pixel_format, lambda message: events.emit(Notice(message, warning=True))
        )
    if choice == GPU:
        raise SetupError(
            f"--decoder-device {GPU}: card {device} cannot decode {info.path} ({reason})",
            f"Choose {AUTO}, with which the processor does where a card cannot.",
        )
    events.emit(Notice(f"{info.path.name} is decoded by the processor, not by card {device}: {reason}."))
    return None
