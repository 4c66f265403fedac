"""What a face recogniser is, and how alike two faces are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.values import Embedding, Landmarks5, Picture


class IdentityReading(NamedTuple):
    """What a network said of one face."""

    raw: npt.NDArray[np.float32]
    """Shape (n,), as the network gave it."""
    unit: Embedding
    """The same at length one."""


class LikenessScale(NamedTuple):
    """What the cosine of two views means; other recognisers have other scales. The defaults are SFace's."""

    same: float = 0.36
    """From here on two views show one person; at this limit SFace errs in 1.7 % of pairs."""
    certain: float = 0.55
    """Small or blurred views of two people do not reach this: in street and stage scenes they had up to 0.48."""
    strangers: float = 0.2
    """Below this two views show two people. Up to ``same`` a view is too poor to say."""

    @classmethod
    def of(cls, card: ModelCard) -> Self:
        """The scale that an entry describes by ``same_likeness``, ``certain_likeness`` and ``strangers_likeness``."""
        return cls(*(card.number(f"{name}_likeness", usual) for name, usual in cls._field_defaults.items()))


class FaceRecogniser(Protocol):
    """Tells identities apart. Thread-safe as long as the picture is."""

    likeness: LikenessScale

    def embed(self, picture: Picture, points: Landmarks5) -> Embedding:
        """The identity of the face at ``points``, of unit length."""


def similarity(first: Embedding, second: Embedding) -> float:
    """Cosine of the angle between two identities: about 0 for strangers, 1 for the same picture."""
    return float(first @ second)


def distance(first: Embedding, second: Embedding) -> float:
    """Half of (1 - cosine), as FaceFusion counts it: 0 the same, about 0.5 strangers, 1 opposite."""
    return (1.0 - similarity(first, second)) / 2.0


def mean_embedding(embeddings: Sequence[Embedding]) -> Embedding:
    """The identity that several pictures of one person agree on: their mean, brought back to unit length.

    Raises:
        ValueError: there is no embedding, or they cancel out.
    """
    if not embeddings:
        raise ValueError("there is no mean of no embeddings")
    return unit(np.mean(np.stack(embeddings), axis=0, dtype=np.float32))


def unit(vector: Embedding) -> Embedding:
    """The vector at length one.

    Raises:
        ValueError: it has no length, so no direction.
    """
    length = float(np.linalg.norm(vector))
    if not length > 0.0:
        raise ValueError("an embedding without length has no direction")
    return vector / np.float32(length)
