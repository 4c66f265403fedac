"""What the NVIDIA cards of this machine decode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, note, ok, warning
from facefusion.inference.devices import Gpu
from facefusion.media.nvdec import TRIALS, obstacle
from facefusion.media.settings import GPU, DecodingSettings

TOPIC = "decoder"

NAMES = {"yuv420p": "", "yuv420p10le": " of 10 bits"}
"""Depths in words."""

Trial = Callable[[int, str, str], str]
"""Tries a card, by its number, with a codec and a pixel format; says what stands in the way, nothing where it can."""


def findings(examination: Examination) -> Iterator[Finding]:
    """Try every card with every kind of video that cards decode."""
    yield from decoder_findings(examination.look.gpus, examination.snapshot.get(DecodingSettings).decoder_device)


def decoder_findings(gpus: tuple[Gpu, ...], choice: str, trial: Trial = obstacle) -> Iterator[Finding]:
    """What cards decode as the processor does, bit by bit.

    Args:
        gpus: NVIDIA cards.
        choice: ``--decoder-device``.
        trial: tries one; another one in tests.
    """
    for gpu in gpus:
        reasons = {kind: trial(gpu.index, *kind) for kind in TRIALS}
        can = [kind for kind, reason in reasons.items() if not reason]
        if can:
            yield ok(TOPIC, f"card {gpu.index} decodes {_listed(can)}")
        for reason in dict.fromkeys(filter(None, reasons.values())):
            kinds = [kind for kind in reasons if reasons[kind] == reason]
            yield note(TOPIC, f"card {gpu.index} does not decode {_listed(kinds)} ({reason}); the processor does")
    if not gpus and choice == GPU:
        yield warning(
            TOPIC,
            f"decoder_device = {GPU} is set, and there is no NVIDIA card",
            "Set decoder_device = auto: then the processor decodes where there is none.",
        )
    elif not gpus:
        yield note(TOPIC, "there is no NVIDIA card, so the processor decodes")


def _listed(kinds: list[tuple[str, str]]) -> str:
    return ", ".join(f"{codec}{NAMES[pixel_format]}" for codec, pixel_format in kinds)
