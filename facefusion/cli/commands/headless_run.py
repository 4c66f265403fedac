"""Processes one image or video."""

from __future__ import annotations

from facefusion.cli.command import Context
from facefusion.config.request import checked_output
from facefusion.config.settings import MiscSettings, PathsSettings, ProcessorsSettings
from facefusion.core.errors import Stopped
from facefusion.observability.summary import aligned, summary_lines

HELD = 1
"""Exit code of a whole result with frames passed through, under ``--fail-on-held-frames``."""


def execute(context: Context) -> int:
    """Check the files, process, say what was used; the output's path is the last line, on the output stream."""
    paths = context.state.snapshot.get(PathsSettings)
    output = checked_output(paths)
    snapshot = context.state.change({"output_path": output}, context.state.snapshot.origin("output_path"))
    misc = snapshot.get(MiscSettings)
    talkative = misc.log_level in ("info", "debug")
    if talkative:
        _say(context, _request_lines(snapshot.get(PathsSettings), snapshot.get(ProcessorsSettings)))
    report = context.application.execute(snapshot, context.events, context.stop)
    if talkative:
        _say(context, summary_lines(report, stages=misc.log_level == "debug"))
    if context.stop.requested:
        context.terminal.line(f"The stop came too late: {report.output} was complete.")
        return Stopped.exit_code
    failed = bool(report.held_frames) and misc.fail_on_held_frames
    if failed:
        count = len(report.held_frames)
        context.terminal.line(f"error: {count} of {report.frames} frames were passed through unchanged.")
    context.write(f"{report.output}\n")
    return HELD if failed else 0


def _request_lines(paths: PathsSettings, processors: ProcessorsSettings) -> list[str]:
    sources = ", ".join(str(path) for path in paths.source_paths) or "none"
    return aligned(
        [
            ("source", sources),
            ("target", str(paths.target_path)),
            ("output", str(paths.output_path)),
            ("processors", ", ".join(processors.processors)),
        ]
    )


def _say(context: Context, lines: tuple[str, ...] | list[str]) -> None:
    context.terminal.line("\n".join(lines))
