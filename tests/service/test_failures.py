"""What comes of a unit that was not done."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from facefusion.core.errors import (
    ContentRefusedError,
    DiskFullError,
    MediaError,
    ModelError,
    ResourceError,
    SegmentError,
    VideoMemoryError,
)
from facefusion.service.failures import Failures
from facefusion.service.leases import JOIN, PLAN, ROOM_SECONDS, Lease, Unit
from facefusion.service.records import JobState
from tests.service.jobs import job

pytestmark = pytest.mark.service

LARGE = VideoMemoryError("the models take 3 GB, and a card has 2 GB", "Use another.", needed=3 << 30)
TAKEN = VideoMemoryError("the models take 3 GB, and 1 GB are free", "Wait.", needed=3 << 30, may_pass=True)
SHORT = VideoMemoryError("mesh: no memory left to run on cuda", "Use less.")


class Ledger:
    """Takes down what a unit came to; whoever else there is takes what is passed on."""

    def __init__(self, others: int = 0) -> None:
        self.others = others
        self.told: list[tuple[object, ...]] = []
        self.missed: list[str] = []

    def redo(self, lease, number):
        self.told.append(("redo", number))
        return True

    def hand_back(self, lease, *, pause=0.0, failed=False):
        self.told.append(("again", pause, failed))
        return True

    def narrow(self, lease):
        self.told.append(("narrow",))
        return True

    def pass_on(self, lease, breed):
        self.told.append(("pass on", breed))
        return self.others > 0

    def fail(self, lease, state, fault):
        self.told.append((state, fault.fault))
        return True

    def miss(self, fault):
        self.missed.append(fault)


def come_to(error, *, name="0", tries=0, together=1, alone=False, others=0):
    ledger = Ledger(others)
    renderer = SimpleNamespace(together=together, breed="b7")
    failures = Failures(ledger, renderer, ledger, lambda ask: ask())  # type: ignore[arg-type]
    assert failures.commit(Lease(Unit("job1", name), "7", tries), job(alone=alone), error, None)
    return ledger


@pytest.mark.parametrize(
    ("error", "options", "told"),
    [
        (MediaError("damaged", ""), {}, [(JobState.FAILED, "damaged")]),
        (ContentRefusedError("refused", ""), {}, [(JobState.REJECTED, "refused")]),
        (ZeroDivisionError(), {}, [(JobState.FAILED, "unexpected ZeroDivisionError")]),
        (ModelError("away", ""), {}, [("again", 5.0, True)]),
        (ModelError("away", ""), {"tries": 1}, [("again", 10.0, True)]),
        (ModelError("away", ""), {"tries": 2}, [(JobState.FAILED, "away")]),
        (SegmentError("damaged", "", number=4), {"name": JOIN}, [("redo", 4)]),
        (SegmentError("damaged", "", number=4), {"name": JOIN, "tries": 2}, [(JobState.FAILED, "damaged")]),
        (ResourceError("no memory", ""), {}, [(JobState.FAILED, "no memory")]),
        (DiskFullError("full", ""), {}, [(JobState.FAILED, "full")]),
        (DiskFullError("full", ""), {"name": JOIN}, [("again", 60.0, True)]),
        (DiskFullError("full", ""), {"name": JOIN, "tries": 1}, [("again", 120.0, True)]),
        (DiskFullError("full", ""), {"name": JOIN, "tries": 2}, [(JobState.FAILED, "full")]),
    ],
)
def test_what_may_pass_is_tried_again_for_a_while(error, options, told):
    assert come_to(error, **options).told == told


@pytest.mark.parametrize("options", [{}, {"tries": 9}, {"name": PLAN}, {"together": 4}, {"others": 1}])
def test_a_device_that_others_fill_is_waited_for_however_long_that_takes(options):
    ledger = come_to(TAKEN, **options)
    assert ledger.told == [("again", ROOM_SECONDS, False)]
    assert ledger.missed == ["the models take 3 GB, and 1 GB are free"]


@pytest.mark.parametrize(
    ("error", "options", "told"),
    [
        (LARGE, {"others": 1}, [("pass on", "b7")]),
        (LARGE, {"others": 1, "together": 4}, [("pass on", "b7")]),
        (LARGE, {"together": 4}, [("pass on", "b7"), ("narrow",)]),
        (LARGE, {"together": 4, "alone": True}, [("pass on", "b7"), (JobState.FAILED, LARGE.fault)]),
        (LARGE, {}, [("pass on", "b7"), (JobState.FAILED, LARGE.fault)]),
        (SHORT, {"together": 4, "others": 1}, [("narrow",)]),
        (SHORT, {"together": 4, "alone": True, "others": 1}, [(JobState.FAILED, SHORT.fault)]),
        (SHORT, {"others": 1}, [(JobState.FAILED, SHORT.fault)]),
    ],
)
def test_a_device_that_is_too_small_is_left_for_a_larger_one_and_then_for_less_at_a_time(error, options, told):
    assert come_to(error, **options).told == told


def test_no_folder_of_the_machine_is_told_before_there_are_files_either():
    ledger = Ledger(0)
    private = (Path("/my disk/temp"),)
    failures = Failures(ledger, SimpleNamespace(), ledger, lambda ask: ask(), private)  # type: ignore[arg-type]
    error = MediaError("/my disk/temp/job-1/x.mp4 is damaged", "")
    assert failures.commit(Lease(Unit("job1", "0"), "7", 0), job(), error, None)
    assert ledger.told == [(JobState.FAILED, "a path of the machine's is damaged")]
