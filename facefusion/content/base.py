"""What judges the content of pictures: networks, and votes of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Picture

Thumbnail: TypeAlias = npt.NDArray[np.uint8]
"""What a network looks at of a picture: rows x columns x 3, BGR."""


class ContentNetwork(Protocol):
    """Gives one number for one picture. Thread-safe, but for the picture."""

    def thumbnail(self, picture: Picture) -> Thumbnail:
        """All that it looks at of a picture; none of the picture's own memory."""

    def score(self, thumbnail: Thumbnail) -> float:
        """The more it is, the more likely the picture shows sexual content; on the network's own scale."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What was made of one picture."""

    counts: bool
    """Whether it most likely shows sexual content."""
    scores: Mapping[str, float]
    """Of each network that was asked, by its name."""


Judgement: TypeAlias = Callable[[], Opinion]
"""Asks networks about a picture that was looked at: on any thread, and whatever became of the picture."""


class ContentModel(Protocol):
    """Judges one picture."""

    @property
    def limits(self) -> Mapping[str, float]:
        """For each network, by its name, the score above which it takes a picture for what is refused."""

    def look(self, picture: Picture) -> Judgement:
        """Take what is needed of a picture; what is made of it is asked for later. The second takes much longer."""


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

    def look(self, picture: Picture) -> Judgement:
        """See :class:`ContentModel`."""
        return partial(self._opinion, self._network.thumbnail(picture))

    def _opinion(self, thumbnail: Thumbnail) -> Opinion:
        score = self._network.score(thumbnail)
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

    def look(self, picture: Picture) -> Judgement:
        """See :class:`ContentModel`."""
        return partial(self._opinion, [model.look(picture) for model in self._models])

    def _opinion(self, judgements: Sequence[Judgement]) -> Opinion:
        opinions = [judgement() for judgement in judgements]
        scores = {name: score for opinion in opinions for name, score in opinion.scores.items()}
        return Opinion(sum(opinion.counts for opinion in opinions) >= self._needed, scores)
