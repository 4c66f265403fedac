from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus
from facefusion.jobs.table import ago, table

NOW = datetime(2026, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=400), "400 days ago"),
    ],
)
def test_times_are_told_from_now_in_the_largest_unit(passed, words):
    assert ago(NOW - passed, NOW) == words


def test_a_job_that_never_changed():
    assert ago(None, NOW) == "never"


def test_a_step_of_which_nobody_said_why_it_failed_has_no_line():
    steps = (JobStep(StepStatus.FAILED, {}, foreign=True), JobStep(StepStatus.FAILED, {}, fault="no face"))
    assert table([Job("old", JobStatus.FAILED, NOW, None, steps)], NOW).splitlines()[2:] == ["  step 1: no face"]


def test_a_job_is_listed_under_what_was_typed():
    job = Job("3ec69c85a4ff96830024afeef2d4e512181c8f7b", JobStatus.DRAFTED, NOW, None, (), typed="a/b")
    assert table([job], NOW).splitlines()[1].split() == ["a/b", "0", "just", "now", "never", "drafted"]


def test_one_row_per_job_and_why_it_failed_below():
    steps = tuple(
        JobStep(StepStatus.FAILED, {}, fault=f"no face\nin {name}") for name in ("a", "b", "c", "d", "e", "f", "g")
    )
    jobs = [
        Job("a longer name", JobStatus.FAILED, NOW - timedelta(days=2), NOW - timedelta(hours=3), steps[:2]),
        Job("b", JobStatus.FAILED, NOW, None, (JobStep(StepStatus.COMPLETED, {}), *steps)),
        Job("c", JobStatus.FAILED, NOW, None, (JobStep(StepStatus.COMPLETED, {}, fault="its output was not made"),)),
    ]
    assert table(jobs, NOW) == (
        "job            steps  created     updated      status\n"
        "a longer name  2      2 days ago  3 hours ago  failed\n"
        "  step 0: no face in a\n"
        "  step 1: no face in b\n"
        "b              8      just now    never        failed\n"
        "  step 1: no face in a\n"
        "  step 2: no face in b\n"
        "  step 3: no face in c\n"
        "  step 4: no face in d\n"
        "  step 5: no face in e\n"
        "  and 2 more steps\n"
        "c              1      just now    never        failed\n"
        "  step 0: its output was not made\n"
    )


def test_a_step_that_was_not_done_is_listed_with_what_it_waits_for():
    first = JobStep(StepStatus.FAILED, {"target_path": "a.mp4", "output_path": "b.mp4"}, fault="no face in a.mp4")
    second = JobStep(StepStatus.QUEUED, {"target_path": "b.mp4", "output_path": "c.mp4"})
    jobs = [Job("a", status, NOW, None, (first, second)) for status in (JobStatus.FAILED, JobStatus.QUEUED)]
    assert table(jobs, NOW).splitlines()[1:] == [
        "a    2      just now  never    failed",
        "  step 0: no face in a.mp4",
        "  step 1: it waits for step 0",
        "a    2      just now  never    queued",
        "  step 0: no face in a.mp4",
    ]


def test_names_and_faults_break_no_row():
    steps = (JobStep(StepStatus.FAILED, {}, fault="a\x1b[2J\nb"),)
    rows = table([Job("hash", JobStatus.FAILED, NOW, None, steps, typed="a\n\x1b[31m")], NOW).splitlines()
    assert rows[1].startswith(r"a\n\x1b[31m  1      just now  never    failed")
    assert rows[2:] == [r"  step 0: a\x1b[2J b"]
