from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from facefusion.service.leases import (
    JOIN,
    LEASE_SECONDS,
    MOST_LOST,
    PATIENCE_SECONDS,
    PAUSE_SECONDS,
    PLAN,
    POISON,
    ROOM_SECONDS,
    SENDING_SECONDS,
    Leases,
    Standing,
    Swept,
    Unit,
)
from facefusion.service.records import Fault, JobState, Result
from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_queue import RedisQueue
from tests.service.jobs import job

pytestmark = pytest.mark.service

RESULT = Result("ab" * 32, 1000, "video/mp4", ".mp4", 1_700_086_400.0)
BEGIN = 4_000_000_000.0
"""Behind Redis's own clock, by which jobs are submitted."""


class Fleet:
    """Two workers, one clock, one job of two segments."""

    def __init__(self, url: str, segments: int = 2, kept_seconds: float = 1e9) -> None:
        self.link = RedisLink(url)
        self.now = BEGIN
        self.queue = RedisQueue(self.link)
        self.one, self.two = (
            Leases(self.link, name, lambda: self.now, kept_seconds=kept_seconds) for name in ("one", "two")
        )
        self.queue.submit(job(), idempotency_key=None, most_waiting=9)
        self.segments = segments

    def plan(self, breed: str = "breed") -> None:
        lease = self.one.acquire(Unit("job1", PLAN))
        assert lease is not None
        assert self.one.commit_plan(lease, {"some": "plan"}, [10] * self.segments, breed)

    @property
    def state(self) -> JobState:
        found = self.queue.find("job1")
        assert found is not None
        return found.state

    def due(self) -> list[str]:
        """Units that messages were sent for now."""
        messages = self.one.due()
        self.one.sent(messages)
        return sorted(each.unit.name for each in messages)


@pytest.fixture
def fleet(redis_url):
    fleet = Fleet(redis_url)
    yield fleet
    fleet.link.close()


def segment(number=0):
    return Unit("job1", str(number))


def test_a_unit_is_taken_once(fleet):
    fleet.plan()
    assert fleet.one.acquire(segment()) is not None
    assert fleet.two.acquire(segment()) is None
    assert fleet.two.acquire(segment(1)) is not None


def test_tokens_grow(fleet):
    fleet.plan()
    first = fleet.one.acquire(segment())
    fleet.one.hand_back(first)
    second = fleet.two.acquire(segment())
    assert int(second.token) > int(first.token)


def test_what_was_handed_back_can_be_taken_at_once_and_the_old_token_is_refused(fleet):
    fleet.plan()
    old = fleet.one.acquire(segment())
    assert fleet.one.hand_back(old)
    assert fleet.one.renew(old) is Standing.LOST
    assert not fleet.one.commit_segment(old, {"by": "one"})
    new = fleet.two.acquire(segment())
    assert not fleet.one.commit_segment(old, {"by": "one"})
    assert fleet.two.commit_segment(new, {"by": "two"})
    assert not fleet.one.hand_back(old)
    assert fleet.one.work("job1").manifests == {0: {"by": "two"}}
    assert fleet.queue.find("job1").retries == 0


def test_a_segment_is_committed_once(fleet):
    fleet.plan()
    lease = fleet.one.acquire(segment())
    assert fleet.one.commit_segment(lease, {"n": 1})
    assert not fleet.one.commit_segment(lease, {"n": 2})
    assert fleet.one.acquire(segment()) is None
    assert fleet.queue.find("job1").progress.segments_done == 1


def test_a_lease_that_is_renewed_does_not_lapse(fleet):
    fleet.plan()
    lease = fleet.one.acquire(segment())
    for _ in range(5):
        fleet.now += LEASE_SECONDS - 1
        assert fleet.one.renew(lease) is Standing.KEPT
        assert fleet.two.sweep([]) == Swept(0, 0, 0)


def test_a_lease_that_lapsed_is_queued_again_and_its_worker_refused(fleet):
    fleet.plan()
    assert fleet.due() == ["0", "1"]
    old = fleet.one.acquire(segment())
    fleet.now += LEASE_SECONDS
    assert fleet.two.sweep([]) == Swept(lost=1, resent=0, replanned=0)
    assert fleet.due() == ["0"]
    assert fleet.one.renew(old) is Standing.LOST
    assert not fleet.one.commit_segment(old, {})
    assert fleet.two.acquire(segment()) is not None
    assert fleet.queue.find("job1").retries == 1


