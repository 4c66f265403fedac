"""What the content filter looks at and when it refuses."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.content.analyse import KEPT_TIMES, ContentAnalyser, times_in_words
from facefusion.content.aside import JudgingThread, at_once
from facefusion.content.base import Judge, Opinion
from facefusion.core.errors import ContentRefusedError, ResourceError
from facefusion.core.values import Frame
from facefusion.observability.stages import CONTENT, WAIT_FOR_CONTENT, StageClock
from tests.content.asides import as_late_as_possible
from tests.faces.fakes import blank

LIMIT = 0.8
ASIDES = (at_once, as_late_as_possible)


class Scores:
    """Judges by the second a frame belongs to."""

    def __init__(self, by_second):
        self.by_second = by_second
        self.times: list[Fraction] = []
        self.now = Fraction(0)

    def thumbnail(self, picture):
        return picture.thumbnail(picture.size)

    def score(self, thumbnail):
        self.times.append(self.now)
        return self.by_second[int(self.now)]


def analyser_of(model, path="clip.mp4", duration=None, origin=0.0, aside=at_once):
    return ContentAnalyser(Judge("scores", model, LIMIT), aside, path, duration, origin)


def watch(by_second, duration, rate=10, start=Fraction(0)):
    """Frame at which the target was refused (-1 at the end), none where it passed; and the model."""
    model = Scores(by_second)
    analyser = analyser_of(model, duration=duration)
    for index in range(len(by_second) * rate):
        model.now = Fraction(index, rate)
        try:
            analyser.observe(Frame(index, start + model.now, blank(8, 8)))
        except ContentRefusedError:
            return index, model
    try:
        analyser.finish()
    except ContentRefusedError:
        return -1, model
    return None, model


def test_one_frame_a_second_is_looked_at():
    outcome, model = watch([0.0] * 5, None)
    assert outcome is None
    assert model.times == [0, 1, 2, 3, 4]


def test_seconds_count_from_the_first_frame():
    _, model = watch([0.0] * 3, None, start=Fraction(17, 10))
    assert model.times == [0, 1, 2]


def test_slow_videos_are_looked_at_frame_by_frame():
    model = Scores([0.0] * 12)
    analyser = analyser_of(model, "slides.mp4", 12.0)
    for index in range(4):
        model.now = Fraction(index * 3)
        analyser.observe(Frame(index, model.now, blank(8, 8)))
    assert model.times == [0, 3, 6, 9]


@pytest.mark.parametrize(
    ("length", "bad", "refused_at"),
    [
        (1, [0], 0),
        (5, [2], 20),
        (9, [8], 80),
        (10, [3], None),
        (10, [3, 7], 70),
        (20, [0, 1], None),
        (20, [0, 1, 2], 20),
        (30, [0, 29], None),
        (30, [0, 1, 28, 29], 290),
    ],
)
def test_more_than_a_tenth_is_refused_as_soon_as_it_is_certain(length, bad, refused_at):
    scores = [0.95 if second in bad else 0.1 for second in range(length)]
    assert watch(scores, float(length))[0] == refused_at


def test_score_of_the_limit_itself_passes():
    assert watch([0.8], 1.0)[0] is None
    assert watch([0.81], 1.0)[0] == 0


def test_unknown_duration_is_decided_at_the_end():
    assert watch([0.9, 0.0, 0.0], None)[0] == -1
    assert watch([0.9] + [0.0] * 9, None)[0] is None


def test_no_frame_is_looked_at_once_the_target_must_pass():
    _, model = watch([0.0] * 20, 20.0)
    # Two of the twenty may be counted, so after eighteen nothing can change.
    assert len(model.times) == 18


def test_refusal_names_the_target_and_has_its_own_exit_code():
    with pytest.raises(ContentRefusedError) as caught:
        analyser_of(Scores([0.99]), "photo.jpg", 0.0).observe(Frame(0, Fraction(0), blank(8, 8)))
    assert str(caught.value) == (
        "photo.jpg was refused by the content filter: the picture most likely shows sexual content. "
        "Nothing was written. Use another target."
    )
    assert caught.value.exit_code == 3


def run(analyser, model, seconds, start=Fraction(0)):
    for second in seconds:
        model.now = Fraction(second)
        analyser.observe(Frame(second, start + model.now, blank(8, 8)))


def test_refusal_of_a_video_says_how_much_and_when():
    model = Scores([0.9 if second in {7, 62, 63, 65, 70} else 0.1 for second in range(80)])
    analyser = analyser_of(model)
    run(analyser, model, range(20))
    analyser.finish()
    run(analyser, model, range(60, 80))
    with pytest.raises(ContentRefusedError) as caught:
        analyser.finish()
    assert caught.value.fault == (
        "clip.mp4 was refused by the content filter: 5 of 40 pictures looked at most likely show sexual content, "
        "at 0:07, 1:02, 1:03 and 2 more"
    )


@pytest.mark.parametrize(
    ("times", "count", "words"),
    [
        ([0.0], 1, "at 0:00"),
        ([12.9, 13.0], 2, "at 0:12 and 0:13"),
        ([12, 13, 59.99], 3, "at 0:12, 0:13 and 0:59"),
        ([12, 13, 14, 15], 6, "at 0:12, 0:13, 0:14 and 3 more"),
        ([3723.5], 1, "at 1:02:03"),
        ([-0.02], 1, "at 0:00"),
    ],
)
def test_times_are_said_as_players_show_them(times, count, words):
    assert times_in_words(times, count) == words


def test_a_refusal_for_one_picture_is_said_of_one():
    model = Scores([0.9])
    with pytest.raises(ContentRefusedError, match="1 of 1 picture looked at most likely shows sexual content, at 0:00"):
        run(analyser_of(model, duration=0.5), model, [0])


def test_a_refusal_carries_what_was_seen():
    model = Scores([0.9])
    analyser = ContentAnalyser(Judge("mine", model, LIMIT), at_once, "clip.mp4", 0.5, imported=("mine",))
    with pytest.raises(ContentRefusedError) as refused:
        run(analyser, model, [0])
    content = refused.value.content
    assert content == analyser.report
    assert content is not None
    assert (content.looked_at, content.counted, content.scores, content.imported) == (1, 1, {"mine": 0.9}, ("mine",))


def test_times_count_from_what_a_player_shows_first():
    model = Scores([0.9] * 12)
    analyser = analyser_of(model, origin=10.0)
    run(analyser, model, [11], start=Fraction(10))
    assert analyser.report.times == (11.0,)


def test_a_file_that_is_longer_than_its_header_says_is_looked_at_to_its_end():
    model = Scores([0.1] * 3 + [0.9] * 60)
    analyser = analyser_of(model, duration=1.0)
    run(analyser, model, range(63))
    with pytest.raises(ContentRefusedError, match="60 of 63 pictures looked at"):
        analyser.finish()


def test_what_was_seen_is_told():
    model = Scores([0.2, 0.9, 0.5] + [0.0] * 17)
    analyser = analyser_of(model)
    run(analyser, model, range(20))
    report = analyser.report
    assert (report.looked_at, report.counted, report.times) == (20, 1, (1.0,))
    assert (report.scores, report.limits) == ({"scores": 0.9}, {"scores": LIMIT})


def test_a_resumed_run_knows_what_the_first_one_saw():
    scores = [0.9 if second % 10 == 3 else 0.3 for second in range(40)]
    model = Scores(scores)
    whole, first, second = (analyser_of(model, duration=40.0) for _ in range(3))
    run(whole, model, range(33))
    run(first, model, range(21))
    second.restore(json.loads(json.dumps(first.state())))
    run(second, model, range(21, 33))
    assert second.report == whole.report
    assert second.report.times == (3.0, 13.0, 23.0)
    model.by_second = [0.9] * 40
    with pytest.raises(ContentRefusedError, match=r"5 of 35 pictures .+, at 0:03, 0:13, 0:23 and 2 more"):
        run(second, model, range(33, 40))


def test_what_is_kept_does_not_grow_with_the_video():
    model = Scores([0.9] * 200)
    analyser = analyser_of(model)
    run(analyser, model, range(200))
    assert analyser.report.counted == 200
    assert analyser.report.times == tuple(map(float, range(KEPT_TIMES)))


class Timed(Scores):
    """A score is that of the second in which the picture was looked at, whenever it is judged."""

    def thumbnail(self, picture):
        return np.full((1, 1, 3), int(self.now), np.uint8)

    def score(self, thumbnail):
        return self.by_second[thumbnail[0, 0, 0]]


def seen(by_second, duration, aside):
    """All that a user is told of a target."""
    model = Timed(by_second)
    analyser = analyser_of(model, duration=duration, aside=aside)
    try:
        for index, _ in enumerate(by_second):
            model.now = Fraction(index)
            analyser.observe(Frame(index, model.now, blank(8, 8)))
            if index == len(by_second) // 2:
                json.dumps(analyser.state())
        analyser.finish()
    except ContentRefusedError as refused:
        return refused.fault, refused.content
    return None, analyser.report


@given(
    bad=st.lists(st.booleans(), min_size=1, max_size=40),
    said=st.sampled_from((None, 0.5, 1.0, 1.5, 3.0)),
    data=st.data(),
)
def test_it_comes_to_the_same_however_late_a_picture_is_judged(bad, said, data):
    scores = [0.9 if one else 0.1 for one in bad]
    duration = None if said is None else len(bad) * said

    def now_and_then(judgement):
        return data.draw(st.sampled_from(ASIDES))(judgement)

    soonest, latest, mixed = (seen(scores, duration, aside) for aside in (*ASIDES, now_and_then))
    assert soonest == latest == mixed


def test_frames_do_not_wait_for_the_judge():
    asked, answered = threading.Event(), threading.Event()

    class Slow(Scores):
        def score(self, thumbnail):
            asked.set()
            assert answered.wait(60)
            return 0.9

    clock = StageClock()
    with JudgingThread(partial(clock.measure, CONTENT)) as thread:
        analyser = analyser_of(Slow([]), duration=1.0, aside=thread.begin)
        for index in range(10):
            analyser.observe(Frame(index, Fraction(index, 10), blank(8, 8)))
        assert asked.wait(60)
        assert analyser.report.looked_at == 0
        answered.set()
        with clock.measure("follow"), pytest.raises(ContentRefusedError):
            analyser.finish()
    assert analyser.report.looked_at == 1
    assert set(clock.seconds()) == {CONTENT, WAIT_FOR_CONTENT, "follow"}


def test_the_judging_thread_ends_with_its_block():
    before = set(threading.enumerate())
    with JudgingThread(nullcontext) as thread:
        judged = thread.begin(lambda: Opinion(True, {}))
        assert judged.result(60).counts
        assert set(threading.enumerate()) > before
    assert set(threading.enumerate()) <= before


def test_a_thread_that_the_system_refuses_is_said(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    with JudgingThread(nullcontext) as thread:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(ResourceError, match=r"no thread for the content filter\. Lower --execution-thread-count"):
            thread.begin(lambda: Opinion(True, {}))
