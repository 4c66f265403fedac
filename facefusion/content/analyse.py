"""Refusing targets that show sexual content, within the pass that works on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from facefusion.content.base import ContentModel
from facefusion.core.errors import ContentRefusedError
from facefusion.core.values import Frame

SCORE_LIMIT = 0.8
"""A picture that scores more is counted. Over 77 harmless photos the highest score was 0.24."""

SHARE_LIMIT = 0.1
"""A target is refused when more than this share of the pictures looked at is counted."""

INTERVAL = 1.0
"""Seconds between the pictures that are looked at."""


class ContentAnalyser:
    """Looks at about one frame a second of a video, or at the one picture of an image.

    Frames come in order, untouched; one thread. A refusal comes as soon as what is left could not avert it; once it
    cannot come any more, no further frame is looked at.

    Args:
        model: judges one picture.
        path: the target, for messages.
        duration: of the target in seconds, 0 for an image; none where unknown, and then only :meth:`finish` decides.
    """

    def __init__(self, model: ContentModel, path: str, duration: float | None) -> None:
        self._model = model
        self._path = path
        self._expected = None if duration is None else max(1, math.ceil(duration / INTERVAL))
        self._start: float | None = None
        self._next = -math.inf
        self.looked_at = 0
        self.counted = 0

    def observe(self, frame: Frame) -> None:
        """Look at the next frame, if its time has come.

        Raises:
            ContentRefusedError: the target is refused.
        """
        time = float(frame.time)
        if time < self._next or self._is_cleared():
            return
        self._start = time if self._start is None else self._start
        self._next = self._start + INTERVAL * (math.floor((time - self._start) / INTERVAL) + 1)
        self.looked_at += 1
        self.counted += self._model.score(frame.picture) > SCORE_LIMIT
        if self._expected is not None and self.counted > SHARE_LIMIT * max(self._expected, self.looked_at):
            raise self._refusal()

    def state(self) -> Mapping[str, object]:
        """What was seen so far, for :meth:`restore`; fit for JSON."""
        return {
            "start": self._start,
            "next": self._next if math.isfinite(self._next) else None,
            "looked_at": self.looked_at,
            "counted": self.counted,
        }

    def restore(self, state: Mapping[str, object]) -> None:
        """Go on from what :meth:`state` gave in an earlier run.

        Raises:
            KeyError: it is something else.
        """
        following = cast("float | None", state["next"])
        self._start = cast("float | None", state["start"])
        self._next = -math.inf if following is None else following
        self.looked_at = cast("int", state["looked_at"])
        self.counted = cast("int", state["counted"])

    def finish(self) -> None:
        """Decide on what was seen, after the last frame and before the result is put in place.

        Raises:
            ContentRefusedError: the target is refused.
        """
        if self.counted > SHARE_LIMIT * self.looked_at and not self._is_cleared():
            raise self._refusal()

    def _is_cleared(self) -> bool:
        """Whether even if all that is left were counted the target would pass."""
        if self._expected is None:
            return False
        left = max(self._expected - self.looked_at, 0)
        return self.looked_at > 0 and self.counted + left <= SHARE_LIMIT * self._expected

    def _refusal(self) -> ContentRefusedError:
        seen = "the picture" if self._expected == 1 else f"{self.counted} of {self.looked_at} pictures looked at"
        return ContentRefusedError(
            f"{self._path} was refused by the content filter: {seen} most likely shows sexual content",
            "Nothing was written. Use another target.",
        )