def test_a_lapsed_lease_that_nobody_noticed_lives_on(fleet):
    fleet.plan()
    lease = fleet.one.acquire(segment())
    fleet.now += 10 * LEASE_SECONDS
    assert fleet.one.renew(lease) is Standing.KEPT
    assert fleet.two.sweep([]) == Swept(0, 0, 0)
    assert fleet.one.commit_segment(lease, {})


def test_a_message_that_comes_again_under_a_live_lease_loses_nothing(fleet):
    fleet.plan()
    fleet.due()
    fleet.one.acquire(segment())
    assert fleet.two.acquire(segment()) is None  # the second message is gone with this
    fleet.now += LEASE_SECONDS
    assert fleet.two.acquire(segment()) is None  # noticed here, without a sweep
    assert fleet.due() == ["0"]
    assert fleet.two.acquire(segment()) is not None


def test_the_last_segment_queues_one_join(fleet):
    fleet.plan()
    fleet.due()
    assert fleet.one.acquire(Unit("job1", JOIN)) is None
    for number in (1, 0):
        assert fleet.one.commit_segment(fleet.one.acquire(segment(number)), {"n": number})
    assert fleet.due() == ["join"]
    assert fleet.due() == []
    lease = fleet.two.acquire(Unit("job1", JOIN))
    assert fleet.one.acquire(Unit("job1", JOIN)) is None
    assert fleet.two.complete(lease, RESULT, {})
    assert not fleet.two.complete(lease, RESULT, {})
    assert fleet.state is JobState.COMPLETED


def test_workers_that_are_lost_again_and_again_park_the_job(fleet):
    fleet.plan()
    fleet.due()
    waited = []
    for _ in range(MOST_LOST):
        begun = fleet.now
        while fleet.one.acquire(segment()) is None:
            fleet.now += 1
        waited.append(fleet.now - begun)
        fleet.now += LEASE_SECONDS
        fleet.two.sweep([])
    assert fleet.queue.find("job1").state is JobState.PARKED
    assert fleet.queue.find("job1").fault == POISON
    assert fleet.one.acquire(segment(1)) is None
    assert fleet.due() == []


def test_the_pause_after_a_loss_doubles(fleet):
    fleet.plan()
    fleet.due()
    for pause in (0.0, PAUSE_SECONDS):
        fleet.one.acquire(segment())
        fleet.now += LEASE_SECONDS
        fleet.two.sweep([])
        if pause:
            fleet.now += pause - 0.001
            assert fleet.due() == []
            fleet.now += 0.001
        assert fleet.due() == ["0"]


def test_a_try_that_failed_waits_and_is_counted(fleet):
    fleet.plan()
    fleet.due()
    lease = fleet.one.acquire(segment())
    assert lease.tries == 0
    fleet.one.hand_back(lease, pause=5, failed=True)
    assert fleet.due() == []
    fleet.now += 5
    assert fleet.due() == ["0"]
    assert fleet.two.acquire(segment()).tries == 1
    assert fleet.queue.find("job1").retries == 1


def test_a_message_that_was_not_said_to_be_sent_is_sent_again(fleet):
    assert [each.unit.name for each in fleet.one.due()] == [PLAN]
    assert fleet.two.due() == []
    fleet.now += SENDING_SECONDS
    assert [each.unit.name for each in fleet.two.due()] == [PLAN]


def test_what_is_taken_while_its_message_is_sent_is_not_marked_as_sent(fleet):
    messages = fleet.one.due()
    lease = fleet.two.acquire(Unit("job1", PLAN))
    fleet.two.hand_back(lease)
    fleet.one.sent(messages)
    assert fleet.due() == [PLAN]


def test_a_message_that_was_lost_is_sent_again(fleet):
    assert fleet.due() == [PLAN]
    fleet.now += PATIENCE_SECONDS - 1
    assert fleet.two.sweep(["facefusion.normal"]) == Swept(0, 0, 0)
    fleet.now += 1
    assert fleet.two.sweep(["facefusion.normal"]) == Swept(0, 1, 0)
    assert fleet.due() == [PLAN]


