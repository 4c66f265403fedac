from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import filelock
import pytest

from facefusion.core.errors import ContentRefusedError, JobBusyError, JobError, Stopped, UsageError
from facefusion.core.stop import StopToken
from facefusion.jobs.model import JobStatus, StepStatus
from facefusion.jobs.runner import JobRunner, Tally
from facefusion.jobs.store import JobStore
from facefusion.jobs.work import StepResult
from tests.jobs.fake_work import FakeListener, FakeWork, join, refuse_to_join, write

BAD = StepResult("the target breaks off.", is_whole=False)
DEMO = ("a.mp4", "r.mp4")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        Path(f"{name}.mp4").write_text(name)
        Path(f"{name}.png").write_text(name)
    return tmp_path


class Bench:
    """A jobs folder and a runner of it."""

    def __init__(self):
        self.store = JobStore(Path("jobs"))
        self.work = FakeWork()
        self.listener = FakeListener()
        self.stop = StopToken()
        self.joins = join
        self.halt = False

    @property
    def runner(self):
        return JobRunner(self.store, self.work, self.joins, self.listener, self.stop, halt_on_error=self.halt)

    def queue(self, job_id, *steps):
        self.draft(job_id, *steps)
        self.store.submit(job_id)

    def draft(self, job_id, *steps):
        args = [{"target_path": target, "output_path": output, "mark": mark} for target, output, *mark in steps]
        for one in args:
            one["mark"] = "".join(one["mark"]) or "x"
        self.store.create(job_id, args)

    def run(self, job_id="demo"):
        return self.runner.run(job_id)

    def statuses(self, job_id="demo"):
        job = self.store.find(job_id)
        return job.status.value, [step.status.value for step in job.steps]

    def files(self):
        return {path.name: path.read_text() for path in Path.cwd().iterdir() if path.is_file() and len(path.stem) > 1}


@pytest.fixture
def bench():
    return Bench()


def step_of(**files):
    return {f"{name}.mp4": content for name, content in files.items()}


def test_a_job_is_run_and_completed(bench):
    bench.queue("demo", ("a.mp4", "out-1.mp4", "p"), ("b.png", "out-2.png", "q"))
    job = bench.run()
    assert job.status is JobStatus.COMPLETED
    assert bench.statuses() == ("completed", ["completed", "completed"])
    assert bench.files() == {"out-1.mp4": "p(a)", "out-2.png": "q(b)"}
    assert bench.listener.outputs == ["out-1.mp4", "out-2.png"]
    assert bench.listener.lines == ["demo starts", "demo is completed"]
    assert [(task.index, task.count, task.file, task.place) for task in bench.work.tasks] == [
        (0, 2, Path("out-1.mp4"), "job demo, step 0"),
        (1, 2, Path("out-2.png"), "job demo, step 1"),
    ]


def test_steps_of_one_output_are_joined_in_order_and_their_files_go(bench):
    Path("result.mp4").write_text("old")
    bench.queue("demo", ("a.mp4", "result.mp4", "1"), ("b.mp4", "./result.mp4", "2"))

    def second(task):
        assert Path("result.mp4").read_text() == "old"
        assert Path("result-demo-0.mp4").read_text() == "1(a)"
        return write(task)

    bench.work.instead = {1: second}
    bench.run()
    assert bench.files() == {"result.mp4": "1(a) + 2(b)"}
    assert bench.listener.outputs == ["result.mp4"]
    assert "2 videos are joined." in bench.listener.lines


def test_of_images_the_last_one_wins(bench):
    bench.queue("demo", ("a.png", "result.png", "1"), ("b.png", "result.png", "2"))
    bench.run()
    assert bench.files() == {"result.png": "2(b)"}


def test_a_chain_ends_in_its_last_step(bench):
    bench.queue("demo", ("a.mp4", "result.mp4", "1"), ("result-demo-0.mp4", "result.mp4", "2"))
    bench.store.find("demo")
    bench.run()
    assert bench.files() == {"result.mp4": "2(1(a))"}


def test_a_chain_of_different_outputs_gives_both(bench):
    bench.queue("demo", ("a.mp4", "first.mp4", "1"), ("first-demo-0.mp4", "second.mp4", "2"))
    bench.run()
    assert bench.files() == {"first.mp4": "1(a)", "second.mp4": "2(1(a))"}
    assert bench.listener.outputs == ["first.mp4", "second.mp4"]


