from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from facefusion.media.damage import Damage
from facefusion.media.timeline import settle

TICK = Fraction(1, 1000)
STEP = Fraction(1, 25)


def settled(milliseconds, *, tick=TICK, origin=Fraction(0)):
    damage = Damage()
    stamped = [(index, None if time is None else Fraction(time, 1000)) for index, time in enumerate(milliseconds)]
    frames = list(settle(stamped, origin=origin, step=STEP, tick=tick, damage=damage))
    assert [index for index, _ in frames] == list(range(len(milliseconds)))
    return [time * 1000 for _, time in frames], damage


def test_good_times_are_kept():
    assert settled([0, 40, 75, 500, 9000]) == ([0, 40, 75, 500, 9000], Damage())


def test_negative_times_are_kept():
    assert settled([-80, -40, 0]) == ([-80, -40, 0], Damage())


def test_a_frame_without_a_time_lies_between_its_neighbours():
    assert settled([0, None, 80, None, None, 200]) == ([0, 40, 80, 120, 160, 200], Damage(times=3))


def test_a_repeated_time_and_one_that_goes_back_lie_between_their_neighbours():
    assert settled([0, 40, 40, 120]) == ([0, 40, 80, 120], Damage(times=1))
    assert settled([0, 40, 80, 60, 160]) == ([0, 40, 80, 120, 160], Damage(times=1))


def test_frames_before_the_first_time_lead_up_to_it():
    assert settled([None, None, 100, 140]) == ([20, 60, 100, 140], Damage(times=2))


def test_a_stream_without_times_has_the_usual_rate():
    assert settled([None] * 7, origin=Fraction(1)) == ([1000 + 40 * index for index in range(7)], Damage(times=7))


def test_the_usual_rate_does_not_drift():
    damage = Damage()
    stamped = [(index, None) for index in range(3001)]
    frames = list(settle(stamped, origin=Fraction(0), step=Fraction(1001, 30000), tick=TICK, damage=damage))
    assert frames[-1][1] == Fraction(100100, 1000)


def test_a_clock_that_jumps_back_goes_on():
    times, damage = settled([5000, 5040, 5080, 0, 40, 80])
    assert times == [5000, 5040, 5080, 5120, 5160, 5200]
    assert damage == Damage(jumps=1)


def test_a_time_far_ahead_of_both_its_neighbours_is_not_believed():
    assert settled([0, 40, 95_000_000, 120, 160]) == ([0, 40, 80, 120, 160], Damage(times=1))


def test_a_long_pause_is_believed_once_the_next_frame_confirms_it():
    assert settled([0, 40, 60_000, 60_040]) == ([0, 40, 60_000, 60_040], Damage())
    assert settled([0, 15_000, 30_000, 45_000]) == ([0, 15_000, 30_000, 45_000], Damage())


def test_many_frames_at_one_time_are_caught_up_with():
    times, _ = settled([0] + [40] * 10 + [80 + 40 * index for index in range(40)])
    assert times[-1] == 80 + 40 * 39
    assert all(one < later for one, later in pairwise(times))


@given(
    st.lists(st.none() | st.integers(-100_000, 100_000), max_size=40),
    st.sampled_from([Fraction(1, 1000), Fraction(1, 25), Fraction(1, 90000)]),
)
def test_times_always_rise_and_are_whole_ticks(milliseconds, tick):
    on_ticks = [None if time is None else round(Fraction(time, 1000) / tick) * tick * 1000 for time in milliseconds]
    times, _ = settled(on_ticks, tick=tick)
    assert all(one < later for one, later in pairwise(times))
    assert all((time / 1000 / tick).denominator == 1 for time in times)


@given(st.lists(st.integers(1, 9_000), max_size=40), st.integers(-5_000, 5_000))
def test_rising_times_are_never_touched(gaps, start):
    milliseconds = [start]
    for gap in gaps:
        milliseconds.append(milliseconds[-1] + gap)
    assert settled(milliseconds) == (milliseconds, Damage())
