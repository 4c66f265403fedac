"""What a doubtful find needs to be a face."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.faces.belief import AT_ONCE, CERTAINTY, SLACK, SPAN, SURE, Belief, is_face, log_odds
from facefusion.faces.detect.base import ScoreScale

SCORES = ScoreScale(clear=0.9, turned=0.8, sample=0.8, doubtful=0.75)
MIDDLE = 0.85
"""Half as doubtful as the poorest."""


def presence_of(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


@pytest.mark.parametrize(
    ("score", "odds", "held"),
    [
        pytest.param(0.9, -3.0, True, id="nothing is asked of a clear find"),
        pytest.param(0.8, SURE + 0.1, True, id="of a poor one that the mesh is sure"),
        pytest.param(0.8, SURE - 0.1, False, id="and no less"),
        pytest.param(0.3, SURE + 0.1, True, id="and no more of the poorest"),
        pytest.param(MIDDLE, SURE / 2 + 0.1, True, id="half of one between"),
        pytest.param(MIDDLE, SURE / 2 - 0.1, False, id="and no less than half"),
    ],
)
def test_first_reading_alone(score: float, odds: float, held: bool) -> None:
    belief = Belief()
    belief.begin(presence_of(odds), score, SCORES)
    assert belief.held is held


@pytest.mark.parametrize(
    ("score", "odds", "face"),
    [
        pytest.param(0.9, -3.0, True, id="nothing is asked of a clear find"),
        pytest.param(0.8, AT_ONCE + 0.1, True, id="less of a poor one than over time"),
        pytest.param(0.5, AT_ONCE - 0.1, False, id="but something"),
        pytest.param(MIDDLE, AT_ONCE / 2 + 0.1, True, id="half of one between"),
    ],
)
def test_picture_on_its_own(score: float, odds: float, face: bool) -> None:
    assert is_face(presence_of(odds), score, SCORES) is face


def test_who_is_recognised_is_a_face_until_the_mean_falls() -> None:
    belief = Belief()
    belief.begin(presence_of(SURE - SLACK + 0.1), 0.5, SCORES, known=True)
    assert belief.held
    belief.begin(presence_of(SURE - SLACK - 0.1), 0.5, SCORES, known=True)
    assert not belief.held


def test_readings_must_be_sure_for_a_while() -> None:
    belief = Belief()
    belief.begin(0.5, 0.5, SCORES)
    held = []
    for _ in range(40):
        belief.hear(1.0, 0.5, SCORES, 0.04)
        held.append(belief.held)
    # 7 (1 - exp(-t / 0.25)) passes 6.5 at 0.66 s.
    assert held.index(True) == math.ceil(SPAN * math.log(CERTAINTY / (CERTAINTY - SURE)) / 0.04) - 1
    assert all(held[held.index(True) :])


def test_what_is_sure_by_turns_is_no_face() -> None:
    """As the presence on the back of a head went, in a real clip."""
    belief = Belief()
    belief.begin(0.969, 0.51, SCORES)
    for presence in (0.996, 0.963, 0.893, 1.0, 0.923) * 20:
        belief.hear(presence, 0.55, SCORES, 0.04)
        assert not belief.held


def test_hand_that_passes_takes_no_face_away() -> None:
    belief = Belief()
    belief.begin(1.0, 0.6, SCORES)
    for presence in (0.9, 0.6, 0.4, 0.6, 0.9):
        belief.hear(presence, 0.6, SCORES, 0.04)
        assert belief.held


def test_face_that_turns_away_is_none_after_a_while() -> None:
    belief = Belief()
    belief.begin(1.0, 0.95, SCORES)
    for _ in range(25):
        belief.hear(0.7, 0.6, SCORES, 0.04)
    assert not belief.held


def test_better_score_counts_at_once() -> None:
    belief = Belief()
    belief.begin(0.6, 0.7, SCORES)
    belief.hear(0.6, 0.93, SCORES, 0.0)
    assert belief.held


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(1, 5))
def test_frame_rate_does_not_matter(readings: list[float], factor: int) -> None:
    slow, fast = Belief(), Belief()
    for belief in (slow, fast):
        belief.begin(0.5, 0.5, SCORES)
    for presence in readings:
        slow.hear(presence, 0.5, SCORES, 0.1)
        for _ in range(factor):
            fast.hear(presence, 0.5, SCORES, 0.1 / factor)
    assert fast.sureness == pytest.approx(slow.sureness, abs=1e-9)


@given(st.floats(0, 1))
def test_log_odds_are_bounded_and_undo_the_logistic_function(presence: float) -> None:
    odds = log_odds(presence)
    assert -CERTAINTY <= odds <= CERTAINTY
    if abs(odds) < CERTAINTY:
        assert presence_of(odds) == pytest.approx(presence)