def test_cut_and_join_of_chains(bench):
    bench.queue(
        "demo",
        ("a.mp4", "result.mp4", "1"),
        ("b.mp4", "result.mp4", "2"),
        ("result-demo-0.mp4", "result.mp4", "3"),
    )
    bench.run()
    assert bench.files() == {"result.mp4": "2(b) + 3(1(a))"}


def test_a_step_that_fails_leaves_the_others_and_what_was_there(bench):
    Path("result.mp4").write_text("old")
    Path("other.mp4").write_text("old")
    bench.queue("demo", ("a.mp4", "result.mp4", "1"), ("b.mp4", "result.mp4", "2"), ("c.mp4", "other.mp4", "3"))
    bench.work.instead = {1: lambda task: BAD}
    job = bench.run()
    assert job.status is JobStatus.FAILED
    assert bench.statuses() == ("failed", ["completed", "failed", "completed"])
    assert bench.store.find("demo").steps[1].fault == "the target breaks off."
    assert bench.files() == {"result.mp4": "old", "result-demo-0.mp4": "1(a)", "other.mp4": "3(c)"}


def test_retry_does_only_what_is_not_complete(bench):
    test_a_step_that_fails_leaves_the_others_and_what_was_there(bench)
    bench.work = FakeWork()
    assert bench.runner.retry("demo").status is JobStatus.COMPLETED
    assert bench.work.done == [1]
    assert bench.files() == {"result.mp4": "1(a) + 2(b)", "other.mp4": "3(c)"}
    assert [step.fault for step in bench.store.find("demo").steps] == ["", "", ""]


def test_what_needs_a_failed_step_stays_queued(bench):
    bench.queue(
        "demo", ("a.mp4", "one.mp4"), ("one-demo-0.mp4", "two.mp4"), ("one.mp4", "three.mp4"), ("b.mp4", "b4.mp4")
    )
    bench.work.instead = {0: lambda task: BAD}
    Path("one.mp4").write_text("from before the job")
    bench.run()
    assert bench.statuses() == ("failed", ["failed", "queued", "queued", "completed"])
    bench.work = FakeWork()
    bench.runner.retry("demo")
    assert bench.work.done == [0, 1, 2]
    assert bench.files() == {"one.mp4": "x(a)", "two.mp4": "x(x(a))", "three.mp4": "x(x(a))", "b4.mp4": "x(b)"}


def test_an_output_is_made_while_a_follower_of_its_step_has_failed(bench):
    bench.queue("demo", ("a.mp4", "one.mp4", "1"), ("one-demo-0.mp4", "two.mp4", "2"))
    bench.work.instead = {1: lambda task: BAD}
    bench.run()
    assert bench.files() == {"one.mp4": "1(a)", "one-demo-0.mp4": "1(a)"}
    # The output may be written over in place without a trace in what the follower works on.
    with Path("one.mp4").open("r+") as file:
        file.write("***")
    bench.work = FakeWork()
    bench.runner.retry("demo")
    assert bench.work.done == [1]
    assert bench.files() == {"one.mp4": "***)", "two.mp4": "2(1(a))"}


def test_halt_on_error_ends_a_job_at_its_first_failure(bench):
    bench.halt = True
    bench.queue("demo", ("a.mp4", "one.mp4"), ("b.mp4", "two.mp4"), ("c.mp4", "three.mp4"))
    bench.work.instead = {1: lambda task: BAD}
    bench.run()
    assert bench.statuses() == ("failed", ["completed", "failed", "queued"])
    assert bench.files() == {"one.mp4": "x(a)"}


def test_a_result_that_counts_as_failed_is_kept_and_made_again(bench):
    held = StepResult("3 of 10 frames were passed through unchanged.")

    def hold(task):
        write(task)
        return held

    bench.queue("demo", ("a.mp4", "one.mp4"))
    bench.work.instead = {0: hold}
    assert bench.run().steps[0].fault == held.fault
    assert bench.files() == {"one.mp4": "x(a)"}
    assert bench.listener.outputs == ["one.mp4"]
    bench.work.instead = {}
    assert bench.runner.retry("demo").status is JobStatus.COMPLETED


def test_a_stop_puts_the_step_back_and_the_job_goes_on_where_it_was(bench):
    def stopped(task):
        bench.stop.request("Ctrl-C")
        bench.stop.check()

    bench.queue("demo", ("a.mp4", "result.mp4", "1"), ("b.mp4", "result.mp4", "2"), ("c.mp4", "other.mp4", "3"))
    bench.work.instead = {1: stopped}
    with pytest.raises(Stopped, match="Ctrl-C"):
        bench.run()
    assert bench.statuses() == ("queued", ["completed", "queued", "queued"])
    assert not bench.store.is_held("demo")
    bench.work, bench.stop = FakeWork(), StopToken()
    assert bench.run().status is JobStatus.COMPLETED
    assert bench.work.done == [1, 2]
    assert bench.files() == {"result.mp4": "1(a) + 2(b)", "other.mp4": "3(c)"}


