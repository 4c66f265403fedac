from __future__ import annotations

import pytest

from facefusion.core.errors import Stopped
from facefusion.core.stop import StopToken


def test_nothing_stops_until_somebody_asks():
    stop = StopToken()
    stop.check()
    assert not stop.requested
    assert stop.reason == ""


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
