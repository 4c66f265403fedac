from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus
from facefusion.jobs.outputs import Output, Outputs

DONE, WAITING = StepStatus.COMPLETED, StepStatus.QUEUED


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("out", "more"):
        Path(name).mkdir()
    return tmp_path


def job(*steps, job_id="demo"):
    """Steps are target, output, and where it matters status and whether the output was made."""
    made = tuple(
        JobStep(status, {"target_path": target, "output_path": output}, delivered=delivered)
        for target, output, status, delivered in (
            (*step, WAITING, False)[:4] if len(step) < 3 else step for step in steps
        )
    )
    return Job(job_id, JobStatus.QUEUED, datetime(2026, 1, 1, tzinfo=UTC), None, made)


def test_a_lone_step_writes_its_output_at_once():
    outputs = Outputs(job(("a.mp4", "out/a.mp4"), ("b.mp4", "out/b.mp4")))
    assert outputs.outputs == (Output(Path("out/a.mp4"), (0,), (0,)), Output(Path("out/b.mp4"), (1,), (1,)))
    assert [outputs.is_alone(index) for index in (0, 1)] == [True, True]


def test_steps_of_one_output_are_parts_of_it_however_its_path_is_written(folder):
    outputs = Outputs(job(("a.mp4", "out/r.MP4"), ("b.mp4", "out/../out/r.MP4"), ("c.mp4", f"{folder}/out/r.MP4")))
    assert outputs.outputs == (Output(Path("out/r.MP4"), (0, 1, 2), (0, 1, 2)),)
    assert [files.own for files in outputs.steps] == [
        Path("out/r-demo-0.mp4"),
        Path("out/../out/r-demo-1.mp4"),
        folder / "out/r-demo-2.mp4",
    ]
    assert not outputs.is_alone(0)


def test_names_that_no_file_can_have_are_names_like_any_other():
    names = ("a\0.mp4", "\ud800.mp4", "x" * 5000 + ".mp4", "out/" * 2000 + "a.mp4")
    outputs = Outputs(job(*((name, f"out/{name}") for name in names), *((f"out/{name}", name) for name in names)))
    assert [outputs.is_alone(index) for index in range(8)] == [True] * 8
    assert [outputs.awaited(index) for index in range(8)] == [(), (), (), (), (0,), (1,), (2,), (3,)]


def test_a_step_that_would_overwrite_what_it_reads_makes_nothing_that_others_wait_for():
    outputs = Outputs(job(("a.jpg", "./a.jpg"), ("a.jpg", "out/b.jpg"), ("out/b.jpg", "out/c.jpg")))
    assert [outputs.overwritten(index) for index in range(3)] == ["target", "", ""]
    assert outputs.waiting() == {2: (1,)}


def test_an_output_where_the_result_of_another_step_is_kept():
    own = "out/a-demo-0.mp4"
    outputs = Outputs(job(("t.mp4", "out/a.mp4"), ("t.mp4", "out/a.mp4"), ("t.mp4", own)))
    assert [outputs.keeper(index) for index in range(3)] == [None, None, 0]
    assert Outputs(job(("t.mp4", "out/a.mp4"), ("t.mp4", own))).keeper(1) is None


def test_of_images_the_last_one_is_taken():
    (output,) = Outputs(job(("a.jpg", "r.jpg"), ("b.jpg", "r.jpg"))).outputs
    assert (output.steps, output.parts) == ((0, 1), (1,))


def test_images_that_may_move_are_all_kept_until_that_is_known():
    (output,) = Outputs(job(("a.gif", "r.gif"), ("b.gif", "r.gif"))).outputs
    assert (output.steps, output.parts) == ((0, 1), (0, 1))


def test_what_a_step_of_the_same_output_goes_on_from_is_no_part():
    steps = (("a.mp4", "r.mp4"), ("r-demo-0.mp4", "r.mp4"), ("b.mp4", "r.mp4"), ("./r-demo-2.mp4", "r.mp4"))
    outputs = Outputs(job(*steps))
    assert outputs.outputs == (Output(Path("r.mp4"), (0, 1, 2, 3), (1, 3)),)
    assert [files.source for files in outputs.steps] == [None, 0, None, 2]


def test_what_a_step_of_another_output_goes_on_from_is_a_part():
    outputs = Outputs(job(("a.mp4", "r.mp4"), ("r-demo-0.mp4", "more/s.mp4")))
    assert [(str(output.path), output.parts) for output in outputs.outputs] == [("r.mp4", (0,)), ("more/s.mp4", (1,))]
    assert (outputs.is_alone(0), outputs.is_alone(1)) == (False, True)
    assert outputs.followers(0) == (1,)


def test_a_folder_takes_the_targets_name_and_a_chain_keeps_it():
    outputs = Outputs(job(("clips/a.mp4", "out"), ("out/a-demo-0.mp4", "out"), ("out/a-demo-1.mp4", "more")))
    assert [str(files.output) for files in outputs.steps] == ["out/a.mp4", "out/a.mp4", "more/a.mp4"]
    assert [files.source for files in outputs.steps] == [None, 0, 1]
    assert [str(output.path) for output in outputs.outputs] == ["out/a.mp4", "more/a.mp4"]


