from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def job_of(*outputs):
    steps = tuple(JobStep(StepStatus.DRAFTED, {"output_path": output}) for output in outputs)
    return Job("demo", JobStatus.DRAFTED, MOMENT, None, steps)


@pytest.mark.parametrize(
    ("output", "file"),
    [
        ("out/a.MP4", "out/a-demo-0.mp4"),
        ("a.png", "a-demo-0.png"),
        ("/x y/a.b.tar.PNG", "/x y/a.b.tar-demo-0.png"),
    ],
)
def test_a_step_keeps_its_result_beside_its_output(output, file):
    assert job_of(output).step_file(Path(output), 0) == Path(file)


def test_the_name_holds_the_index_unless_the_step_has_a_number_of_its_own():
    job = job_of("a.mp4", "a.mp4").with_step(0, number=7)
    assert [job.step_file(Path("a.mp4"), index) for index in (0, 1)] == [Path("a-demo-7.mp4"), Path("a-demo-1.mp4")]
    assert [job.number(index) for index in (0, 1)] == [7, 1]


def test_changing_a_step_leaves_the_others_and_the_job_as_they_were():
    job = job_of("a.mp4", "b.mp4")
    changed = job.with_step(1, status=StepStatus.FAILED, fault="no face")
    assert [(step.status, step.fault) for step in changed.steps] == [
        (StepStatus.DRAFTED, ""),
        (StepStatus.FAILED, "no face"),
    ]
    assert changed.steps[0] is job.steps[0]
    assert job.steps[1].status is StepStatus.DRAFTED


def test_the_queue_is_ordered_by_submission_then_change_then_making():
    later, latest = MOMENT.replace(day=3), MOMENT.replace(day=4)
    assert Job("a", JobStatus.QUEUED, MOMENT, None, ()).queued_since == MOMENT
    assert Job("a", JobStatus.QUEUED, MOMENT, latest, ()).queued_since == latest
    assert Job("a", JobStatus.QUEUED, MOMENT, latest, (), later).queued_since == later
