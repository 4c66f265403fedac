"""In what two fingerprints differ, for people."""

from __future__ import annotations

from collections.abc import Mapping

CHANGES_SHOWN = 5
VALUE_SHOWN = 32
"""Longer values are digests and the like, which tell nobody anything."""


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """The names whose values differ, each with both values where they are short."""
    changed = [name for name in dict.fromkeys((*new, *old)) if old.get(name) != new.get(name)]
    shown = [_change(name, old.get(name), new.get(name)) for name in changed[:CHANGES_SHOWN]]
    more = len(changed) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _change(name: str, old: str | None, new: str | None) -> str:
    values = ["none" if value is None else value for value in (old, new)]
    return f"{name} ({values[0]} -> {values[1]})" if max(map(len, values)) <= VALUE_SHOWN else name