def test_a_number_stands_in_the_name_of_a_steps_file():
    base = job(("a.mp4", "r.mp4"), ("b.mp4", "r.mp4"))
    assert Outputs(base.with_step(1, number=7)).steps[1].own == Path("r-demo-7.mp4")


def test_a_chain_of_facefusion_under_the_id_that_was_typed():
    hashed = hashlib.sha1(b"my job!").hexdigest()
    outputs = Outputs(job(("a.mp4", "out/r.mp4"), ("out/r-my job!-0.mp4", "out/r.mp4"), job_id=hashed))
    assert outputs.steps[1].source == 0
    other = Outputs(job(("a.mp4", "out/r.mp4"), ("out/r-my job-0.mp4", "out/r.mp4"), job_id=hashed))
    assert other.steps[1].source is None


def test_a_step_waits_for_the_one_whose_result_it_works_on():
    steps = (("a.mp4", "r.mp4"), ("r-demo-0.mp4", "s.mp4"))
    assert Outputs(job(*steps)).awaited(1) == (0,)
    assert Outputs(job((*steps[0], StepStatus.FAILED, False), (*steps[1], WAITING, False))).awaited(1) == (0,)
    assert Outputs(job((*steps[0], DONE, False), (*steps[1], WAITING, False))).awaited(1) == ()


def test_a_step_waits_for_the_output_of_earlier_ones_that_it_works_on():
    steps = (("a.mp4", "r.mp4"), ("r.mp4", "s.mp4"), ("b.mp4", "r.mp4"))
    assert Outputs(job(*steps)).awaited(1) == (0, 2)
    done = [(*steps[0], DONE, False), (*steps[1], WAITING, False), (*steps[2], DONE, False)]
    assert Outputs(job(*done)).awaited(1) == (0, 2)
    delivered = [(*steps[0], DONE, True), (*steps[1], WAITING, False), (*steps[2], DONE, True)]
    assert Outputs(job(*delivered)).awaited(1) == ()


def test_an_output_of_a_later_step_is_taken_as_it_was():
    outputs = Outputs(job(("r.mp4", "s.mp4"), ("a.mp4", "r.mp4")))
    assert outputs.awaited(0) == ()


def test_an_output_is_due_when_all_its_steps_are_complete():
    steps = (("a.mp4", "r.mp4"), ("b.mp4", "r.mp4"))
    one = Outputs(job((*steps[0], DONE, False), (*steps[1], WAITING, False)))
    assert not one.is_due(one.outputs[0])
    both = Outputs(job((*steps[0], DONE, False), (*steps[1], DONE, False)))
    assert both.is_due(both.outputs[0])
    made = Outputs(job((*steps[0], DONE, True), (*steps[1], DONE, True)))
    assert not made.is_due(made.outputs[0])
    assert made.is_made(made.outputs[0])
    # Another step was added since.
    again = Outputs(job((*steps[0], DONE, True), (*steps[1], DONE, False)))
    assert again.is_due(again.outputs[0])


def test_a_result_is_needed_until_its_output_is_made_and_its_followers_are_done():
    chain = (("a.mp4", "r.mp4"), ("r-demo-0.mp4", "s.mp4"))
    assert Outputs(job((*chain[0], DONE, False), (*chain[1], DONE, True))).is_needed(0)
    assert Outputs(job((*chain[0], DONE, True), (*chain[1], WAITING, False))).is_needed(0)
    assert not Outputs(job((*chain[0], DONE, True), (*chain[1], DONE, True))).is_needed(0)
    same = (("a.mp4", "r.mp4"), ("r-demo-0.mp4", "r.mp4"))
    assert not Outputs(job((*same[0], DONE, False), (*same[1], DONE, False))).is_needed(0)
    assert Outputs(job((*same[0], DONE, False), (*same[1], DONE, False))).is_needed(1)


def test_values_that_are_no_paths_count_as_none():
    odd = Outputs(job((3, ["r.mp4"]), (None, None), ("a.mp4", ""), ("a.mp4", "name")))
    assert [(files.target, files.output, files.own) for files in odd.steps] == [
        (None, None, None),
        (None, None, None),
        (Path("a.mp4"), None, None),
        (Path("a.mp4"), Path("name"), None),
    ]
    assert odd.output_of(0) is None
    assert not odd.is_alone(1)


def test_a_step_waits_for_what_its_sources_are_made_of():
    made = job(("a.png", "face.png"), ("b.mp4", "r.mp4"), ("c.mp4", "s.mp4"))
    for index, source in ((1, "face-demo-0.png"), (2, "face.png")):
        made = made.with_step(index, args={**made.steps[index].args, "source_paths": ["me.jpg", source, 3]})
    outputs = Outputs(made)
    assert [outputs.awaited(index) for index in range(3)] == [(), (0,), (0,)]
    assert outputs.followers(0) == (1,)
    done = Outputs(made.with_step(0, status=DONE))
    assert [done.awaited(1), done.awaited(2)] == [(), (0,)]
    assert done.is_needed(0)
    assert Outputs(made.with_step(0, status=DONE, delivered=True)).awaited(2) == ()
