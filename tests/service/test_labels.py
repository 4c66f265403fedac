"""No metric grows without end."""

from __future__ import annotations

from facefusion.service.labels import OTHER, BoundedLabel


def test_the_first_values_are_let_through_and_stay():
    label = BoundedLabel(2)
    assert [label(value) for value in ("a", "b", "c", "a", "d", "b")] == ["a", "b", OTHER, "a", OTHER, "b"]
