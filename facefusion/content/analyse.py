"""Refusing targets that show sexual content, within the pass that works on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TypeAlias, cast

from facefusion.content.base import ContentModel, Judgement, Opinion
from facefusion.core.errors import ContentRefusedError
from facefusion.core.report import ContentReport
from facefusion.core.values import Frame
from facefusion.core.wording import counted
from facefusion.observability.stages import WAIT_FOR_CONTENT, stage

SHARE_LIMIT = 0.1
"""A target is refused when more than this share of the pictures looked at is counted. FaceFusion's, too."""

INTERVAL = 1.0
"""Seconds between the pictures that are looked at."""

KEPT_TIMES = 20
"""So many of the times of counted pictures are kept, the first ones, and"""
SHOWN_TIMES = 3
"""so many are said."""

Aside: TypeAlias = Callable[[Judgement], Future[Opinion]]
"""Begins to judge a picture beside the other work, or does it at once."""


class ContentAnalyser:
    """Looks at about one frame a second of a video, or at the one picture of an image.

    Frames come in order, untouched; one thread. What was looked at is judged beside the work on the frames that follow,
    one picture after the other: what comes of it is the same as if they had waited. A refusal comes as soon as it is
    known that what is left could not avert it, and before another frame is looked at; once it cannot come any more, no
    further frame is. Where a file is longer than its header says, what the header says is passed over, and only
    :meth:`finish` decides.

    Args:
        model: judges one picture.
        aside: where pictures are judged.
        path: the target, for messages.
        duration: of the part of the target that is worked on, in seconds, 0 for an image; none where unknown, and then
            only :meth:`finish` decides.
        origin: the time of a target's first frame in seconds, from which a player counts.
        imported: names of those networks that a user brought in, for the report.
    """

    def __init__(
        self,
        model: ContentModel,
        aside: Aside,
        path: str,
        duration: float | None,
        origin: float = 0.0,
        imported: Sequence[str] = (),
    ) -> None:
        self._model = model
        self._aside = aside
        self._path = path
        self._is_image = duration == 0
        self._expected = None if duration is None else max(1, math.ceil(duration / INTERVAL))
        self._origin = origin
        self._imported = tuple(imported)
        self._start: float | None = None
        self._next = -math.inf
        self._looked_at = 0
        self._counted = 0
        self._times: list[float] = []
        self._highest: dict[str, float] = {}
        self._pending: tuple[float, Future[Opinion]] | None = None
        """What was looked at and is not judged yet, and when it is shown."""

    @property
    def report(self) -> ContentReport:
        """What was seen and judged so far; after :meth:`finish` all of it."""
        return ContentReport(
            self._looked_at, self._counted, tuple(self._times), dict(self._highest), self._model.limits, self._imported
        )

    def observe(self, frame: Frame) -> None:
        """Look at the next frame, if its time has come.

        Raises:
            ContentRefusedError: the target is refused.
        """
        time = float(frame.time)
        if time >= self._next:
            self._settle()
            self._look_if_needed(frame, time)
        if self._pending is not None and self._pending[1].done():
            self._settle()

    def state(self) -> Mapping[str, object]:
        """What was seen so far, for :meth:`restore`; fit for JSON.

        Raises:
            ContentRefusedError: the target is refused.
        """
        self._settle()
        return {
            "start": self._start,
            "next": self._next if math.isfinite(self._next) else None,
            "looked_at": self._looked_at,
            "counted": self._counted,
            "times": list(self._times),
            "highest": dict(self._highest),
        }

    def restore(self, state: Mapping[str, object]) -> None:
        """Go on from what :meth:`state` gave in an earlier run.

        Raises:
            KeyError: it is something else.
        """
        self._pending = None
        following = cast("float | None", state["next"])
        self._start = cast("float | None", state["start"])
        self._next = -math.inf if following is None else following
        self._looked_at = cast("int", state["looked_at"])
        self._counted = cast("int", state["counted"])
        self._times = list(cast("Sequence[float]", state["times"]))
        self._highest = dict(cast("Mapping[str, float]", state["highest"]))

    def finish(self) -> None:
        """Decide on what was seen, after the last frame and before the result is put in place.

        Raises:
            ContentRefusedError: the target is refused.
        """
        self._settle()
        if self._counted > SHARE_LIMIT * self._looked_at and not self._is_cleared():
            raise self._refusal()

    def _look_if_needed(self, frame: Frame, time: float) -> None:
        """Look at a frame whose time has come, unless nothing depends on it; all before it is settled."""
        self._start = time if self._start is None else self._start
        if self._expected is not None and time - self._start >= self._expected * INTERVAL:
            self._expected = None
        if self._is_cleared():
            return
        self._next = self._start + INTERVAL * (math.floor((time - self._start) / INTERVAL) + 1)
        self._pending = time - self._origin, self._aside(self._model.look(frame.picture))

    def _settle(self) -> None:
        """Count what was looked at last, once it is judged.

        Raises:
            ContentRefusedError: that settles what becomes of the target.
        """
        if self._pending is None:
            return
        (shown_at, judged), self._pending = self._pending, None
        with stage(WAIT_FOR_CONTENT):
            opinion = judged.result()
        self._count(opinion, shown_at)
        if self._expected is not None and self._counted > SHARE_LIMIT * max(self._expected, self._looked_at):
            raise self._refusal()

    def _count(self, opinion: Opinion, shown_at: float) -> None:
        self._looked_at += 1
        for name, score in opinion.scores.items():
            self._highest[name] = max(score, self._highest.get(name, score))
        if opinion.counts:
            self._counted += 1
            if len(self._times) < KEPT_TIMES:
                self._times.append(round(shown_at, 3))

    def _is_cleared(self) -> bool:
        """Whether even if all that is left were counted the target would pass."""
        if self._expected is None:
            return False
        left = max(self._expected - self._looked_at, 0)
        return self._looked_at > 0 and self._counted + left <= SHARE_LIMIT * self._expected

    def _refusal(self) -> ContentRefusedError:
        if self._is_image:
            seen = "the picture most likely shows sexual content"
        else:
            share = f"{self._counted} of {counted(self._looked_at, 'picture')} looked at"
            show = "shows" if self._counted == 1 else "show"
            where = times_in_words(self._times, self._counted)
            seen = f"{share} most likely {show} sexual content, {where}"
        return ContentRefusedError(
            f"{self._path} was refused by the content filter: {seen}",
            "Nothing was written. Use another target.",
            self.report,
        )


def times_in_words(times: Sequence[float], count: int) -> str:
    """When pictures were shown: ``at 0:12, 0:13 and 4 more``.

    Args:
        times: the first ones, in seconds from the beginning of the target; at least one.
        count: of all.
    """
    shown = [_clock(time) for time in times[:SHOWN_TIMES]]
    if count > len(shown):
        return f"at {', '.join(shown)} and {count - len(shown)} more"
    return f"at {' and '.join(filter(None, (', '.join(shown[:-1]), shown[-1])))}"


def _clock(seconds: float) -> str:
    """As players show it: ``0:07``, ``1:02:03``."""
    minutes, rest = divmod(max(int(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