def test_a_message_that_waits_in_its_queue_is_not_lost(fleet):
    fleet.due()
    fleet.link.call("RPUSH", "facefusion.normal", "a message")
    fleet.now += 10 * PATIENCE_SECONDS
    assert fleet.two.sweep(["facefusion.normal"]) == Swept(0, 0, 0)


def test_a_plan_that_nobody_left_can_follow_is_made_anew(fleet):
    fleet.one.beat("old")
    fleet.plan("old")
    fleet.due()
    old = fleet.one.acquire(segment())
    fleet.now += LEASE_SECONDS - 1
    fleet.one.commit_segment(old, {})
    fleet.one.leave("old")
    fleet.two.beat("new")
    assert fleet.two.sweep([]) == Swept(0, 0, 1)
    assert fleet.due() == [PLAN]
    assert fleet.two.acquire(segment(1)) is None
    found = fleet.queue.find("job1")
    assert (found.progress.done, found.progress.total, found.progress.segments) == (0, None, None)
    fleet.plan("new")
    assert fleet.one.due()[0].queue == "facefusion.normal.new"


def test_a_plan_is_kept_while_a_worker_of_its_breed_is_there(fleet):
    fleet.one.beat("old")
    fleet.plan("old")
    fleet.two.beat("new")
    assert fleet.two.sweep([]) == Swept(0, 0, 0)


def test_segments_go_to_workers_of_the_breed(fleet):
    assert {each.queue for each in fleet.one.due()} == {"facefusion.normal"}
    fleet.plan("b7")
    assert {each.queue for each in fleet.one.due()} == {"facefusion.normal.b7"}


def test_a_cancelled_job_is_told_to_its_workers(fleet):
    fleet.plan()
    lease = fleet.one.acquire(segment())
    fleet.queue.cancel("job1")
    assert fleet.one.renew(lease) is Standing.FINAL
    assert not fleet.one.commit_segment(lease, {})
    assert not fleet.one.hand_back(lease)
    assert fleet.due() == []
    assert fleet.one.work("job1") is None


def test_a_damaged_segment_is_made_anew_before_the_join(fleet):
    fleet.plan()
    for number in (0, 1):
        fleet.one.commit_segment(fleet.one.acquire(segment(number)), {})
    fleet.due()
    lease = fleet.one.acquire(Unit("job1", JOIN))
    assert fleet.one.redo(lease, 1)
    assert fleet.due() == ["1"]
    assert fleet.queue.find("job1").progress.done == 10
    assert fleet.one.acquire(Unit("job1", JOIN)) is None
    fleet.one.commit_segment(fleet.one.acquire(segment(1)), {})
    assert fleet.due() == ["join"]
    assert fleet.one.acquire(Unit("job1", JOIN)).tries == 1


def test_frames_are_counted_over_all_workers_and_not_twice(fleet):
    fleet.plan()
    one, two = fleet.one.acquire(segment(0)), fleet.two.acquire(segment(1))
    fleet.one.renew(one, 4)
    fleet.two.renew(two, 3)
    fleet.one.renew(one, 6)
    progress = fleet.queue.find("job1").progress
    assert (progress.done, progress.total) == (9, 20)
    fleet.two.hand_back(two)
    assert fleet.queue.find("job1").progress.done == 6
    fleet.one.commit_segment(one, {})
    assert fleet.queue.find("job1").progress.done == 10


def test_the_rate_is_that_of_all_workers(fleet):
    fleet.plan()
    one, two = fleet.one.acquire(segment(0)), fleet.two.acquire(segment(1))
    for tick in range(1, 6):
        fleet.now += 2
        fleet.one.renew(one, tick)
        fleet.two.renew(two, tick)
    assert fleet.queue.find("job1").progress.rate == pytest.approx(1.0, abs=0.3)


def test_a_failure_ends_the_job(fleet):
    fleet.plan()
    lease = fleet.one.acquire(segment())
    fault = Fault("no room", "Make some.", "ResourceError")
    assert fleet.one.fail(lease, JobState.FAILED, fault)
    assert fleet.queue.find("job1").fault == fault
    assert fleet.two.acquire(segment(1)) is None


def test_what_could_not_be_taken_comes_again(fleet):
    fleet.due()
    fleet.one.postpone(Unit("job1", PLAN), 5)
    assert fleet.due() == []
    fleet.now += 5
    assert fleet.due() == [PLAN]
    fleet.one.acquire(Unit("job1", PLAN))
    fleet.two.postpone(Unit("job1", PLAN), 0)
    assert fleet.due() == []


