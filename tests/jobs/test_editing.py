from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import JobError, UsageError
from facefusion.jobs.editing import added, inserted, remixed, removed
from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus
from facefusion.jobs.outputs import Outputs


def job_of(*steps, status=JobStatus.DRAFTED):
    return Job("demo", status, datetime(2026, 1, 2, tzinfo=UTC), None, steps)


def step(name, status=StepStatus.DRAFTED, **args):
    return JobStep(status, {"output_path": f"out/{name}.mp4", **args})


def names(job):
    return [Path(one.args["output_path"]).stem for one in job.steps]


def files(job):
    return [str(one.own) for one in Outputs(job).steps]


def test_a_step_that_would_overwrite_what_it_reads_is_refused():
    with pytest.raises(UsageError) as caught:
        added(job_of(step("a")), {"target_path": "out/b.mp4", "output_path": "out/../out/b.mp4"})
    assert str(caught.value) == (
        "output out/../out/b.mp4 is the target itself. It would be overwritten. Choose another --output-path."
    )
    with pytest.raises(UsageError, match=r"output s\.png is the source itself"):
        inserted(job_of(step("a")), 0, {"source_paths": ["r.png", "s.png"], "output_path": "s.png"})
    with pytest.raises(UsageError, match=r"output out/a-demo-0\.mp4 is the target itself"):
        remixed(job_of(step("a")), 0, {"output_path": "out/a-demo-0.mp4"})


def test_what_a_map_of_faces_reads_is_read_by_the_step():
    with pytest.raises(UsageError, match=r"output s\.png is the source itself"):
        inserted(job_of(step("a")), 0, {"face_map": ["r.png=q.png+s.png"], "output_path": "s.png"})
    job = job_of(step("a"), step("b", face_map=["1=x.png", "./t.png=out/a-demo-0.mp4+y++.png"]))
    with pytest.raises(JobError, match="step 0 of the job demo cannot be removed: step 1 works on its result"):
        removed(job, 0)
    later = inserted(job, 0, {"output_path": "out/n.mp4"})
    assert later.steps[2].args["face_map"] == ["1=x.png", "t.png=out/a-demo-1.mp4+y++.png"]
    assert inserted(job, 1, {"output_path": "out/n.mp4"}).steps[2].args == job.steps[1].args


@pytest.mark.parametrize("items", ["a.png=b.png", ["nonsense"], [7], None, [None]])
def test_a_map_of_faces_that_is_none_is_for_the_run_to_refuse(items):
    job = job_of(step("a"), step("b", face_map=items))
    assert inserted(job, 0, {"output_path": "out/n.mp4"}).steps[2].args == job.steps[1].args


def test_an_output_is_never_where_the_result_of_a_step_is_kept():
    refusal = r"the output out/a-demo-0\.mp4 of step {} has the name of the file in which the result of step 0 is kept"
    job = job_of(step("a"), step("a"))
    with pytest.raises(UsageError, match=refusal.format(2)):
        added(job, {"output_path": "out/a-demo-0.mp4"})
    alone = added(job_of(step("a")), {"output_path": "out/a-demo-0.mp4"})
    with pytest.raises(UsageError, match=refusal.format(1)):
        added(alone, {"output_path": "out/a.mp4"})
    assert len(added(alone, {"output_path": "out/b.mp4"}).steps) == 3


def test_a_step_whose_number_changes_has_made_no_file():
    steps = [
        replace(step(name, StepStatus.FAILED), kept=f"/{name}-demo-{index}.mp4") for index, name in enumerate("ab")
    ]
    done = replace(step("c", StepStatus.COMPLETED), kept="/c-demo-2.mp4")
    job = removed(job_of(*steps, done, status=JobStatus.FAILED), 0)
    assert [one.kept for one in job.steps] == ["", "/c-demo-2.mp4"]


def test_a_step_is_added_behind_the_last():
    job = added(job_of(step("a")), {"output_path": "out/b.mp4"})
    assert names(job) == ["a", "b"]
    assert job.steps[1].status is StepStatus.DRAFTED


@pytest.mark.parametrize("status", [JobStatus.QUEUED, JobStatus.FAILED])
def test_a_step_of_a_job_that_was_submitted_is_to_be_done(status):
    job = added(job_of(step("a", StepStatus.COMPLETED), status=status), {"output_path": "out/b.mp4"})
    assert job.steps[1].status is StepStatus.QUEUED


@pytest.mark.parametrize(("index", "order"), [(0, "nab"), (1, "anb"), (-1, "anb"), (-7, "anb")])
def test_a_step_is_put_before_another(index, order):
    assert names(inserted(job_of(step("a"), step("b")), index, {"output_path": "out/n.mp4"})) == list(order)


@pytest.mark.parametrize(("index", "order"), [(0, "bc"), (1, "ac"), (2, "ab"), (-1, "ab"), (-9, "ab")])
def test_a_step_is_removed(index, order):
    assert names(removed(job_of(step("a"), step("b"), step("c")), index)) == list(order)


@pytest.mark.parametrize(
    ("index", "target"), [(0, "out/a-demo-0.mp4"), (1, "out/b-demo-1.mp4"), (-1, "out/b-demo-1.mp4")]
)
def test_a_remix_works_on_the_file_of_another_step_and_says_so_last(index, target):
    args = {"target_path": "ignored.mp4", "output_path": "out/c.mp4", "source_paths": ["s.jpg"]}
    job = remixed(job_of(step("a"), step("b")), index, args)
    assert list(job.steps[2].args.items()) == [
        ("output_path", "out/c.mp4"),
        ("source_paths", ["s.jpg"]),
        ("target_path", target),
    ]


