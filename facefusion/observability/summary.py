"""What a finished run says about itself, in lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from facefusion.core.report import RunReport

HELD_SHOWN = 10
"""More held frames than this are counted, not listed."""


def summary_lines(report: RunReport, *, stages: bool = False) -> tuple[str, ...]:
    """The summary of a run, one fact per line; ``stages`` adds the busy seconds of each stage."""
    rows = [
        ("frames", _frames(report)),
        ("faces", str(report.faces)),
        ("speed", _speed(report)),
        ("models", _models(report.models)),
        ("peak memory", f"{report.peak_memory / 2**20:.0f} MiB"),
    ]
    if report.held_frames:
        rows.insert(1, ("unchanged", _held(report.held_frames)))
    if stages:
        rows += [(f"stage {name}", f"{seconds:.2f} s") for name, seconds in report.stages.items()]
    return tuple(aligned(rows))


def aligned(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Names padded to one width before their values."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{name.ljust(width)}  {value}" for name, value in rows]


def _frames(report: RunReport) -> str:
    if report.frames_without_face:
        return f"{report.frames}, {report.frames_without_face} of them without a face to work on"
    return str(report.frames)


def _speed(report: RunReport) -> str:
    seconds = f"{report.seconds:.1f} s, after {report.start_up_seconds:.1f} s to start"
    return f"{report.frames_per_second:.1f} frames/s ({seconds})"


def _models(models: Mapping[str, str]) -> str:
    return ", ".join(f"{model} ({provider})" for model, provider in models.items()) or "none"


def _held(frames: Sequence[int]) -> str:
    shown = ", ".join(str(index) for index in frames[:HELD_SHOWN])
    more = ", ..." if len(frames) > HELD_SHOWN else ""
    return f"{len(frames)} frame{'s' if len(frames) > 1 else ''} passed through: {shown}{more}"
