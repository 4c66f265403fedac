"""Processes one image or video."""

from __future__ import annotations

from facefusion.app.report_file import ReportFile
from facefusion.cli.command import Context
from facefusion.cli.exit import Verdict, verdict
from facefusion.config.request import checked_output
from facefusion.config.settings import MiscSettings, PathsSettings, ProcessorsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import FaceFusionError, Stopped
from facefusion.core.report import RunReport
from facefusion.observability.events import EventSink, Fanout
from facefusion.observability.recorder import Recorder
from facefusion.observability.summary import aligned, summary_lines

HELD = 1
"""Exit code of a whole result with frames passed through, under ``--fail-on-held-frames``."""


def execute(context: Context) -> int:
    """Check the files, process, say what was used; the output's path is the last line, on the output stream."""
    recorder = Recorder()
    report_file = _begin_report(context, recorder)
    events = Fanout((context.events, recorder))
    try:
        report = _process(context, events)
    except BaseException as error:
        if report_file is not None:
            _report_end(report_file, verdict(error, context.stop), context)
        raise
    code = _conclude(report, context)
    if report_file is not None:
        _report_result(report_file, report, code)
    if code != Stopped.exit_code:
        context.write(f"{report.output}\n")
    return code


def _process(context: Context, events: EventSink) -> RunReport:
    output = checked_output(context.state.snapshot.get(PathsSettings))
    snapshot = context.state.change({"output_path": output}, context.state.snapshot.origin("output_path"))
    if _is_talkative(snapshot):
        _say(context, _request_lines(snapshot.get(PathsSettings), snapshot.get(ProcessorsSettings)))
    return context.application.execute(snapshot, events, context.stop)


def _conclude(report: RunReport, context: Context) -> int:
    """Say what came out and return the exit code."""
    snapshot = context.state.snapshot
    misc = snapshot.get(MiscSettings)
    if _is_talkative(snapshot):
        _say(context, summary_lines(report, stages=misc.log_level == "debug"))
    if context.stop.requested:
        context.terminal.line(f"The stop came too late: {report.output} was complete.", "error", marked=False)
        return Stopped.exit_code
    if report.held_frames and misc.fail_on_held_frames:
        count = len(report.held_frames)
        context.terminal.line(f"{count} of {report.frames} frames were passed through unchanged.", "error")
        return HELD
    return 0


def _begin_report(context: Context, recorder: Recorder) -> ReportFile | None:
    path = context.state.snapshot.get(MiscSettings).report
    if path is None:
        return None
    report_file = ReportFile(path, context.state.snapshot, recorder)
    report_file.begin()
    return report_file


def _report_result(report_file: ReportFile, report: RunReport, code: int) -> None:
    try:
        report_file.done(report, code)
    except FaceFusionError as error:
        raise type(error)(f"{report.output} is complete, but not its report: {error.fault}", error.remedy) from error


def _report_end(report_file: ReportFile, end: Verdict, context: Context) -> None:
    """Report a run that came to nothing; a report that fails must not hide why."""
    try:
        report_file.ended(end.status, end.exit_code, end.error, end.message)
    except FaceFusionError as error:
        context.terminal.line(str(error), "error")


def _is_talkative(snapshot: Snapshot) -> bool:
    return snapshot.get(MiscSettings).log_level in ("info", "debug")


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
