from __future__ import annotations

import threading

import pytest

from facefusion.core.errors import Stopped
from facefusion.core.stop import StopToken


def test_nothing_stops_until_somebody_asks():
    stop = StopToken()
    stop.check()
    assert not stop.requested
    assert stop.reason == ""


def test_a_wait_ends_with_the_stop():
    stop = StopToken()
    threading.Timer(0.05, stop.request, ("Ctrl-C",)).start()
    with pytest.raises(Stopped, match=r"^Ctrl-C$"):
        stop.sleep(60)
    with pytest.raises(Stopped):
        stop.sleep(0)
    StopToken().sleep(0.01)


def test_the_first_reason_counts_and_no_broad_handler_swallows_the_stop():
    stop = StopToken()
    stop.request("Ctrl-C")
    stop.request("again")
    assert stop.requested
    with pytest.raises(Stopped, match=r"^Ctrl-C$"):
        try:
            stop.check()
        except Exception:  # noqa: BLE001 - shows that it passes by
            pytest.fail("swallowed")