def test_a_long_plan_is_kept(fleet):
    lease = fleet.one.acquire(Unit("job1", PLAN))
    assert fleet.one.commit_plan(lease, {}, [1] * 20_000, "breed")
    assert fleet.queue.find("job1").progress.segments == 20_000
    fleet.queue.cancel("job1")
    assert fleet.due() == []


def test_a_job_that_is_narrowed_is_planned_anew_and_what_was_made_of_it_is_refused(fleet):
    fleet.plan()
    fleet.due()
    assert fleet.one.commit_segment(fleet.one.acquire(segment(0)), {"by": "one"})
    other, short = fleet.two.acquire(segment(1)), fleet.one.acquire(segment(1))
    assert short is None
    assert not fleet.queue.find("job1").alone
    assert fleet.two.narrow(other)
    found = fleet.queue.find("job1")
    assert found.alone
    assert (found.progress.done, found.progress.segments, found.progress.segments_done) == (0, None, 0)
    assert found.retries == 1
    assert fleet.two.renew(other) is Standing.LOST
    assert not fleet.two.commit_segment(other, {})
    assert not fleet.two.narrow(other)
    assert fleet.one.work("job1") is None
    assert [(each.unit.name, each.queue) for each in fleet.one.due()] == [(PLAN, "facefusion.normal")]


def test_a_unit_that_is_too_large_for_one_worker_goes_to_another_of_its_breed(fleet):
    fleet.one.beat("breed")
    fleet.two.beat("breed")
    fleet.plan()
    fleet.due()
    lease = fleet.one.acquire(segment())
    assert fleet.one.pass_on(lease, "breed")
    assert fleet.one.renew(lease) is Standing.LOST
    assert fleet.due() == []
    fleet.now += ROOM_SECONDS
    assert fleet.due() == ["0"]
    again = fleet.two.acquire(segment())
    assert not fleet.two.pass_on(again, "breed"), "nobody else is left"
    assert fleet.two.renew(again) is Standing.KEPT
    assert fleet.two.narrow(again)
    fleet.plan()
    lease = fleet.one.acquire(segment())
    assert fleet.one.pass_on(lease, "breed"), "one frame at a time may fit for others"


def test_a_job_that_is_too_large_for_one_breed_is_planned_by_another(fleet):
    fleet.one.beat("small")
    fleet.two.beat("large")
    fleet.plan("small")
    fleet.due()
    fleet.one.commit_segment(fleet.one.acquire(segment(1)), {})
    assert fleet.one.pass_on(fleet.one.acquire(segment()), "small")
    assert [(each.unit.name, each.queue) for each in fleet.one.due()] == [(PLAN, "facefusion.normal.large")]
    lease = fleet.two.acquire(Unit("job1", PLAN))
    assert fleet.two.commit_plan(lease, {}, [10], "large")
    assert {each.queue for each in fleet.two.due()} == {"facefusion.normal.large"}


def test_a_job_whose_larger_breed_is_gone_is_offered_to_all_again(fleet):
    fleet.one.beat("small")
    fleet.two.beat("large")
    assert fleet.one.pass_on(fleet.one.acquire(Unit("job1", PLAN)), "small")
    assert [each.queue for each in fleet.one.due()] == ["facefusion.normal.large"]
    fleet.two.leave("large")
    assert fleet.one.sweep([]) == Swept(0, 0, 1)
    assert [each.queue for each in fleet.one.due()] == ["facefusion.normal"]
    assert not fleet.one.pass_on(fleet.one.acquire(Unit("job1", PLAN)), "small")


def test_what_is_known_of_small_devices_goes_with_the_job(fleet):
    fleet.one.beat("small")
    lease = fleet.one.acquire(Unit("job1", PLAN))
    fleet.one.pass_on(lease, "small")
    assert fleet.link.call("KEYS", "*unfit*") == ["facefusion:unfit:job1"]
    assert fleet.one.fail(lease, JobState.FAILED, Fault("too large", "", "VideoMemoryError"))
    assert fleet.link.call("KEYS", "*unfit*") == []


