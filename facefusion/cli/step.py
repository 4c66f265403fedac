"""One step, from its settings to the last line about it: what a run, and a step of a job, have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from facefusion.app.report_file import ReportFile
from facefusion.cli.command import Context
from facefusion.cli.consent import tell_of_consent
from facefusion.cli.exit import Verdict, say_too_late, verdict
from facefusion.cli.logging_setup import check_apart_from_log
from facefusion.config.request import checked_output
from facefusion.config.settings import MiscSettings, PathsSettings, ProcessorsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import FaceFusionError, Stopped
from facefusion.core.home import home_folder
from facefusion.core.report import RunReport
from facefusion.faces.face_map import FaceMap
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.observability.events import EventSink, Fanout
from facefusion.observability.recorder import Recorder
from facefusion.observability.summary import aligned, summary_fields, summary_lines

HELD = 1
"""Exit code of a whole result with frames passed through, under ``--fail-on-held-frames``."""

Work = Callable[[Snapshot, EventSink], RunReport]
"""Makes the result that the settings ask for, and tells what happens meanwhile. It raises what a step may raise."""


@dataclass(frozen=True, slots=True)
class Done:
    """A step whose result is in its place."""

    report: RunReport
    exit_code: int
    """0, or what it would end with, were it a run of its own: of a stop that came too late, of held frames."""
    fault: str = ""
    """Why it counts as failed for all that."""


def process(context: Context, snapshot: Snapshot, work: Work) -> Done:
    """Check the files, do the work, say what was used; keep a report where the user wants one.

    Raises:
        FaceFusionError: it failed.
        Stopped: a stop was requested.
    """
    recorder = Recorder()
    report_file = _begin_report(snapshot, recorder)
    events = Fanout((context.events, recorder))
    try:
        report = _work(context, snapshot, work, events)
    except BaseException as error:
        if report_file is not None:
            _report_end(report_file, verdict(error, context.stop), context)
        raise
    done = _conclude(report, snapshot, context)
    if report_file is not None:
        _report_result(report_file, report, done.exit_code)
    return done


def finish(context: Context, done: Done) -> int:
    """End a command that was one step: the output's path is its last line. A stop that came too late is no success."""
    output = done.report.output
    if done.exit_code == Stopped.exit_code:
        return say_too_late(context.terminal, f"{output} was complete")
    context.write(f"{output}\n")
    return done.exit_code


def held_fault(report: RunReport, snapshot: Snapshot) -> str:
    """Why a whole result counts as failed; empty where it does not."""
    if not report.held_frames or not snapshot.get(MiscSettings).fail_on_held_frames:
        return ""
    return f"{len(report.held_frames)} of {report.frames} frames were passed through unchanged."


def _work(context: Context, snapshot: Snapshot, work: Work, events: EventSink) -> RunReport:
    mapping = snapshot.get(FaceSelectorSettings).mapping
    output = checked_output(snapshot.get(PathsSettings), mapping.files)
    check_apart_from_log((output,), context.state.snapshot)
    snapshot = snapshot.with_values({"output_path": output}, snapshot.origin("output_path"))
    request = _request(snapshot.get(PathsSettings), mapping, snapshot.get(ProcessorsSettings))
    tell_of_consent(context.terminal, home_folder())
    fields = {"event": "requested", **dict(request)}
    context.terminal.line(aligned(request), fields=fields)
    return dataclasses.replace(work(snapshot, events), output=str(output))


def _conclude(report: RunReport, snapshot: Snapshot, context: Context) -> Done:
    """Say what came out."""
    stages = context.terminal.lets_through("debug")
    fields = {"event": "done", **summary_fields(report)}
    context.terminal.line(summary_lines(report, stages=stages), fields=fields)
    fault = held_fault(report, snapshot)
    if context.stop.requested:
        return Done(report, Stopped.exit_code, fault)
    if fault:
        context.terminal.line(fault, "error")
        return Done(report, HELD, fault)
    return Done(report, 0)


def _begin_report(snapshot: Snapshot, recorder: Recorder) -> ReportFile | None:
    path = snapshot.get(MiscSettings).report
    if path is None:
        return None
    report_file = ReportFile(path, snapshot, recorder)
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


def _request(paths: PathsSettings, mapping: FaceMap, processors: ProcessorsSettings) -> list[tuple[str, str]]:
    """What is asked for, by its name for people."""
    sources = ", ".join(str(path) for path in paths.source_paths) or "none"
    cast = [("face map", ", ".join(str(item) for item in mapping.items))] if mapping else []
    return [
        *([("source", sources)] if paths.source_paths or not mapping else []),
        *cast,
        ("target", str(paths.target_path)),
        ("output", str(paths.output_path)),
        ("processors", ", ".join(processors.processors)),
    ]
