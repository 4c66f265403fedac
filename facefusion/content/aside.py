"""Where the content filter judges: on a thread beside the work on frames, or before that goes on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from facefusion.content.base import Judgement, Opinion
from facefusion.core.errors import ResourceError


def at_once(judgement: Judgement) -> Future[Opinion]:
    """Judge before anything else is done."""
    judged: Future[Opinion] = Future()
    judged.set_result(judgement())
    return judged


class JudgingThread:
    """Judges one picture after the other on a thread of its own. A context manager; its end waits for the one begun.

    Args:
        busy: counts the time inside its block as the filter's.
    """

    def __init__(self, busy: Callable[[], AbstractContextManager[None]]) -> None:
        self._busy = busy
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="content")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)

    def begin(self, judgement: Judgement) -> Future[Opinion]:
        """Begin to judge what was looked at.

        Raises:
            ResourceError: the system gives no thread for it.
        """
        try:
            return self._executor.submit(self._judged, judgement)
        except RuntimeError as error:  # Python's own word for a thread that the system refuses
            raise ResourceError(
                "the system starts no thread for the content filter",
                "Lower --execution-thread-count, or raise the limit.",
            ) from error

    def _judged(self, judgement: Judgement) -> Opinion:
        with self._busy():
            return judgement()
