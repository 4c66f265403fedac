"""What a face recogniser is, and how alike two faces are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import InferenceError
from facefusion.core.graph import NO_ANSWER
from facefusion.core.values import Embedding, Landmarks5, Picture


class IdentityReading(NamedTuple):
    """What a network said of one face."""

    raw: npt.NDArray[np.float32]
    """Shape (n,), as the network gave it."""
    unit: Embedding
    """The same at length one."""


class LikenessScale(NamedTuple):
    """What the cosine of two views means. Another recogniser has another scale, so its entry says it."""

    same: float
    """From here on two views show one person."""
    certain: float
    """Small or blurred views of two people do not reach this."""
    strangers: float
    """Below this two views show two people. Up to ``same`` a view is too poor to say."""

    @classmethod
    def of(cls, card: ModelCard) -> Self:
        """The scale that an entry describes by ``same_likeness``, ``certain_likeness`` and ``strangers_likeness``.

        Raises:
            ModelError: it lacks one of them.
        """
        return cls(*(card.number(f"{name}_likeness") for name in cls._fields))


class FaceRecogniser(Protocol):
    """Tells identities apart. Thread-safe as long as the picture is."""

    likeness: LikenessScale

    def embed(self, picture: Picture, points: Landmarks5) -> Embedding:
        """The identity of the face at ``points``, of unit length."""


def identity_of(model: str, raw: npt.NDArray[np.float32]) -> IdentityReading:
    """What a network said of a face, if it said anything.

    Args:
        model: its name, for the message.
        raw: shape (n,).

    Raises:
        InferenceError: the vector is zero, or no numbers, and points nowhere.
    """
    try:
        return IdentityReading(raw, unit(raw))
    except ValueError as error:
        raise InferenceError(f"{model} gave an identity that is none: {error}", NO_ANSWER) from error


def similarity(first: Embedding, second: Embedding) -> float:
    """Cosine of the angle between two identities: about 0 for strangers, 1 for the same picture."""
    return float(first @ second)


def distance(first: Embedding, second: Embedding) -> float:
    """Half of (1 - cosine), as FaceFusion counts it: 0 the same, about 0.5 strangers, 1 opposite."""
    return (1.0 - similarity(first, second)) / 2.0


def mean_embedding(embeddings: Sequence[Embedding]) -> Embedding:
    """The identity that several pictures of one person agree on: their mean, brought back to unit length.

    Raises:
        ValueError: there is no embedding.
        InferenceError: they cancel out.
    """
    if not embeddings:
        raise ValueError("there is no mean of no embeddings")
    try:
        return unit(np.mean(np.stack(embeddings), axis=0, dtype=np.float32))
    except ValueError as error:
        raise InferenceError(
            f"{len(embeddings)} pictures of one person have identities that cancel out",
            "Choose pictures that are alike.",
        ) from error


def unit(vector: Embedding) -> Embedding:
    """The vector at length one, however long or short it was.

    Raises:
        ValueError: it has no length, or values that are no numbers, and so no direction.
    """
    wide = vector.astype(np.float64)
    length = float(np.linalg.norm(wide))
    if not 0.0 < length < math.inf:
        raise ValueError("a vector without a length has no direction")
    return (wide / length).astype(np.float32)