def test_nothing_can_be_remixed_that_has_no_file():
    with pytest.raises(UsageError) as caught:
        remixed(job_of(JobStep(StepStatus.DRAFTED, {"output_path": "out"})), 0, {})
    assert str(caught.value) == (
        "step 0 of the job demo cannot be remixed: its output out names no file. Give that step an output with an "
        "extension."
    )


def test_a_chain_into_a_folder_keeps_the_name_that_it_began_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    first = JobStep(StepStatus.DRAFTED, {"target_path": "in/t.MP4", "output_path": "out"})
    job = remixed(remixed(job_of(first), 0, {"output_path": "out"}), 1, {"output_path": "out"})
    assert [one.args["target_path"] for one in job.steps] == ["in/t.MP4", "out/t-demo-0.mp4", "out/t-demo-1.mp4"]
    job = inserted(job, 0, {"target_path": "in/t.MP4", "output_path": "out"})
    assert [one.args["target_path"] for one in job.steps[1:]] == ["in/t.MP4", "out/t-demo-1.mp4", "out/t-demo-2.mp4"]


@pytest.mark.parametrize(
    "edit", [removed, lambda job, index: inserted(job, index, {}), lambda job, index: remixed(job, index, {})]
)
def test_a_step_that_is_not_there(edit):
    with pytest.raises(JobError) as caught:
        edit(job_of(step("a"), step("b")), 2)
    assert str(caught.value) == "the job demo has no step 2: its last is step 1. Choose another step."
    with pytest.raises(JobError) as caught:
        edit(job_of(), -1)
    assert str(caught.value) == "the job demo has no steps. Add one with job-add-step."


def test_steps_that_work_on_the_result_of_another_follow_it():
    job = remixed(job_of(step("a"), step("b")), 0, {"output_path": "out/c.mp4"})
    job = added(job, {"output_path": "out/d.png", "source_paths": ["x.jpg", "./out/b-demo-1.mp4"]})
    job = inserted(job, 0, {"output_path": "out/n.mp4", "target_path": "t.mp4"})
    assert names(job) == ["n", "a", "b", "c", "d"]
    assert job.steps[3].args["target_path"] == "out/a-demo-1.mp4"
    assert job.steps[4].args["source_paths"] == ["x.jpg", "out/b-demo-2.mp4"]
    assert removed(job, 0).steps[2].args["target_path"] == "out/a-demo-0.mp4"


def test_a_step_that_another_works_on_stays():
    job = remixed(job_of(step("a")), 0, {"output_path": "out/c.mp4"})
    with pytest.raises(JobError) as caught:
        removed(job, 0)
    assert str(caught.value) == (
        "step 0 of the job demo cannot be removed: step 1 works on its result. Remove step 1 first."
    )


def test_the_only_step_of_a_job_that_was_submitted_stays():
    with pytest.raises(JobError) as caught:
        removed(job_of(step("a", StepStatus.FAILED), status=JobStatus.FAILED), 0)
    assert str(caught.value) == (
        "step 0 is the only one of the job demo, which was submitted. Remove the job with job-delete demo."
    )
    assert removed(job_of(step("a")), 0).steps == ()


def test_a_finished_step_keeps_its_file_and_no_other_takes_its_name():
    done = StepStatus.COMPLETED
    job = job_of(step("a", done), step("a", StepStatus.FAILED), step("a", done), status=JobStatus.FAILED)
    job = removed(job, 1)
    assert files(job) == ["out/a-demo-0.mp4", "out/a-demo-2.mp4"]
    job = added(job, {"output_path": "out/a.mp4"})
    assert files(job) == ["out/a-demo-0.mp4", "out/a-demo-2.mp4", "out/a-demo-3.mp4"]
    job = inserted(job, 0, {"output_path": "out/a.mp4"})
    assert files(job) == ["out/a-demo-1.mp4", "out/a-demo-0.mp4", "out/a-demo-2.mp4", "out/a-demo-3.mp4"]


edits = st.lists(
    st.tuples(st.sampled_from(["add", "insert", "remove", "remix", "finish"]), st.integers(-1, 6)), max_size=14
)


@given(edits)
def test_through_all_edits_files_are_distinct_finished_ones_stay_and_chains_hold(words):
    """Each step carries a mark; ``marks`` says whose file each remixed step works on."""
    job = job_of(step("a", StepStatus.QUEUED, mark=0), status=JobStatus.FAILED)
    marks: dict[int, object] = {}
    finished: dict[object, str] = {}
    for mark, (word, index) in enumerate(words, start=1):
        args = {"output_path": "out/a.mp4", "mark": mark}
        try:
            if word == "add":
                job = added(job, args)
            elif word == "insert":
                job = inserted(job, index, args)
            elif word == "remove":
                job = removed(job, index)
            elif word == "remix":
                remix = remixed(job, index, args)
                marks[mark] = job.steps[max(index, -1)].args["mark"]
                job = remix
            elif index < len(job.steps):
                job = job.with_step(index, status=StepStatus.COMPLETED)
                finished[job.steps[index].args["mark"]] = files(job)[index]
        except JobError:
            continue
        file_of = dict(zip((one.args["mark"] for one in job.steps), files(job), strict=True))
        assert len(set(file_of.values())) == len(job.steps)
        assert {one: file_of[one] for one in finished if one in file_of} == {
            one: file for one, file in finished.items() if one in file_of
        }
        for one in job.steps:
            if one.args["mark"] in marks:
                assert one.args["target_path"] == file_of[marks[one.args["mark"]]]
