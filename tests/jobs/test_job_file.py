from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import JobError
from facefusion.jobs.job_file import StepTexts, decode, encode
from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus

PATH = Path("jobs/queued/demo.json")

moments = st.datetimes(
    min_value=datetime(1980, 1, 1),
    max_value=datetime(2200, 1, 1),
    timezones=st.just(timezone(timedelta(hours=-5))),
)
values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.text())
steps = st.builds(
    JobStep,
    status=st.sampled_from(StepStatus),
    args=st.dictionaries(st.text(), values, max_size=4),
    fault=st.text(max_size=20),
    number=st.none() | st.integers(0, 99),
    delivered=st.booleans(),
    foreign=st.booleans(),
)
jobs = st.builds(
    Job,
    id=st.just("demo"),
    status=st.just(JobStatus.QUEUED),
    created=moments,
    updated=st.none() | moments,
    steps=st.lists(steps, max_size=3).map(tuple),
    submitted=st.none() | moments,
)


@given(jobs)
def test_a_job_comes_back_as_it_was_written(job):
    assert decode(encode(job), PATH, JobStatus.QUEUED) == job


def test_the_file_is_facefusions_with_additions():
    step = JobStep(
        StepStatus.FAILED, {"target_path": "ü.mp4", "angles": [0, 90], "frame": None}, fault="no face", number=3
    )
    moment = datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=UTC)
    data = encode(Job("demo", JobStatus.FAILED, moment, None, (step,), moment))
    assert data.decode("ascii") == (
        "{\n"
        '    "version": "1",\n'
        '    "format": 1,\n'
        '    "date_created": "2026-01-02T03:04:05.000600+00:00",\n'
        '    "date_updated": null,\n'
        '    "date_submitted": "2026-01-02T03:04:05.000600+00:00",\n'
        '    "steps": [\n'
        "        {\n"
        '            "status": "failed",\n'
        '            "format": 1,\n'
        '            "error": "no face",\n'
        '            "number": 3,\n'
        '            "args": {\n'
        '                "target_path": "\\u00fc.mp4",\n'
        '                "angles": [0,\n'
        "                90],\n"
        '                "frame": null\n'
        "            }\n"
        "        }\n"
        "    ]\n"
        "}\n"
    )


def test_a_path_that_is_no_text_comes_back():
    step = JobStep(StepStatus.QUEUED, {"target_path": "caf\udce9.mp4"})
    job = Job("demo", JobStatus.QUEUED, datetime(2026, 1, 2, tzinfo=UTC), None, (step,))
    assert decode(encode(job), PATH, JobStatus.QUEUED).steps[0].args["target_path"] == "caf\udce9.mp4"


def test_a_file_of_facefusion_is_read_and_its_steps_stay_known_as_its():
    table = {
        "version": "1",
        "date_created": "2025-06-01T10:00:00.123456+02:00",
        "date_updated": None,
        "steps": [{"status": "queued", "args": {"target_path": "b.mp4", "face_detector_model": "yolo_face"}}],
    }
    job = decode(json.dumps(table, indent=4).encode(), PATH, JobStatus.QUEUED)
    assert (job.id, job.status, job.updated, job.submitted) == ("demo", JobStatus.QUEUED, None, None)
    assert job.created == datetime(2025, 6, 1, 8, 0, 0, 123456, tzinfo=UTC)
    (step,) = job.steps
    assert step == JobStep(
        StepStatus.QUEUED, {"target_path": "b.mp4", "face_detector_model": "yolo_face"}, foreign=True
    )
    assert decode(encode(job), PATH, JobStatus.QUEUED) == job


def test_what_facefusion_adds_to_a_file_of_ours_is_its():
    ours = Job(
        "demo", JobStatus.QUEUED, datetime(2026, 1, 2, tzinfo=UTC), None, (JobStep(StepStatus.QUEUED, {"a": 1}),)
    )
    table = json.loads(encode(ours))
    table["steps"].append({"args": {"a": 2}, "status": "queued"})
    assert [step.foreign for step in decode(json.dumps(table).encode(), PATH, JobStatus.QUEUED).steps] == [False, True]