def test_a_stop_puts_the_step_back_also_while_another_process_hangs(bench):
    bench.store = JobStore(Path("jobs"), stop=bench.stop)
    bench.queue("demo", DEMO)
    hanging = filelock.FileLock(Path("jobs", ".locks", ".folder.lock"), thread_local=False)

    def stopped(task):
        hanging.acquire()
        bench.stop.request("Ctrl-C")
        bench.stop.check()

    bench.work.instead = {0: stopped}
    with pytest.raises(Stopped):
        bench.run()
    hanging.release()
    assert bench.statuses() == ("queued", ["queued"])


def test_a_stop_that_comes_with_the_last_frame_of_a_step(bench):
    def late(task):
        bench.stop.request("Ctrl-C")
        return write(task)

    bench.queue("demo", ("a.mp4", "one.mp4"), ("b.mp4", "two.mp4"))
    bench.work.instead = {0: late}
    with pytest.raises(Stopped):
        bench.run()
    assert bench.statuses() == ("queued", ["completed", "queued"])
    assert bench.files() == {"one.mp4": "x(a)"}


def test_a_stop_after_all_steps_of_a_job_leaves_the_joining_to_the_next_run(bench):
    def late(task):
        bench.stop.request("Ctrl-C")
        return write(task)

    bench.queue("demo", ("a.mp4", "result.mp4"), ("b.mp4", "result.mp4"))
    bench.work.instead = {1: late}
    with pytest.raises(Stopped):
        bench.run()
    assert bench.statuses() == ("queued", ["completed", "completed"])
    bench.work, bench.stop = FakeWork(), StopToken()
    bench.run()
    assert bench.work.done == []
    assert bench.files() == {"result.mp4": "x(a) + x(b)"}


def test_a_late_stop_of_the_last_step_does_not_unmake_the_job(bench):
    def late(task):
        bench.stop.request("Ctrl-C")
        return write(task)

    bench.queue("demo", ("a.mp4", "one.mp4"))
    bench.work.instead = {0: late}
    assert bench.run().status is JobStatus.COMPLETED


def test_a_job_whose_process_died_is_found_and_retried(bench):
    bench.queue("demo", ("a.mp4", "result.mp4", "1"), ("b.mp4", "result.mp4", "2"))

    def die(task):
        raise SystemExit

    bench.work.instead = {1: die}
    with pytest.raises(SystemExit):
        bench.run()
    with pytest.raises(
        JobError, match=r"the job demo cannot be run: it is failed\. Run what is left of it with job-retry"
    ):
        bench.run()
    assert bench.store.find("demo").steps[1].fault == "the process that ran it ended before its time"
    bench.work = FakeWork()
    bench.runner.retry("demo")
    assert bench.work.done == [1]
    assert bench.files() == {"result.mp4": "1(a) + 2(b)"}


def test_a_result_that_is_gone_is_made_again(bench):
    bench.queue("demo", ("a.mp4", "result.mp4", "1"), ("b.mp4", "result.mp4", "2"))

    def remove_first(task):
        Path("result-demo-0.mp4").unlink()
        return write(task)

    bench.work.instead = {1: remove_first}
    assert bench.run().status is JobStatus.COMPLETED
    assert bench.work.done == [0, 1, 0]
    assert "step 0 of the job demo is done again: its result result-demo-0.mp4 is gone." in bench.listener.lines
    assert bench.files() == {"result.mp4": "1(a) + 2(b)"}


def test_a_result_that_goes_twice_fails_its_step(bench):
    bench.queue("demo", ("a.mp4", "result.mp4"), ("b.mp4", "result.mp4"))
    bench.work.instead = {0: lambda task: StepResult()}
    assert bench.run().status is JobStatus.FAILED
    assert bench.work.done == [0, 0, 1]
    assert bench.store.find("demo").steps[0].fault == "its result result-demo-0.mp4 is gone, for the second time"
    assert bench.files() == {"result-demo-1.mp4": "x(b)"}


