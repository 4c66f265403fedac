"""Models that the catalogue knows by the folder they lie in, not one by one.

Each was trained on a person by somebody, so nobody can list them all: ``COLLECTION/NAME`` is the file NAME in the
folder COLLECTION of a folder of models.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

from facefusion.catalogue.card import GraphFile, ModelCard, Numbers, Publication
from facefusion.catalogue.convert.formats import VERBATIM

SEPARATOR = "/"


@dataclass(frozen=True, slots=True)
class Collection:
    """One entry of the catalogue that stands for any number of models."""

    name: str
    """Of the folder."""
    kind: str
    family: str
    suffix: str
    """Of the files, with its dot."""
    licence: str
    vendor: str
    year: int
    publication: Publication | None
    """Where its models can be had; none for the user's own."""
    terms: str = ""
    """As those of a card."""
    numbers: Numbers = field(default_factory=dict)
    """Of each of its models."""

    def card(self, model: str) -> ModelCard:
        """The card of one of its models, whether there is such a file or not."""
        own = self.publication is None
        file = f"{self.name}{SEPARATOR}{model}{self.suffix}"
        graph = GraphFile(file, VERBATIM, MappingProxyType({}), (), 0, self.publication, own=own)
        return ModelCard(
            name=f"{self.name}{SEPARATOR}{model}",
            kind=self.kind,
            family=self.family,
            licence=self.licence,
            vendor=self.vendor,
            year=self.year,
            origin="a file of the user's own" if self.publication is None else f"FaceFusion, {self.publication.base}",
            file=file,
            numbers=self.numbers,
            graph=graph,
            terms=self.terms,
        )
