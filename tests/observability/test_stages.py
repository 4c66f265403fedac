from __future__ import annotations

import threading

import pytest

from facefusion.observability import stages
from facefusion.observability.stages import StageClock, stage, staged


@pytest.fixture
def clocks(monkeypatch):
    """A wall clock and a processor clock that the test moves by hand."""

    class Hands:
        wall = 0.0
        processor = 0.0

        def perf_counter(self):
            return self.wall

        def thread_time(self):
            return self.processor

        def pass_(self, wall, processor=0.0):
            self.wall += wall
            self.processor += processor

    hands = Hands()
    monkeypatch.setattr(stages, "time", hands)
    return hands


def test_sums_per_stage(clocks):
    clock = StageClock()
    for seconds in (1.0, 2.0):
        with clock.measure("decode"):
            clocks.pass_(seconds, seconds / 2)
    with clock.measure("encode"):
        clocks.pass_(5.0)
    assert clock.seconds() == {"decode": 3.0, "encode": 5.0}
    assert clock.processor_seconds() == {"decode": 1.5, "encode": 0.0}


def test_an_inner_stage_is_taken_out_of_the_outer(clocks):
    clock = StageClock()
    with clock.measure("swap"):
        clocks.pass_(1.0, 1.0)
        with stage("paste"):
            clocks.pass_(4.0, 2.0)
            with stage("warp"):
                clocks.pass_(8.0, 4.0)
        clocks.pass_(16.0, 8.0)
    assert clock.seconds() == {"warp": 8.0, "paste": 4.0, "swap": 17.0}
    assert clock.processor_seconds() == {"warp": 4.0, "paste": 2.0, "swap": 9.0}


def test_a_stage_of_no_clock_counts_nowhere(clocks):
    clock = StageClock()
    with stage("paste"):
        clocks.pass_(1.0)
        with clock.measure("swap"):
            clocks.pass_(2.0)
    with stage("paste"):
        clocks.pass_(4.0)
    assert clock.seconds() == {"swap": 2.0}


def test_a_staged_function_gives_what_it_gave(clocks):
    @staged("paste")
    def paste(first, *, second):
        """Paste."""
        clocks.pass_(2.0)
        return first - second

    clock = StageClock()
    with clock.measure("swap"):
        assert paste(5, second=2) == 3
    assert clock.seconds() == {"paste": 2.0, "swap": 0.0}
    assert (paste.__name__, paste.__doc__) == ("paste", "Paste.")


def test_a_failure_ends_the_stage(clocks):
    clock = StageClock()
    with pytest.raises(ValueError, match="broken"), clock.measure("swap"):
        with pytest.raises(KeyError), stage("paste"):
            clocks.pass_(1.0)
            raise KeyError
        clocks.pass_(2.0)
        raise ValueError("broken")
    with stage("paste"):
        clocks.pass_(4.0)
    assert clock.seconds() == {"paste": 1.0, "swap": 2.0}


def test_threads_do_not_share_stages(clocks):
    clock = StageClock()

    def other():
        with stage("paste"):
            clocks.pass_(1.0)
        with clock.measure("encode"):
            clocks.pass_(2.0)

    with clock.measure("swap"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert clock.seconds() == {"encode": 2.0, "swap": 3.0}


def test_adds_what_was_measured_elsewhere():
    clock = StageClock()
    clock.add("encode", 1.0, 0.5)
    clock.add("encode", 2.0, 1.0)
    assert clock.seconds() == {"encode": 3.0}
    assert clock.processor_seconds() == {"encode": 1.5}
