"""What judges the content of pictures: networks, and votes of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from facefusion.core.values import Picture


class ContentNetwork(Protocol):
    """Gives one number for one picture. Thread-safe as long as the picture is."""

    def score(self, picture: Picture) -> float:
        """The more it is, the more likely the picture shows sexual content; on the network's own scale."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What was made of one picture."""

    counts: bool
    """Whether it most likely shows sexual content."""
    scores: Mapping[str, float]
    """Of each network that was asked, by its name."""


class ContentModel(Protocol):
    """Judges one picture. Thread-safe as long as the picture is."""

    @property
    def limits(self) -> Mapping[str, float]:
        """For each network, by its name, the score above which it takes a picture for what is refused."""

    def judge(self, picture: Picture) -> Opinion:
        """What is made of a picture."""


class Judge:
    """One network, and the score above which a picture counts.

    Args:
        name: of the network.
        network: gives the score.
        limit: on the network's scale; a score that equals it does not count.
    """

    def __init__(self, name: str, network: ContentNetwork, limit: float) -> None:
        self.limits = {name: limit}
        self._name = name
        self._network = network
        self._limit = limit

    def judge(self, picture: Picture) -> Opinion:
        """See :class:`ContentModel`."""
        score = self._network.score(picture)
        return Opinion(score > self._limit, {self._name: score})


class Vote:
    """Several models, each with one voice. All are asked for every picture, so that the report knows all scores.

    Args:
        models: at least ``needed``.
        needed: how many have to count a picture.
    """

    def __init__(self, models: Sequence[ContentModel], needed: int) -> None:
        self.limits = {name: limit for model in models for name, limit in model.limits.items()}
        self._models = tuple(models)
        self._needed = needed

    def judge(self, picture: Picture) -> Opinion:
        """See :class:`ContentModel`."""
        opinions = [model.judge(picture) for model in self._models]
        scores = {name: score for opinion in opinions for name, score in opinion.scores.items()}
        return Opinion(sum(opinion.counts for opinion in opinions) >= self._needed, scores)
