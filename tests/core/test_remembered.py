"""What is made once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from facefusion.core.remembered import Remembered


class Made:
    """Makes a text of a key, and counts."""

    def __init__(self, remembered: Remembered) -> None:
        self._remembered = remembered
        self.keys: list[str] = []

    def get(self, key: str, weight: int = 1) -> str:
        def make() -> str:
            self.keys.append(key)
            return f"made of {key}"

        return self._remembered.of(key, make, lambda _: weight)


def test_the_same_is_made_once():
    made = Made(Remembered())
    assert [made.get("a"), made.get("b"), made.get("a")] == ["made of a", "made of b", "made of a"]
    assert made.keys == ["a", "b"]


def test_what_was_not_used_for_longest_goes_by_weight():
    made = Made(Remembered(most_bytes=10))
    made.get("a", 4)
    made.get("b", 4)
    made.get("a", 4)
    made.get("c", 6)  # with b it would be too much
    assert made.keys == ["a", "b", "c"]
    made.get("a")
    made.get("c")
    assert made.keys == ["a", "b", "c"]
    made.get("b", 4)
    assert made.keys == ["a", "b", "c", "b"]


def test_what_is_too_heavy_is_not_kept():
    made = Made(Remembered(most_bytes=10))
    for _ in range(2):
        assert made.get("a", 11) == "made of a"
    assert made.keys == ["a", "a"]


def test_a_failure_is_not_kept():
    remembered, tries = Remembered(), []

    def fail() -> str:
        tries.append(1)
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            remembered.of("a", fail, len)
    assert len(tries) == 2


def test_all_of_it_can_be_forgotten():
    remembered = Remembered()
    made = Made(remembered)
    made.get("a")
    remembered.clear()
    made.get("a")
    assert made.keys == ["a", "a"]


def test_threads_agree():
    made = Made(Remembered())
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(made.get, "ab" * 40)) == {"made of a", "made of b"}
