from __future__ import annotations

import threading

from facefusion.inference.nvml import CardMemory
from facefusion.inference.video_memory import VideoMemoryMeter


def test_cards_are_added_up_and_the_highest_sample_is_kept():
    left = {"a": [3, 9, 4], "b": [10, 20, 30]}

    def read(card):
        amount = left[card].pop(0)
        return CardMemory(free=0, used=amount) if card == "a" else CardMemory(free=0, used=1000, own=amount)

    meter = VideoMemoryMeter(("a", "b", "a"), read=read)
    assert [meter.sample(), meter.sample()] == [13, 29]
    assert meter.peak == 34
    assert left == {"a": [], "b": []}


def test_without_a_card_that_tells_there_is_no_thread_and_no_figure():
    asked: list[str] = []
    before = threading.active_count()
    with VideoMemoryMeter(("", "silent"), read=asked.append) as meter:
        assert threading.active_count() == before
        assert meter.peak is None
    assert set(asked) == {"silent"}


def test_its_thread_samples_and_is_gone_at_the_end():
    enough = threading.Event()
    count = 0

    def read(card):
        nonlocal count
        count += 1
        if count >= 5:
            enough.set()
        return CardMemory(free=0, used=count)

    before = threading.active_count()
    with VideoMemoryMeter(("a",), interval=0.001, read=read) as meter:
        assert enough.wait(5)
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    assert meter.peak == count
