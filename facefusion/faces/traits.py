"""What several looks at one person agree on, and whom the filters of the selection let through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self, TypeVar

from facefusion.core.errors import UsageError
from facefusion.core.values import Face, FaceTraits
from facefusion.faces.settings import FaceSelectorSettings

T = TypeVar("T", str, tuple[int, int])

LOOKS = 6
"""Looks at one person, after which no further one is taken."""

LEAD = 2
"""Looks by which another opinion must be ahead of the one held. With six looks an opinion changes once at most: after
the second has won by four to two or better, too few looks are left for a third, or the first again, to win."""

AUTO = "auto"
PREFIX = "face_selector_"


@dataclass(slots=True)
class TraitVote:
    """The traits of one person, steady over time."""

    traits: FaceTraits | None = None
    """What is held at present; none before the first look."""
    looks: list[FaceTraits] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        """Whether no further look is wanted."""
        return len(self.looks) >= LOOKS

    def hear(self, look: FaceTraits) -> None:
        """Count one more look."""
        self.looks.append(look)
        held = self.traits or look
        self.traits = FaceTraits(
            gender=_leading(held.gender, [one.gender for one in self.looks]),
            age=_leading(held.age, [one.age for one in self.looks]),
            race=_leading(held.race, [one.race for one in self.looks]),
        )


def _leading(held: T, looks: Sequence[T]) -> T:
    counts = Counter(looks)
    best, votes = counts.most_common(1)[0]
    return best if votes >= counts[held] + LEAD else held


class TraitFilter(NamedTuple):
    """Whom to work on, by their looks. None where it does not matter."""

    gender: str | None = None
    race: str | None = None
    age_start: int | None = None
    age_end: int | None = None
    """The first year that is too old."""

    @classmethod
    def of(cls, settings: FaceSelectorSettings, source: FaceTraits | None) -> Self:
        """The filter that the settings describe.

        Args:
            settings: what users said.
            source: of the largest source face; what ``auto`` stands for.

        Raises:
            ValueError: ``auto`` is asked for and there is no source.
        """
        chosen = {name: getattr(settings, name) for name in settings.filters}
        for name in automatic_filters(settings):
            if source is None:
                raise ValueError(f"{name} = auto needs a source face")
            chosen[name] = getattr(source, name.removeprefix(PREFIX))
        return cls(*(chosen.get(PREFIX + name) for name in cls._fields))

    def lets_through(self, face: Face) -> bool:
        """Whether a face is meant; one of which nothing is known is not, unless everybody is."""
        if not any(wanted is not None for wanted in self):
            return True
        traits = face.traits
        if traits is None:
            return False
        first, behind_last = traits.age
        return (
            self.gender in (None, traits.gender)
            and self.race in (None, traits.race)
            and (self.age_start is None or behind_last > self.age_start)
            and (self.age_end is None or first < self.age_end)
        )


EVERYBODY = TraitFilter()


def automatic_filters(settings: FaceSelectorSettings) -> tuple[str, ...]:
    """Options of filters that follow the source."""
    return tuple(name for name in settings.filters if getattr(settings, name) == AUTO)


def check_ages(settings: FaceSelectorSettings) -> None:
    """Refuse bounds that nobody's age lies between.

    Raises:
        UsageError: they are such.
    """
    start, end = settings.face_selector_age_start, settings.face_selector_age_end
    if start is not None and end is not None and start >= end:
        raise UsageError(
            f"face_selector_age_start = {start} and face_selector_age_end = {end}: no age lies between them",
            "The end is the first age that is left out: give one above the start.",
        )
