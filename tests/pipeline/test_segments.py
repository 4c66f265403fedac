"""Cuts, and times in the result: every frame once, whatever the rates, trims and lengths."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.values import Frame, Size
from facefusion.pipeline.pace import Pace
from facefusion.pipeline.segments import SegmentPlan, segment_frames
from facefusion.vision.picture import BgrPicture

PICTURE = BgrPicture(np.zeros((2, 2, 3), np.uint8))

RATES = st.sampled_from(
    [Fraction(n) for n in (1, 12, 24, 25, 30, 50, 60, 120)]
    + [Fraction(24000, 1001), Fraction(30000, 1001), Fraction(60000, 1001), Fraction(1, 2), Fraction(43, 3)]
)


@given(start=st.integers(0, 1000), length=st.integers(13, 300), frames=st.integers(1, 2000))
def test_every_frame_is_in_one_segment(start: int, length: int, frames: int) -> None:
    cuts = SegmentPlan(start, start + frames, length)
    seen: list[int] = []
    for number in range(cuts.number_of(start + frames - 1) + 1):
        first = cuts.first_of(number)
        after = min(cuts.first_of(number + 1), start + frames)
        seen += range(first, after)
        assert all(cuts.number_of(index) == number for index in range(first, after))
    assert seen == list(range(start, start + frames))


@given(start=st.integers(0, 1000), length=st.integers(13, 300), number=st.integers(1, 50))
def test_frames_before_a_cut_warm_the_next_segment_up(start: int, length: int, number: int) -> None:
    cuts = SegmentPlan(start, None, length)
    first = cuts.first_of(number)
    warming = [index for index in range(cuts.first_of(number - 1), first) if cuts.warms(index)]
    assert warming == list(range(first - cuts.warm_up, first))
    assert cuts.anchor_of(number) == warming[0]


def test_no_segment_is_warmed_up_by_frames_before_the_part() -> None:
    assert SegmentPlan(100, None, 50).anchor_of(0) == 100


def test_a_segment_shorter_than_its_warming_up_is_refused() -> None:
    with pytest.raises(ValueError, match="12"):
        SegmentPlan(0, None, 12)


@pytest.mark.parametrize(
    ("processors", "size", "length"),
    [
        (("face_swapper",), Size(1920, 1080), 240),
        (("face_swapper",), Size(3840, 2160), 120),
        (("face_swapper", "face_enhancer"), Size(640, 360), 48),
    ],
)
def test_slow_work_is_cut_shorter(processors: tuple[str, ...], size: Size, length: int) -> None:
    assert segment_frames(processors, size) == length


@given(start=st.integers(0, 50), length=st.integers(13, 60), together=st.integers(1, 70))
def test_groups_end_with_their_segment_and_count_from_its_first_frame(start: int, length: int, together: int) -> None:
    plan = SegmentPlan(start, None, length)
    groups: list[list[int]] = [[]]
    for index in range(start, start + 3 * length):
        groups[-1].append(index)
        if plan.ends_group(index, together):
            groups.append([])
    assert groups.pop() == []
    for group in groups:
        assert plan.number_of(group[0]) == plan.number_of(group[-1])
        place = group[0] - plan.first_of(plan.number_of(group[0]))
        assert place % together == 0
        assert len(group) == min(together, length - place)


def frames_at(times: list[Fraction], last: Fraction) -> list[Frame]:
    ends = [*times[1:], times[-1] + last]
    return [Frame(n, time, PICTURE, end - time) for n, (time, end) in enumerate(zip(times, ends, strict=True))]


@st.composite
def timelines(draw: st.DrawFn) -> list[Frame]:
    steps = draw(st.lists(st.fractions(Fraction(1, 240), Fraction(2), max_denominator=90000), min_size=1, max_size=60))
    times = [draw(st.fractions(Fraction(-1), Fraction(100), max_denominator=90000))]
    for step in steps[:-1]:
        times.append(times[-1] + step)
    return frames_at(times, steps[-1])


@given(frames=timelines(), rate=RATES, is_part=st.booleans())
def test_ticks_of_a_constant_rate_are_covered_once_in_order(frames: list[Frame], rate: Fraction, is_part: bool) -> None:
    origin = frames[0].time
    start = origin if is_part else Fraction(0)
    pace = Pace(origin, start, rate)
    places = [place for frame in frames for place in pace.places(frame)]
    assert [time for time, _ in places] == [origin - start + number / rate for number in range(len(places))]
    assert all(duration == 1 / rate for _, duration in places)
    length = frames[-1].time + frames[-1].duration - origin
    assert abs(len(places) / rate - length) <= Fraction(1, 2) / rate


@given(frames=timelines(), is_part=st.booleans())
def test_without_a_rate_every_frame_keeps_its_time(frames: list[Frame], is_part: bool) -> None:
    start = frames[0].time if is_part else Fraction(0)
    places = [place for frame in frames for place in Pace(frames[0].time, start).places(frame)]
    assert places == [(frame.time - start, frame.duration) for frame in frames]
    assert all(one[0] < other[0] for one, other in pairwise(places))


@given(rate=RATES, count=st.integers(1, 100), origin=st.fractions(Fraction(0), Fraction(9), max_denominator=1000))
def test_a_source_of_the_same_rate_is_left_as_it_is(rate: Fraction, count: int, origin: Fraction) -> None:
    frames = frames_at([origin + number / rate for number in range(count)], 1 / rate)
    pace = Pace(origin, Fraction(0), rate)
    assert [pace.places(frame) for frame in frames] == [((frame.time, frame.duration),) for frame in frames]


def test_half_and_double_rate() -> None:
    frames = frames_at([Fraction(number, 30) for number in range(6)], Fraction(1, 30))
    assert [len(Pace(Fraction(0), rate=Fraction(15)).places(frame)) for frame in frames] == [1, 0, 1, 0, 1, 0]
    assert [len(Pace(Fraction(0), rate=Fraction(60)).places(frame)) for frame in frames] == [2] * 6
