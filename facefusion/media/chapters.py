"""Chapters of the source in the result, clipped and moved where the result is a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from facefusion.media.span import Span

if TYPE_CHECKING:
    from av.container.core import Chapter

NANOSECOND = Fraction(1, 1_000_000_000)
"""Clock of a chapter that names none."""


def chapters_within(chapters: Sequence[Chapter], span: Span) -> list[Chapter]:
    """The chapters of a part, in its own times; one that spans a cut is shortened."""
    kept: list[Chapter] = []
    for chapter in chapters:
        base = chapter["time_base"] or NANOSECOND
        left = span.clip(chapter["start"] * base, chapter["end"] * base)
        if left is not None:
            start, end = (round(time / base) for time in left)
            kept.append({**chapter, "start": max(start, 0), "end": end, "time_base": base})
    return kept
