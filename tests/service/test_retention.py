import pytest

from facefusion.service.memory_queue import MemoryQueue
from facefusion.service.records import Asset, JobState, Result
from facefusion.service.retention import GRACE_SECONDS, PAGE, Retention, Swept
from tests.service.fakes import Clock, MemoryFiles
from tests.service.test_memory_queue import job, put

HOURS = 2.0
SECONDS = HOURS * 3600


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(clock):
    return MemoryQueue(clock)


@pytest.fixture
def files(tmp_path):
    return MemoryFiles(tmp_path)


@pytest.fixture
def retention(files, queue, clock):
    return Retention(files, queue, (lambda: 2, lambda: 1), HOURS, clock)


def keep(files, clock, name):
    part = files._folder / f"{name}.part"
    part.write_bytes(b"x")
    files.add(part, Asset(name, "ann", "ab", 1, "image/jpeg", ".jpg", clock.now, clock.now + SECONDS))


def test_assets_go_when_their_time_is_over_and_not_before(retention, files, clock):
    keep(files, clock, "t")
    clock.now += SECONDS + GRACE_SECONDS
    assert retention.sweep() == Swept(0, 0, 3)
    clock.now += 1
    assert retention.sweep() == Swept(1, 0, 3)
    assert files.assets(None) == []
    assert not (files._folder / "t").exists()


def test_a_job_that_is_not_final_pins_what_it_uses(retention, files, queue, clock):
    keep(files, clock, "t")
    keep(files, clock, "s")
    keep(files, clock, "other")
    put(queue, job("a"))
    clock.now += 10 * SECONDS
    assert retention.sweep().assets == 1
    assert sorted(asset.id for asset in files.assets(None)) == ["s", "t"]
    queue.cancel("a")
    assert retention.sweep().assets == 2


def test_results_go_with_their_jobs(retention, files, queue, clock, tmp_path):
    put(queue, job("a"))
    queue.take(0)
    made = tmp_path / "made"
    made.write_bytes(b"result")
    result = Result("ab", 6, "video/mp4", ".mp4", clock.now + SECONDS)
    files.put_result("a", made, result)
    queue.finish("a", JobState.COMPLETED, result=result)
    clock.now += SECONDS
    assert retention.sweep().jobs == 0
    clock.now += 1
    assert retention.sweep().jobs == 1
    assert queue.find("a") is None
    assert files.erased == ["a"]
    assert list(tmp_path.iterdir()) == []


def test_a_job_without_a_result_goes_as_long_after_its_end(retention, queue, clock):
    put(queue, job("a"), job("b"))
    clock.now += 100 * SECONDS
    queue.cancel("a")
    clock.now += SECONDS + 1
    assert retention.sweep().jobs == 1
    assert queue.find("a") is None
    assert queue.find("b") is not None


def test_what_was_made_for_a_job_that_was_cancelled_while_it_waited_goes_soon(retention, files, queue, clock):
    put(queue, job("a"), job("b"))
    queue.cancel("a")
    clock.now += GRACE_SECONDS
    assert retention.sweep().jobs == 0
    assert files.erased == []
    clock.now += 1
    assert retention.sweep().jobs == 0
    assert files.erased == ["a"]
    assert queue.find("a").state is JobState.CANCELLED


def test_segments_of_a_job_go_soon_after_its_result_and_are_not_looked_for_again(retention, files, queue, clock):
    put(queue, job("a"))
    queue.take(0)
    queue.finish("a", JobState.COMPLETED, result=Result("ab", 6, "video/mp4", ".mp4", clock.now + SECONDS))
    clock.now += GRACE_SECONDS
    retention.sweep()
    assert files.tidied == []
    clock.now += 1
    retention.sweep()
    assert (files.tidied, files.erased) == (["a"], [])
    for _ in range(9):
        clock.now += 300
        retention.sweep()
    assert files.tidied == ["a", "a"]  # once more, as clocks of machines differ
    Retention(files, queue, (), HOURS, clock).sweep()
    assert files.tidied == ["a", "a", "a"]


def test_a_job_that_another_machine_erased_meanwhile_ends_the_look_for_this_time(retention, queue, clock, monkeypatch):
    for number in range(99):
        put(queue, job(str(number)))
        queue.cancel(str(number))
    monkeypatch.setattr("facefusion.service.retention.PAGE", 50)
    listed = queue.list

    def erased_behind_it(owner, *, limit, before):
        page = listed(owner, limit=limit, before=before)
        queue.erase(page[-1].id)
        return page

    monkeypatch.setattr(queue, "list", erased_behind_it)
    clock.now += SECONDS + 1
    assert retention.sweep().jobs == 50
    monkeypatch.setattr(queue, "list", listed)
    assert retention.sweep().jobs == 49


def test_all_pages_of_jobs_are_looked_at(retention, queue, clock):
    for number in range(PAGE + 50):
        put(queue, job(str(number)))
        queue.cancel(str(number))
    clock.now += SECONDS + 1
    assert retention.sweep().jobs == PAGE + 50
