"""What a finished run says about itself, in lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from facefusion.core.report import MarkingReport, RunReport
from facefusion.core.wording import counted

HELD_SHOWN = 10
"""More held frames than this are counted, not listed."""


def summary_lines(report: RunReport, *, stages: bool = False) -> tuple[str, ...]:
    """The summary of a run, one fact per line; ``stages`` adds the busy seconds of each stage."""
    rows = [("frames", _frames(report))]
    if report.held_frames:
        rows.append(("unchanged", _held(report.held_frames)))
    damage = [(report.damaged_frames, "patched up"), (report.lost_frames, "lost")]
    if any(count for count, _ in damage):
        rows.append(("damaged", ", ".join(f"{counted(count, 'frame')} {fate}" for count, fate in damage if count)))
    rows += [
        ("faces", _faces(report)),
        ("speed", _speed(report)),
        ("models", _models(report.models)),
        ("peak memory", f"{report.peak_memory / 2**20:.0f} MiB"),
    ]
    if report.peak_video_memory is not None:
        rows.append(("video memory", f"{report.peak_video_memory / 2**20:.0f} MiB"))
    if report.marking is not None:
        rows.append(("marked as", _marks(report.marking)))
    if stages:
        rows += [(f"stage {name}", f"{seconds:.2f} s") for name, seconds in report.stages.items()]
    rows += [("not kept", sentence) for sentence in report.not_kept]
    return tuple(aligned(rows))


def summary_fields(report: RunReport) -> dict[str, object]:
    """The summary of a run as values of JSON, for those who read that."""
    return {
        "output": report.output,
        "frames": report.frames,
        "resumed_frames": report.resumed_frames,
        "frames_without_face": report.frames_without_face,
        "held_frames": list(report.held_frames),
        "faces": report.faces,
        "seconds": round(report.seconds, 3),
        "start_up_seconds": round(report.start_up_seconds, 3),
        "frames_per_second": round(report.frames_per_second, 3),
        "models": dict(report.models),
        "peak_memory_bytes": report.peak_memory,
        "peak_video_memory_bytes": report.peak_video_memory,
        "marking": None if report.marking is None else asdict(report.marking),
        "not_kept": list(report.not_kept),
    }


def _marks(marking: MarkingReport) -> str:
    """What a result says of itself, in the vocabulary's own term."""
    if marking.source_type is None:
        return "nothing, as asked for" if marking.mode == "off" else "nothing"
    said = marking.source_type.rpartition("/")[2] if marking.in_file else ""
    signed = "" if marking.signed_by is None else f"signed by {marking.signed_by}"
    if marking.side_car is not None:
        signed += f", in {marking.side_car}"
    return ", ".join(filter(None, (said, signed))) or "nothing: the format has no place for it"


def aligned(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Names padded to one width before their values."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{name.ljust(width)}  {value}" for name, value in rows]


def _frames(report: RunReport) -> str:
    parts = [str(report.frames)]
    if report.frames_written != report.frames_read:
        parts = [f"{report.frames_read} read, {report.frames_written} written"]
    if report.resumed_frames:
        parts.append(f"{report.resumed_frames} of them by an earlier run")
    if report.frames_without_face:
        parts.append(f"{report.frames_without_face} of them without a face to work on")
    return ", ".join(parts)


def _faces(report: RunReport) -> str:
    if report.faces_found is None or report.faces_found == report.faces:
        return str(report.faces)
    return f"{report.faces} of {report.faces_found} found"


def _speed(report: RunReport) -> str:
    seconds = f"{report.seconds:.1f} s, after {report.start_up_seconds:.1f} s to start"
    if report.frames and report.frames == report.resumed_frames:
        return f"no frame was left to work on ({seconds})"
    return f"{report.frames_per_second:.1f} frames/s ({seconds})"


def _models(models: Mapping[str, str]) -> str:
    return ", ".join(f"{model} ({provider})" for model, provider in models.items()) or "none"


def _held(frames: Sequence[int]) -> str:
    shown = ", ".join(str(index) for index in frames[:HELD_SHOWN])
    more = ", ..." if len(frames) > HELD_SHOWN else ""
    return f"{counted(len(frames), 'frame')} passed through: {shown}{more}"