def test_a_failed_job_of_facefusion_is_done_again_from_scratch(bench):
    """It calls steps complete whose files it removed."""
    bench.queue("demo", ("a.mp4", "one.mp4", "1"), ("b.mp4", "two.mp4", "2"))
    Path("one.mp4").write_text("old")
    file = Path("jobs/queued/demo.json")
    table = json.loads(file.read_text())
    steps = [
        {"status": status, "args": step["args"]}
        for status, step in zip(("completed", "failed"), table["steps"], strict=True)
    ]
    file.unlink()
    Path("jobs/failed/demo.json").write_text(
        json.dumps({"version": "1", "date_created": table["date_created"], "date_updated": None, "steps": steps})
    )
    bench.runner.retry("demo")
    assert bench.files() == {"one.mp4": "1(a)", "two.mp4": "2(b)"}


def test_a_step_that_facefusion_completed_is_taken_as_it_is(bench):
    bench.queue("demo", ("a.mp4", "one.mp4", "1"), ("b.mp4", "two.mp4", "2"))
    file = Path("jobs/queued/demo.json")
    table = json.loads(file.read_text())
    table["steps"][0]["status"] = "completed"
    file.write_text(json.dumps(table))
    Path("one-demo-0.mp4").write_text("made by FaceFusion")
    bench.run()
    assert bench.files() == {"one.mp4": "made by FaceFusion", "two.mp4": "2(b)"}


def test_somebody_elses_file_of_a_steps_name_stays(bench):
    Path("one-demo-0.mp4").write_text("mine")
    bench.queue("demo", ("a.mp4", "one.mp4"))
    bench.run()
    assert bench.files() == {"one-demo-0.mp4": "mine", "one.mp4": "x(a)"}


@pytest.mark.parametrize("name", ["one-demo-0.mp4", "one-demo-1.mp4"])
def test_a_step_is_not_done_over_somebody_elses_file_of_its_name(bench, name):
    Path(name).write_text("mine")
    bench.queue("demo", ("a.mp4", "one.mp4", "1"), ("b.mp4", "one.mp4", "2"), ("c.mp4", "two.mp4", "3"))
    bench.run()
    index = int(name[9])
    assert index not in bench.work.done
    assert bench.files() == {name: "mine", f"one-demo-{1 - index}.mp4": ("2(b)", "1(a)")[index], "two.mp4": "3(c)"}
    fault = f"its result would be kept as {name}, where a file lies that it did not make"
    assert bench.store.find("demo").steps[index].fault.startswith(f"{fault}. Move that away, ")
    assert any(line.startswith(f"failed: step {index} of the job demo: {fault}.") for line in bench.listener.lines)
    Path(name).rename("mine.mp4")
    assert bench.runner.retry("demo").status is JobStatus.COMPLETED
    assert bench.files() == {"mine.mp4": "mine", "one.mp4": "1(a) + 2(b)", "two.mp4": "3(c)"}


def test_a_step_does_not_write_its_output_over_the_result_of_another(bench):
    bench.queue("demo", ("a.mp4", "one.mp4", "1"), ("b.mp4", "one.mp4", "2"), ("c.mp4", "one-demo-0.mp4", "3"))
    bench.run()
    assert bench.statuses() == ("failed", ["completed", "completed", "failed"])
    assert bench.files() == {"one.mp4": "1(a) + 2(b)"}
    assert bench.listener.outputs == ["one.mp4"]
    assert bench.store.find("demo").steps[2].fault == (
        "its output one-demo-0.mp4 is where the result of another step is kept. Choose another --output-path."
    )


def test_what_a_step_kept_is_safe_until_its_output_is_made(bench):
    bench.queue("demo", ("a.mp4", "one.mp4", "1"), ("b.mp4", "one.mp4", "2"))
    bench.work.instead = {1: lambda task: BAD}
    bench.run()
    bench.store.remove_step("demo", 1)
    late = {"target_path": "c.mp4", "output_path": "one-demo-0.mp4", "mark": "3"}
    with pytest.raises(UsageError, match="has the name of the file in which the result of step 0 is kept"):
        bench.store.add_step("demo", late)
    bench.work = FakeWork()
    assert bench.runner.retry("demo").status is JobStatus.COMPLETED
    bench.queue("next", ("c.mp4", "one-demo-0.mp4", "3"))
    bench.run("next")
    bench.store.delete("demo")
    assert bench.files() == {"one.mp4": "1(a)", "one-demo-0.mp4": "3(c)"}


def test_a_file_that_is_put_where_a_step_that_failed_would_keep_its_result_stays(bench):
    bench.queue("demo", ("a.mp4", "one.mp4"), ("b.mp4", "one.mp4"))
    bench.work.instead = {0: lambda task: BAD}
    bench.run()
    Path("one-demo-0.mp4").write_text("mine")
    bench.work = FakeWork()
    bench.runner.retry("demo")
    assert bench.work.done == []
    bench.store.delete("demo")
    assert bench.files() == {"one-demo-0.mp4": "mine"}


