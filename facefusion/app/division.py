"""A step whose segments several machines render: planning it, rendering one segment, joining all.

Each of the three opens the step as a plain run does, so the same settings, files and models are checked; what is kept
loaded from one step to the next makes that quick. Rendering and joining refuse on a machine, or with a program, whose
fingerprint is not the plan's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from facefusion.app.sessions import Sessions
from facefusion.app.step import Ready, Step, opened_step
from facefusion.app.step_plan import StepPlan
from facefusion.config.state import Snapshot
from facefusion.core.errors import OtherMachineError, SegmentError, UsageError
from facefusion.core.formats import is_moving_image
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.media.settings import WorkflowSettings
from facefusion.media.space import check_joined
from facefusion.observability.events import EventSink, Notice
from facefusion.pipeline.changes import changes
from facefusion.pipeline.division import DividedVideo
from facefusion.pipeline.outline import Outline, outline_video
from facefusion.pipeline.segment_files import put_segment, segment_path, take_segment


def plan_step(snapshot: Snapshot, sessions: Sessions, events: EventSink, stop: StopToken) -> StepPlan:
    """Divide a step; see :meth:`facefusion.app.engine.Engine.plan`."""
    with opened_step(snapshot, sessions, events, stop) as step:
        ready = step.prepare(sealing=False)
        info = ready.subject.info
        if ready.subject.still is not None:
            return _whole(1)
        job = step.video(ready)
        count = job.trim.count(info)
        if snapshot.get(WorkflowSettings).frame_format is not None:
            return _whole(count)  # files of frames are for one machine's user to look at
        if count is not None and count <= job.segment_frames:
            return _whole(count)
        plan = job.plan(ready.work, ready.resources, ready.models, step.events)
        outline = outline_video(info, plan, ready.work, step.events, stop)
        if len(outline.frames) == 1:
            return _whole(outline.frames[0])
        prints = job.fingerprint(ready.models, ready.resources, plan.encoding, dated=False)
        return StepPlan(outline.frames, dict(prints), outline.to_json())


def render_segment(
    snapshot: Snapshot,
    sessions: Sessions,
    plan: StepPlan,
    number: int,
    folder: Path,
    token: str,
    events: EventSink,
    stop: StopToken,
) -> Mapping[str, object]:
    """Make one segment; see :meth:`facefusion.app.engine.Engine.render`."""
    if not 0 <= number < len(plan.segments):
        raise UsageError(f"the plan has no segment {number}", f"Choose one from 0 to {len(plan.segments) - 1}.")
    path = segment_path(folder, number, token)
    with opened_step(snapshot, sessions, events, stop) as step:
        ready = step.prepare(sealing=False)
        video = _divided(step, ready, plan)
        made = video.render(number, path, ready.work, ready.resources.meter, step.events, stop)
        try:
            return put_segment(folder, number, token, plan.digest, made, _cost(step, ready))
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def join_step(
    snapshot: Snapshot,
    sessions: Sessions,
    plan: StepPlan,
    folder: Path,
    records: Sequence[Mapping[str, object]],
    events: EventSink,
    stop: StopToken,
) -> RunReport:
    """Make the result of all segments; see :meth:`facefusion.app.engine.Engine.join`."""
    if len(records) < len(plan.segments):
        raise SegmentError(f"segment {len(records)} is missing", "Render it.", number=len(records))
    with opened_step(snapshot, sessions, events, stop) as step:
        ready = step.prepare()
        video = _divided(step, ready, plan)
        manifests = []
        for number in range(len(plan.segments)):
            stop.check()
            manifests.append(take_segment(folder, number, plan.digest, records[number]))
        if not is_moving_image(video.plan.output):  # in those the picture is coded anew
            output = video.plan.output
            check_joined(output, _file_bytes(records), ready.finishing.copies(output))
        for notice in video.plan.encoding.notices:
            step.events.emit(Notice(notice))
        processed = video.join(manifests, ready.work, step.events, stop)
        return _summed(step.report(ready, processed), records)


def _file_bytes(records: Sequence[Mapping[str, object]]) -> int:
    """What the files of all segments take."""
    files = [cast("Mapping[str, Any] | None", record["file"]) for record in records]
    return sum(file["size"] for file in files if file is not None)


def _whole(frames: int | None) -> StepPlan:
    """The plan of a step that is not divided."""
    return StepPlan((frames or 0,), {})


def _divided(step: Step, ready: Ready, plan: StepPlan) -> DividedVideo:
    """The video as it was planned.

    Raises:
        UsageError: the step was not divided.
        OtherMachineError: the plan is of another program, kind of machine, or step.
    """
    if plan.outline is None or ready.subject.still is not None:
        raise UsageError("a step that was not divided has no segments to render apart", "Execute it in one go.")
    job = step.video(ready)
    video = job.plan(ready.work, ready.resources, ready.models, step.events)
    prints = job.fingerprint(ready.models, ready.resources, video.encoding, dated=False)
    if prints != plan.fingerprint:
        raise OtherMachineError(
            f"what is made here would not fit the other segments of {job.info.path}: this differs from the plan: "
            f"{changes(plan.fingerprint, prints)}",
            "Leave it to a machine of the same kind and version, or plan it again.",
        )
    return DividedVideo(job.info, video, Outline.from_json(plan.outline))


def _cost(step: Step, ready: Ready) -> Mapping[str, object]:
    """What a segment took, for the report of the whole."""
    return {
        "seconds": time.perf_counter() - ready.begun,
        "peak_memory": ready.resources.meter.peak,
        "peak_video_memory": ready.resources.video_meter.peak,
        "stages": step.clock.seconds(),
        "processor_seconds": step.clock.processor_seconds(),
        "models": dict(ready.models.providers(ready.resources.pool)),
        "notices": list(step.notices),
    }


def _summed(report: RunReport, records: Sequence[Mapping[str, object]]) -> RunReport:
    """The report of the whole: times are summed over all machines, of memory the most that one of them took."""
    costs = [cast("Mapping[str, Any]", record["cost"]) for record in records]
    cards = [cost["peak_video_memory"] for cost in costs] + [report.peak_video_memory]
    models = dict(report.models)
    for cost in costs:
        models |= cost["models"]
    told = [notice for cost in costs for notice in cost["notices"]]
    return replace(
        report,
        seconds=report.seconds + sum(cost["seconds"] for cost in costs),
        peak_memory=max(report.peak_memory, *(cost["peak_memory"] for cost in costs)),
        peak_video_memory=max((card for card in cards if card is not None), default=None),
        models=models,
        stages=_added([report.stages, *(cost["stages"] for cost in costs)]),
        processor_seconds=_added([report.processor_seconds, *(cost["processor_seconds"] for cost in costs)]),
        notices=tuple(dict.fromkeys((*told, *report.notices))),
    )


def _added(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for name, seconds in part.items():
            total[name] = total.get(name, 0.0) + seconds
    return total
