"""Overlaps, suppression and pairing of boxes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from facefusion.vision.boxes import (
    areas,
    box_overlap,
    enclosing_box,
    intersection_over_union,
    pair_best_first,
    suppress_overlaps,
)


@st.composite
def boxes_and_scores(draw):
    count = draw(st.integers(0, 12))
    corners = draw(hnp.arrays(np.float32, (count, 2), elements=st.integers(0, 30)))
    sides = draw(hnp.arrays(np.float32, (count, 2), elements=st.integers(1, 20)))
    scores = draw(hnp.arrays(np.float32, count, elements=st.floats(0, 1, width=16)))
    return np.concatenate((corners, corners + sides), axis=1), scores


def box(*edges):
    return np.array(edges, np.float32)


def test_known_overlaps():
    first = np.array([(0, 0, 10, 10)], np.float32)
    others = np.array([(0, 0, 10, 10), (5, 0, 15, 10), (10, 0, 20, 10), (2, 2, 4, 4), (50, 50, 40, 40)], np.float32)
    assert intersection_over_union(first, others)[0] == pytest.approx([1, 50 / 150, 0, 4 / 100, 0])
    assert areas(others).tolist() == [100, 100, 100, 4, 0]
    assert box_overlap(box(0, 0, 2, 2), box(1, 1, 3, 3)) == pytest.approx(1 / 7)


def test_boxes_beyond_all_measure_overlap_as_any():
    huge = box(-1e30, -1e30, 1e30, 1e30)
    half = box(-1e30, -1e30, 1e30, 0)
    assert intersection_over_union(np.stack([huge]), np.stack([huge, half, box(0, 0, 1, 1)])).tolist() == [[1, 0.5, 0]]


def test_two_empty_boxes_do_not_overlap():
    nothing = np.zeros((1, 4), np.float32)
    assert intersection_over_union(nothing, nothing).tolist() == [[0]]


@given(boxes_and_scores(), st.floats(0, 1))
def test_suppression(data, limit):
    boxes, scores = data
    kept = suppress_overlaps(boxes, scores, limit)
    overlaps = intersection_over_union(boxes, boxes)
    assert list(scores[kept]) == sorted(scores[kept], reverse=True)
    for position, index in enumerate(kept):
        assert all(overlaps[index, other] <= limit for other in kept[:position])
    for index in set(range(len(boxes))) - set(kept.tolist()):
        better = [other for other in kept if scores[other] >= scores[index]]
        assert any(overlaps[index, other] > limit for other in better)


def test_suppression_prefers_the_earlier_of_equals():
    boxes = np.array([(0, 0, 10, 10), (0, 0, 10, 10), (30, 0, 40, 10)], np.float32)
    assert suppress_overlaps(boxes, np.array((0.5, 0.5, 0.9), np.float32), 0.3).tolist() == [2, 0]


def test_pairs_are_made_best_first():
    scores = np.array([(0.9, 0.8), (0.85, 0.1)], np.float32)
    assert pair_best_first(scores, 0.2) == {0: 0}
    assert pair_best_first(scores, 0.05) == {0: 0, 1: 1}
    assert pair_best_first(np.zeros((0, 3), np.float32), 0.0) == {}


@given(hnp.arrays(np.float32, st.tuples(st.integers(0, 6), st.integers(0, 6)), elements=st.floats(0, 1, width=16)))
def test_pairs_are_one_to_one_and_stable(scores):
    pairs = pair_best_first(scores, 0.3)
    assert len(set(pairs.values())) == len(pairs)
    for row, column in np.argwhere(scores > 0.3).tolist():
        better_for_row = row in pairs and scores[row, pairs[row]] >= scores[row, column]
        rivals = [other for other, taken in pairs.items() if taken == column]
        better_for_column = any(scores[other, column] >= scores[row, column] for other in rivals)
        assert better_for_row or better_for_column


def test_enclosing_box_leaves_depth_out():
    points = np.array([(3, 4, -100), (1, 9, 5), (2, 2, 100)], np.float32)
    assert enclosing_box(points).tolist() == [1, 2, 3, 9]