def test_a_step_that_is_the_last_one_left_of_an_output_leaves_nothing_else(bench):
    bench.queue("demo", ("a.mp4", "one.mp4", "1"), ("b.mp4", "one.mp4", "2"))
    bench.joins = refuse_to_join
    bench.run()
    bench.store.remove_step("demo", 1)
    assert bench.files() == {"one-demo-0.mp4": "1(a)"}
    bench.work = FakeWork()
    assert bench.runner.retry("demo").status is JobStatus.COMPLETED
    assert (bench.work.done, bench.files()) == ([], {"one.mp4": "1(a)"})


def test_what_a_killed_step_had_kept_is_done_again_and_removed(bench):
    bench.queue("demo", ("a.mp4", "one.mp4", "1"), ("b.mp4", "one.mp4", "2"))

    def die(task):
        write(task)
        raise SystemExit

    bench.work.instead = {0: die}
    with pytest.raises(SystemExit):
        bench.run()
    assert bench.files() == {"one-demo-0.mp4": "1(a)"}
    bench.work = FakeWork()
    assert bench.store.find("demo").status is JobStatus.FAILED
    assert bench.runner.retry("demo").status is JobStatus.COMPLETED
    assert (bench.work.done, bench.files()) == ([0, 1], {"one.mp4": "1(a) + 2(b)"})


def test_a_job_that_is_deleted_takes_along_what_its_steps_kept(bench):
    bench.queue("demo", ("a.mp4", "one.mp4"), ("b.mp4", "one.mp4"), ("c.mp4", "two.mp4"))
    bench.joins = refuse_to_join
    bench.run()
    bench.store.delete("demo")
    assert bench.files() == {"two.mp4": "x(c)"}


def test_what_nobody_foresaw_fails_its_job_and_no_other(bench):
    bench.queue("bad", ("a.mp4", "one.mp4"), ("b.mp4", "two.mp4"))
    bench.queue("good", ("c.mp4", "three.mp4"))

    def break_off(task):
        if task.job_id == "good":
            return write(task)
        raise RuntimeError("never thought of")

    bench.work.instead = {0: break_off}
    assert bench.runner.run_all() == Tally(2, 1)
    assert "failed: never thought of" in bench.listener.lines
    assert bench.statuses("bad") == ("failed", ["failed", "queued"])
    assert bench.store.find("bad").steps[0].fault == "unexpected RuntimeError: never thought of"
    assert bench.files() == {"three.mp4": "x(c)"}


def test_a_defect_that_no_step_is_to_blame_for_fails_the_job_too(bench, monkeypatch):
    bench.queue("demo", ("a.mp4", "one.mp4"))

    def refuse(job):
        raise PermissionError(errno.EACCES, "Permission denied", "out")

    monkeypatch.setattr("facefusion.jobs.run.Outputs", refuse)
    assert bench.run().status is JobStatus.FAILED
    assert bench.work.done == []


@pytest.mark.parametrize("name", ["bad\0.mp4", "\ud800.mp4", "x" * 300 + ".mp4", "out/" * 2000 + "r.mp4"])
@pytest.mark.parametrize("key", ["target_path", "output_path", "source_paths"])
def test_names_that_no_file_can_have_are_for_the_step_to_refuse(bench, key, name):
    bench.queue("demo", ("a.mp4", "one.mp4"), ("b.mp4", "one.mp4"), ("c.mp4", "two.mp4"))
    edit(lambda table: table["steps"][0]["args"].update({key: [name] if key == "source_paths" else name}))
    bench.work.instead = {0: lambda task: BAD}
    assert bench.run().status is JobStatus.FAILED
    assert bench.work.done == [0, 1, 2]
    assert "two.mp4" in bench.files()
    assert bench.store.remove_step("demo", 0).steps[0].status is StepStatus.COMPLETED


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="of a user who may not look everywhere")
def test_a_folder_that_may_not_be_looked_into_is_for_the_step_to_refuse(bench):
    Path("shut").mkdir(mode=0o700)
    bench.queue("demo", ("a.mp4", "shut/one.mp4"), ("c.mp4", "two.mp4"))
    Path("shut").chmod(0)
    bench.work.instead = {0: lambda task: BAD}
    try:
        bench.run()
    finally:
        Path("shut").chmod(0o700)
    assert bench.work.done == [0, 1]