class Machine(RuleBasedStateMachine):
    """Workers that take, renew, commit, hand back, die and come back from the dead, in any order.

    Whatever happens, no segment counts twice, the join comes once and after all segments, and nothing that is left is
    forgotten: it is held, or a message for it is due or on its way.
    """

    url = ""
    SEGMENTS = 3

    @initialize()
    def begin(self) -> None:
        link = RedisLink(self.url)
        link.call("FLUSHALL")
        link.close()
        self.fleet = Fleet(self.url, self.SEGMENTS)
        self.held: list[tuple[Leases, object]] = []
        self.committed: dict[str, int] = {}
        self.messages: list[Unit] = []
        self.ended = 0

    @property
    def is_open(self) -> bool:
        return not self.fleet.state.is_final

    @rule()
    def send(self) -> None:
        due = self.fleet.one.due()
        self.messages += [each.unit for each in due]
        self.fleet.one.sent(due)

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), again=st.booleans(), second=st.booleans())
    def take(self, data, again, second) -> None:
        unit = data.draw(st.sampled_from(self.messages))
        if not again:
            self.messages.remove(unit)
        worker = self.fleet.two if second else self.fleet.one
        lease = worker.acquire(unit)
        if lease is not None:
            self.held.append((worker, lease))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), forget=st.booleans())
    def commit(self, data, forget) -> None:
        worker, lease = data.draw(st.sampled_from(self.held))
        if forget:
            self.held.remove((worker, lease))
        name = lease.unit.name
        if name == PLAN:
            kept = worker.commit_plan(lease, {}, [5] * self.SEGMENTS, "breed")
        elif name == JOIN:
            kept = worker.complete(lease, RESULT, {})
            assert not kept or all(self.committed.get(str(n)) for n in range(self.SEGMENTS))
            self.ended += kept
        else:
            kept = worker.commit_segment(lease, {})
        self.committed[name] = self.committed.get(name, 0) + kept

    @precondition(lambda self: self.held)
    @rule(data=st.data(), failed=st.booleans())
    def hand_back(self, data, failed) -> None:
        worker, lease = data.draw(st.sampled_from(self.held))
        worker.hand_back(lease, pause=1 if failed else 0, failed=failed)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def narrow(self, data) -> None:
        worker, lease = data.draw(st.sampled_from(self.held))
        if worker.narrow(lease):
            self.committed.clear()  # it is begun anew

    @rule(second=st.booleans())
    def beat(self, second) -> None:
        (self.fleet.two if second else self.fleet.one).beat("breed")

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def pass_on(self, data) -> None:
        worker, lease = data.draw(st.sampled_from(self.held))
        worker.pass_on(lease, "breed")

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def renew(self, data) -> None:
        worker, lease = data.draw(st.sampled_from(self.held))
        worker.renew(lease, 1)

    @rule(seconds=st.sampled_from([1.0, 10.0, LEASE_SECONDS, 2 * PATIENCE_SECONDS]))
    def wait(self, seconds) -> None:
        self.fleet.now += seconds

    @rule()
    def sweep(self) -> None:
        self.fleet.two.sweep(["facefusion.normal", "facefusion.normal.breed"])

    @rule()
    def lose_messages(self) -> None:
        self.messages.clear()

    @invariant()
    def nothing_counts_twice(self) -> None:
        if not hasattr(self, "fleet"):
            return
        assert all(count <= 1 for count in self.committed.values())
        assert self.ended <= 1
        assert (self.fleet.state is JobState.COMPLETED) == (self.ended == 1)

    @invariant()
    def nothing_is_forgotten(self) -> None:
        if not hasattr(self, "fleet") or not self.is_open:
            return
        link = self.fleet.link
        known = set(link.call("ZRANGE", link.key("leases"), 0, -1)) | set(
            link.call("ZRANGE", link.key("unsent"), 0, -1)
        )
        for queue in ("facefusion.normal", "facefusion.normal.breed"):
            known |= set(link.call("ZRANGE", link.key("sent", queue), 0, -1))
        work = self.fleet.one.work("job1")
        if work is None:
            left = {PLAN}
        else:
            left = {str(n) for n in range(self.SEGMENTS)} - {str(n) for n in work.manifests} or {JOIN}
        assert {f"job1|{name}" for name in left} <= known

    def teardown(self) -> None:
        if hasattr(self, "fleet"):
            self.fleet.link.close()


def test_whatever_workers_do_nothing_counts_twice_and_nothing_is_forgotten(redis_url):
    Machine.url = redis_url
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
