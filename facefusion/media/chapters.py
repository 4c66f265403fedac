"""Chapters of the source in the result, clipped and moved where the result is a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from facefusion.media.span import Span

if TYPE_CHECKING:
    from av.container.core import Chapter

NANOSECOND = Fraction(1, 1_000_000_000)
"""Clock of a chapter that names none."""

JOINT = Fraction(1, 500)
"""Seconds by which containers may have rounded a chapter's time."""


def chapters_within(chapters: Sequence[Chapter], span: Span, told: Iterable[str] = ()) -> list[Chapter]:
    """The chapters of a part, in its own times; one that spans a cut is shortened.

    Args:
        chapters: of the whole.
        span: the part.
        told: names of tags that are told of the whole file, and that no chapter contradicts.
    """
    names = {name.lower() for name in told}
    kept: list[Chapter] = []
    for chapter in chapters:
        base = chapter["time_base"] or NANOSECOND
        left = span.clip(chapter["start"] * base, chapter["end"] * base)
        if left is not None:
            start, end = (round(time / base) for time in left)
            tags = {name: value for name, value in chapter["metadata"].items() if name.lower() not in names}
            kept.append({**chapter, "start": max(start, 0), "end": end, "time_base": base, "metadata": tags})
    return kept


def chapters_in_line(
    videos: Iterable[tuple[Sequence[Chapter], Span, Fraction]], told: Iterable[str] = ()
) -> list[Chapter]:
    """The chapters of videos that are put one after the other; one that goes on in the next video is one again.

    Args:
        videos: of each, its chapters, the part that is shown, and when that begins in the result, in seconds.
        told: as of :func:`chapters_within`.
    """
    line: list[Chapter] = []
    for chapters, span, offset in videos:
        for chapter in chapters_within(chapters, span, told):
            base = chapter["time_base"] or NANOSECOND
            moved: Chapter = {**chapter, "start": _moved(chapter["start"], base, offset), "id": len(line)}
            moved["end"] = _moved(chapter["end"], base, offset)
            if line and _goes_on(line[-1], moved, offset):
                line[-1] = {**line[-1], "end": moved["end"]}
            else:
                line.append(moved)
    return line


def _moved(stamp: int, base: Fraction, offset: Fraction) -> int:
    return stamp + round(offset / base)


def _goes_on(before: Chapter, after: Chapter, joint: Fraction) -> bool:
    """Whether two chapters that meet at a joint are parts of one."""
    if before["metadata"] != after["metadata"] or before["time_base"] != after["time_base"]:
        return False
    base = before["time_base"] or NANOSECOND
    return abs(before["end"] * base - joint) <= JOINT and abs(after["start"] * base - joint) <= JOINT