def test_steps_that_wait_for_one_that_failed_are_named(bench):
    bench.queue("demo", ("a.mp4", "one.mp4"), ("one.mp4", "two.mp4"), ("c.mp4", "three.mp4"))
    bench.work.instead = {0: lambda task: BAD}
    bench.run()
    assert bench.statuses() == ("failed", ["failed", "queued", "completed"])
    assert bench.listener.lines[1:] == ["step 1 of the job demo is not done: it waits for step 0.", "demo is failed"]


def test_a_step_that_would_overwrite_what_it_reads_keeps_nobody_waiting(bench):
    bench.queue("demo", ("a.mp4", "a.mp4"), ("a.mp4", "one.mp4"))
    bench.work.instead = {0: lambda task: BAD}
    bench.run()
    assert bench.statuses() == ("failed", ["failed", "completed"])
    assert bench.files() == {"one.mp4": "x(a)"}


def test_videos_that_cannot_be_joined_fail_the_job_and_keep_its_results(bench):
    bench.queue("demo", ("a.mp4", "result.mp4", "1"), ("b.mp4", "result.mp4", "2"))
    bench.joins = refuse_to_join
    assert bench.run().status is JobStatus.FAILED
    assert bench.statuses() == ("failed", ["completed", "completed"])
    assert bench.store.find("demo").steps[1].fault == (
        "its output result.mp4 was not made: result-demo-0.mp4 and result-demo-1.mp4 cannot be joined, for the size "
        "differs. Make both in one size."
    )
    assert bench.files() == {"result-demo-0.mp4": "1(a)", "result-demo-1.mp4": "2(b)"}
    bench.joins, bench.work = join, FakeWork()
    bench.runner.retry("demo")
    assert bench.work.done == []
    assert bench.files() == {"result.mp4": "1(a) + 2(b)"}
    assert [step.fault for step in bench.store.find("demo").steps] == ["", ""]


def test_an_output_folder_that_is_gone_fails_the_job_until_it_is_back(bench):
    Path("out").mkdir()
    bench.queue("demo", ("a.png", "out/r.png", "1"), ("b.png", "out/r.png", "2"))

    def move_away(task):
        result = write(task)
        Path("out").rename("away")
        return result

    bench.work.instead = {1: move_away}
    bench.run()
    assert bench.statuses() == ("failed", ["completed", "completed"])
    fault = bench.store.find("demo").steps[1].fault
    assert fault.startswith("its output out/r.png was not made: the output folder ")
    assert fault.endswith("out does not exist. Create it. Then go on with job-retry.")
    Path("away").rename("out")
    bench.work = FakeWork()
    bench.runner.retry("demo")
    assert bench.work.done == []
    assert Path("out/r.png").read_text() == "2(b)"


