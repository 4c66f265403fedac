"""How far apart the recogniser keeps people."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Embedding
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.recognise.base import similarity
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.media.image import read_image
from scripts.face_chain.photos import match
from scripts.face_chain.table import Photo

Values = npt.NDArray[np.float64]


def report_identity(photos: Iterable[Photo], analyser: FaceAnalyser) -> None:
    """Print the cosines of one person's views and of two people's, and what limits make of them."""
    views: list[tuple[str, str, Embedding]] = []
    for photo in photos:
        if not any(place.person for place in photo.faces):
            continue
        faces = list(analyser.faces(read_image(photo.path), recognise=True))
        for found, place in match(photo, faces).items():
            person, embedding = photo.faces[place].person, faces[found].embedding
            if person and embedding is not None:
                views.append((person, photo.name, embedding))
    pairs = [(one, other, similarity(one[2], other[2])) for one, other in combinations(views, 2)]
    same = np.array([cosine for one, other, cosine in pairs if one[0] == other[0]])
    different = np.array([cosine for one, other, cosine in pairs if one[0] != other[0]])
    print(f"## Identity: {len(views)} views of {len({view[0] for view in views})} people\n")
    if not len(same) or not len(different):
        print("there are no two views of one person, or no two people\n")
        return
    _describe("same", same)
    _describe("different", different)
    error, limit = equal_error(same, different)
    print(f"equal error rate {100 * error:.1f} % at a cosine of {limit:.3f}, a distance of {(1 - limit) / 2:.3f}")
    usual = FaceSelectorSettings().reference_face_distance
    for distance in sorted({0.2, 0.25, usual, 0.32, 0.35, 0.4}):
        cosine = 1 - 2 * distance
        refused, taken = float((same <= cosine).mean()), float((different > cosine).mean())
        answers = f"{100 * refused:5.1f} % of same refused, {100 * taken:5.2f} % of different taken"
        print(f"distance below {distance:.2f}: {answers}{'  (default)' if distance == usual else ''}")
    print("\nleast alike of the same, most alike of the different:")
    alike = sorted((cosine, one, other) for one, other, cosine in pairs if one[0] == other[0])[:8]
    alike += sorted(((cosine, one, other) for one, other, cosine in pairs if one[0] != other[0]), reverse=True)[:8]
    for cosine, one, other in alike:
        print(f"{cosine:6.3f}  {one[0]} ({one[1]})  {other[0]} ({other[1]})")
    print()


def equal_error(same: Values, different: Values) -> tuple[float, float]:
    """The share of wrong answers where as many same pairs are refused as different ones taken, and the cosine."""
    limits = np.sort(np.concatenate((same, different)))
    refused = np.searchsorted(np.sort(same), limits, side="left") / len(same)
    taken = 1 - np.searchsorted(np.sort(different), limits, side="left") / len(different)
    best = int(np.argmin(np.abs(refused - taken)))
    return float(refused[best] + taken[best]) / 2, float(limits[best])


def _describe(name: str, cosines: Values) -> None:
    low, middle, high = np.percentile(cosines, (1, 50, 99))
    print(
        f"{name:>9}: {len(cosines):5} pairs, cosine {cosines.mean():6.3f} +- {cosines.std():.3f}, "
        f"1 % {low:6.3f}, median {middle:6.3f}, 99 % {high:6.3f}"
    )
