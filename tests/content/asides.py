"""Where pictures are judged in tests."""

from __future__ import annotations

from concurrent.futures import Future

from facefusion.content.base import Judgement, Opinion


class _Late(Future[Opinion]):
    def __init__(self, judgement: Judgement) -> None:
        super().__init__()
        self._judgement = judgement

    def result(self, timeout: float | None = None) -> Opinion:
        if not self.done():
            self.set_result(self._judgement())
        return super().result(timeout)


def as_late_as_possible(judgement: Judgement) -> Future[Opinion]:
    """Judge when nothing else can be done without."""
    return _Late(judgement)