def test_an_image_is_moved_by_a_link_or_a_copy(bench, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    test_of_images_the_last_one_wins(bench)


def test_a_result_that_was_put_in_place_before_a_kill_can_be_put_there_again(bench):
    """Of two names of one file neither goes when one is given the other's place."""
    bench.queue("demo", ("a.png", "result.png", "1"), ("b.png", "result.png", "2"))
    save = bench.store.save

    def die_at_delivery(job):
        if all(step.delivered for step in job.steps):
            raise KeyboardInterrupt
        return save(job)

    bench.store.save = die_at_delivery
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    bench.store.save = save
    assert Path("result.png").samefile("result-demo-1.png")
    bench.run()
    assert bench.files() == {"result.png": "2(b)"}
    assert [path.name for path in Path.cwd().iterdir() if path.name.startswith(".")] == []


def test_a_job_is_run_by_one_process_at_a_time(bench):
    bench.queue("demo", DEMO)

    def meanwhile(task):
        with pytest.raises(JobBusyError, match="the job demo cannot be run: another process runs it"):
            Bench().run()
        return write(task)

    bench.work.instead = {0: meanwhile}
    bench.run()
    assert bench.work.done == [0]


@pytest.mark.parametrize(
    ("status", "remedy"),
    [("drafted", "Queue it first with job-submit demo."), ("completed", "Make another job.")],
)
def test_only_queued_jobs_are_run_and_only_failed_ones_retried(bench, status, remedy):
    bench.draft("demo", ("a.mp4", "one.mp4"))
    if status == "completed":
        bench.store.submit("demo")
        bench.run()
    for verb, go in (("run", bench.runner.run), ("retried", bench.runner.retry)):
        with pytest.raises(JobError) as caught:
            go("demo")
        assert str(caught.value) == f"the job demo cannot be {verb}: it is {status}. {remedy}"


def test_a_drafted_job_is_submitted_and_run_in_one_go(bench):
    bench.draft("demo", ("a.mp4", "one.mp4"))
    assert bench.runner.submit_and_run("demo").status is JobStatus.COMPLETED


def test_that_another_process_submitted_it_meanwhile_makes_no_difference(bench):
    bench.draft("demo", ("a.mp4", "one.mp4"))
    bench.store.submit("demo")
    assert bench.runner.submit_and_run("demo").status is JobStatus.COMPLETED


def test_two_steps_that_wait_for_each_other_fail(bench):
    bench.queue("demo", ("two-demo-1.mp4", "one.mp4"), ("one-demo-0.mp4", "two.mp4"))
    assert bench.run().status is JobStatus.FAILED
    assert [step.fault for step in bench.store.find("demo").steps] == [
        "it waits for step 1, which waits for it",
        "it waits for step 0, which waits for it",
    ]
    assert bench.work.done == []


def test_a_step_without_an_output_is_for_the_work_to_refuse(bench):
    bench.store.create("demo", [{"target_path": "a.mp4", "output_path": None}])
    bench.store.submit("demo")
    bench.work.instead = {0: lambda task: StepResult("no output is given.", is_whole=False)}
    assert bench.run().status is JobStatus.FAILED
    assert (bench.work.tasks[0].output, bench.work.tasks[0].file) == (None, None)


def edit(change, status="queued"):
    file = Path(f"jobs/{status}/demo.json")
    table = json.loads(file.read_text())
    change(table)
    file.write_text(json.dumps(table))


def test_what_somebody_adds_to_the_file_of_a_job_that_runs_is_done_too(bench):
    bench.queue("demo", ("a.mp4", "one.mp4"))

    def add(table):
        args = {"target_path": "b.mp4", "output_path": "two.mp4"}
        table["steps"].append({"status": "drafted", "args": args})

    def meanwhile(task):
        edit(add)
        return write(task)

    bench.work.instead = {0: meanwhile}
    bench.run()
    assert bench.files() == {"one.mp4": "x(a)", "two.mp4": "1(b)"}
    assert bench.statuses() == ("completed", ["completed", "completed"])


def test_a_step_that_somebody_changes_while_it_runs_is_done_again(bench):
    bench.queue("demo", ("a.mp4", "one.mp4"))

    def meanwhile(task):
        if task.step.args["mark"] == "x":
            edit(lambda table: table["steps"][0]["args"].update(mark="other"))
        return write(task)

    bench.work.instead = {0: meanwhile}
    bench.run()
    assert bench.work.done == [0, 0]
    assert bench.files() == {"one.mp4": "other(a)"}
    assert bench.listener.outputs == ["one.mp4"]
    assert "step 0 of the job demo was changed while it ran, and counts as not done." in bench.listener.lines


def test_a_step_that_somebody_puts_before_the_one_in_work(bench):
    bench.queue("demo", ("a.mp4", "one.mp4"), ("b.mp4", "two.mp4"))

    def insert(table):
        args = {"target_path": "c.mp4", "output_path": "three.mp4", "mark": "new"}
        table["steps"].insert(0, {"status": "completed", "delivered": True, "args": args})

    def meanwhile(task):
        if task.count == 2:
            edit(insert)
        return write(task)

    bench.work.instead = {0: meanwhile}
    bench.run()
    assert bench.work.done == [0, 1, 2]
    assert bench.files() == {"one.mp4": "x(a)", "two.mp4": "x(b)"}


def test_a_step_that_somebody_takes_out_while_it_runs(bench):
    bench.queue("demo", ("a.mp4", "one.mp4"), ("b.mp4", "two.mp4"))

    def meanwhile(task):
        edit(lambda table: table["steps"].pop())
        return write(task)

    bench.work.instead = {1: meanwhile}
    bench.run()
    assert bench.statuses() == ("completed", ["completed"])
    assert bench.listener.outputs == ["one.mp4"]


def test_a_file_that_somebody_spoils_while_its_job_runs_is_left_as_it_is(bench):
    bench.queue("demo", ("a.mp4", "one.mp4"))

    def meanwhile(task):
        Path("jobs/queued/demo.json").write_text("{")
        return write(task)

    bench.work.instead = {0: meanwhile}
    made = r"step 0 of the job demo has made one\.mp4, which cannot be written down: "
    with pytest.raises(JobError, match=f"^{made}" + r"the job file jobs.queued.demo\.json cannot be read"):
        bench.run()
    assert Path("jobs/queued/demo.json").read_text() == "{"
    assert bench.listener.outputs == ["one.mp4"]


def test_an_output_is_named_though_its_job_was_deleted_meanwhile(bench):
    bench.queue("gone", ("a.mp4", "one.mp4"))
    bench.queue("next", ("b.mp4", "two.mp4"))

    def meanwhile(task):
        Path("jobs/queued/gone.json").unlink(missing_ok=True)
        return write(task)

    bench.work.instead = {0: meanwhile}
    assert bench.runner.run_all() == Tally(2, 1)
    assert bench.listener.outputs == ["one.mp4", "two.mp4"]
    assert (
        "failed: step 0 of the job gone has made one.mp4, which cannot be written down: there is no job gone. job-list "
        "shows those of each status."
    ) in bench.listener.lines


def test_all_queued_jobs_are_run_the_oldest_first_and_a_bad_one_stops_none(bench):
    bench.queue("second", ("a.mp4", "s.mp4"))
    for name in ("alpha", "first"):
        bench.queue(name, ("b.mp4", f"{name}.mp4"))
    edit_first = Path("jobs/queued/second.json")
    bench.work.instead = {0: lambda task: BAD if task.job_id == "alpha" else write(task)}
    Path("jobs/queued/broken.json").write_text("{")
    assert bench.runner.run_all() == Tally(4, 2)
    assert [task.job_id for task in bench.work.tasks] == ["second", "alpha", "first"]
    assert not edit_first.exists()
    assert [line for line in bench.listener.lines if " is " in line][-3:] == [
        "second is completed",
        "alpha is failed",
        "first is completed",
    ]
    assert bench.listener.lines[0].startswith("failed: the job file ")


def test_halt_on_error_ends_the_run_of_all_jobs(bench):
    bench.halt = True
    for name in ("one", "two", "three"):
        bench.queue(name, ("a.mp4", f"{name}.mp4"))
    bench.work.instead = {0: lambda task: BAD if task.job_id == "two" else write(task)}
    assert bench.runner.run_all() == Tally(3, 1)
    assert [task.job_id for task in bench.work.tasks] == ["one", "two"]
    assert bench.statuses("three") == ("queued", ["queued"])


def test_all_failed_jobs_are_retried(bench):
    for name in ("one", "two"):
        bench.queue(name, ("a.mp4", f"{name}.mp4"))
    bench.work.instead = {0: lambda task: BAD}
    assert bench.runner.run_all() == Tally(2, 2)
    bench.work = FakeWork()
    assert bench.runner.retry_all() == Tally(2, 0)
    assert bench.runner.retry_all() == Tally(0, 0)


def test_a_job_that_another_process_runs_is_passed_over(bench):
    for name in ("one", "two"):
        bench.queue(name, ("a.mp4", f"{name}.mp4"))

    def meanwhile(task):
        if task.job_id != "one":
            return write(task)
        other = Bench()
        assert other.runner.run_all() == Tally(2, 0)
        assert other.listener.lines == [
            "The job one is passed over: another process runs it.",
            "two starts",
            "two is completed",
        ]
        return write(task)

    bench.work.instead = {0: meanwhile}
    assert bench.runner.run_all() == Tally(2, 0)
    # The second was done by the other one by then.
    assert [task.job_id for task in bench.work.tasks] == ["one"]
    assert bench.statuses("two") == ("completed", ["completed"])


def test_two_jobs_onto_one_output_do_not_meet(bench):
    bench.queue("one", ("a.mp4", "result.mp4", "1"), ("b.mp4", "result.mp4", "2"))
    bench.queue("two", ("b.mp4", "result.mp4", "3"), ("c.mp4", "result.mp4", "4"))

    def meanwhile(task):
        if task.job_id == "one":
            other = Bench()
            other.run("two")
            assert Path("result.mp4").read_text() == "3(b) + 4(c)"
        return write(task)

    bench.work.instead = {1: meanwhile}
    bench.run("one")
    assert bench.files() == {"result.mp4": "1(a) + 2(b)"}


def test_a_refusal_is_kept_as_the_fault(bench):
    bench.queue("demo", DEMO)
    message = str(ContentRefusedError("a.mp4 is refused", "Choose another."))
    bench.work.instead = {0: lambda task: StepResult(message, is_whole=False)}
    bench.run()
    assert json.loads(Path("jobs/failed/demo.json").read_text())["steps"][0]["error"] == message
    assert bench.store.find("demo").steps[0].status is StepStatus.FAILED
