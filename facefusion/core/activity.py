"""How far work got, for whoever wonders whether it gets on at all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Activity:
    """What models did up to now, and what they are at."""

    done: int = 0
    """Changes with every run of a graph that ends, and with every model that was loaded. Not a count."""
    is_loading: bool = False
    """Whether a model is being loaded, which on a card may mean compiled: many minutes without anything done."""