def changed(**changes):
    table: dict[str, object] = {
        "version": "1",
        "date_created": "2026-01-02T00:00:00+00:00",
        "date_updated": None,
        "steps": [],
    }
    return json.dumps(table | changes).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is no JSON (Expecting value: line 1 column 1 (char 0))"),
        (b'{"version": ', "it is no JSON (Expecting value: line 1 column 13 (char 12))"),
        (b"[]", "it holds no object"),
        (b"{}", "'version' is missing"),
        (changed(version=1), "'version' is 1, not the text \"1\""),
        (changed(version=" "), "'version' is ' ', not the text \"1\""),
        (changed(date_created=None), "'date_created' is missing"),
        (changed(date_updated="noon"), "'date_updated' is 'noon', not a date as 2026-01-31T12:00:00+00:00"),
        (changed(steps=None), "'steps' is no list"),
        (changed(steps=["a"]), "step 0 is no object"),
        (
            changed(steps=[{"status": "done", "args": {}}]),
            "'status' of step 0 is 'done', not one of drafted, queued, started, completed, failed",
        ),
        (changed(steps=[{"status": "queued", "args": []}]), "'args' of step 0 is no object"),
        (
            changed(steps=[{"status": "queued", "args": {}, "number": -1}]),
            "'number' of step 0 is -1, not a whole number from 0 on",
        ),
        (changed(format="1"), "'format' is '1', not a whole number from 1 on"),
    ],
)
def test_what_is_no_job_is_named(data, reason):
    with pytest.raises(JobError) as caught:
        decode(data, PATH, JobStatus.QUEUED)
    assert str(caught.value) == (
        f"the job file jobs/queued/demo.json cannot be read: {reason}. Repair it, or remove it; it was left as it is."
    )


@pytest.mark.parametrize(
    ("file", "is_taken"),
    [
        ("/out/r-demo-0.mp4", True),
        ("/home/me/thesis.odt", False),
        ("/out/r-other-0.mp4", False),
        ("r-demo-0.mp4", False),
        ("/out/r-demo-0.mp4/../..", False),
        ("/out/\0-demo-0.mp4", True),
        (7, False),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths as POSIX has them")
def test_only_a_file_named_as_those_of_the_jobs_steps_is_taken_for_one_of_its_making(file, is_taken):
    data = changed(steps=[{"status": "queued", "args": {}, "file": file}])
    assert decode(data, PATH, JobStatus.QUEUED).steps[0].kept == (file if is_taken else "")


def test_an_id_that_is_no_text_is_passed_over():
    assert decode(changed(id="\ud800"), PATH, JobStatus.QUEUED).typed is None


def test_what_is_nested_too_deeply_is_named_like_any_other():
    with pytest.raises(JobError, match=r"demo\.json cannot be read: it is no JSON \(maximum recursion depth"):
        decode(b"[" * 200_000, PATH, JobStatus.QUEUED)


@pytest.mark.parametrize("later", [{"format": 2}, {"version": "2"}])
def test_a_file_of_a_later_version_is_refused(later):
    with pytest.raises(JobError) as caught:
        decode(changed(**later), PATH, JobStatus.QUEUED)
    assert str(caught.value) == (
        "the job file jobs/queued/demo.json is of a later version than this program. Update the program; the file was "
        "left as it is."
    )


def test_what_is_remembered_of_steps_changes_nothing():
    texts = StepTexts()
    steps = tuple(JobStep(StepStatus.QUEUED, {"target_path": f"{number}.mp4"}) for number in range(3))
    job = Job("demo", JobStatus.QUEUED, datetime(2026, 1, 1, tzinfo=UTC), None, steps)
    same = replace(job, steps=(steps[0], steps[0]))
    for one in (job, job.with_step(1, status=StepStatus.STARTED), job.with_step(1, fault="why"), same, job):
        assert encode(one, texts) == encode(one)
