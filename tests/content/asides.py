"""Where pictures are judged in tests."""

from __future__ import annotations

from concurrent.futures import Future

from facefusion.content.base import Judgement, Opinion


def at_once(judgement: Judgement) -> Future[Opinion]:
    """Judge before anything else is done."""
    judged: Future[Opinion] = Future()
    try:
        judged.set_result(judgement())
    except Exception as error:  # noqa: BLE001 - raised where the opinion is asked for
        judged.set_exception(error)
    return judged


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
