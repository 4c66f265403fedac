"""What the catalogue knows about one model, and about the file it runs from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from facefusion.core.errors import ModelError

Numbers: TypeAlias = Mapping[str, float | int | str | tuple[float, ...]]
"""By name."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package of the package index whose wheel carries model files."""

    name: str
    version: str
    sha256: str
    bytes: int

    @property
    def requirement(self) -> str:
        """As pip takes it."""
        return f"{self.name}=={self.version}"


@dataclass(frozen=True, slots=True)
class Download:
    """A public address of a file, and how to tell that it came whole: by its SHA-256, or else by its CRC-32."""

    url: str
    sha256: str | None
    bytes: int | None
    """None where only the server knows."""
    crc32: str | None = None
    """Eight hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class Publication:
    """A file that FaceFusion publishes as it is used, beside a ``.hash`` file that holds its CRC-32."""

    base: str
    """Of its address: ``models-3.0.0``."""
    hosts: tuple[str, ...] = ("github", "huggingface")
    """Those that have it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file that a graph is made from."""

    role: str
    """What the converter knows it as: ``graph``, ``param``, ``weights``."""
    sha256: str
    """Of the wheel's member."""
    bytes: int
    wheel: Wheel | None
    member: str | None
    """Path inside the wheel."""
    downloads: tuple[Download, ...]
    """Where else it can be had, in the order to try. The bytes may differ (line ends) and then have their own hash."""


@dataclass(frozen=True, slots=True)
class GraphFile:
    """One graph in the model store, and how to make it."""

    name: str
    format: str
    """Format of the parts; names the converter."""
    options: Mapping[str, bool | Mapping[str, str]]
    """What the converter needs to be told."""
    parts: tuple[Part, ...]
    bytes: int
    """Size of the finished graph, about; for the space that is needed. 0 where it is not known."""
    publication: Publication | None = None
    """Where it can be had whole; then it has no parts."""
    own: bool = False
    """Whether only the user can bring it, and nobody knows what it should hold: it is taken as it is."""

    @property
    def is_imported(self) -> bool:
        """Whether the user took it in; see :mod:`facefusion.catalogue.imported`."""
        return not (self.publication or self.parts or self.own)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One entry of the catalogue."""

    name: str
    """What users type. Models of different kinds may share one where none of them has a file."""
    kind: str
    """What it is for: ``face_detector``, ``face_landmarker``, ``face_recognizer``, ``face_swapper`` and so on."""
    family: str
    """Which code runs it; the name of a family in the package that owns ``kind``."""
    licence: str
    vendor: str
    year: int
    origin: str
    """Where it comes from, for people."""
    file: str | None
    """Name of the graph in the model store; none for a model that is code only."""
    embedded: bool = False
    """True where pip alone can bring it."""
    numbers: Numbers = field(default_factory=dict)
    """What the family needs to know by number: input size, mean, scale, thresholds."""
    graph: GraphFile | None = None
    """How ``file`` is made; none for a model that is code only."""
    companions: tuple[str, ...] = ()
    """Names of further models that its family runs."""
    stand_ins: tuple[GraphFile, ...] = ()
    """Graphs that do as well, where they lie on this machine and ``graph`` does not."""
    terms: str = ""
    """What users of it should know of its licence, as the end of a sentence; empty where it allows every use."""

    @property
    def graphs(self) -> tuple[GraphFile, ...]:
        """The files that it can run from, the one that is fetched first."""
        return self.stand_ins if self.graph is None else (self.graph, *self.stand_ins)

    def number(self, name: str, default: float | None = None) -> float:
        """The number ``name`` of this entry, or the family's own where the entry says nothing.

        Raises:
            ModelError: the entry has something else under that name, or nothing where the family has no own.
        """
        value = self.numbers.get(name, default)
        if isinstance(value, int | float):
            return float(value)
        raise ModelError(f"Model {self.name}: {name} is {value!r} in the catalogue", "It must be a number.")
