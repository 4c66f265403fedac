"""Who becomes whom: the notation of ``--face-map``.

An item is ``REFERENCE=SOURCE``. The reference is an image file of the person to replace, or a number: a face of the
reference frame. The source is an image file, or several of one person joined by ``+``. In the name of a file ``==``
stands for ``=``, and in that of a source ``++`` for ``+``; ``./3`` is a file whose name is a number. So an item means
the same whatever files there are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from facefusion.config.option import Form
from facefusion.core.errors import UsageError
from facefusion.core.wording import shown

REFERENCE, SOURCE = "reference", "source"
# Possessive, so that signs are paired from the left and in no other way.
_REFERENCE_NAME = r"(?:[^=]|==)++"
_SOURCE_NAME = r"(?:[^=+]|==|\+\+)++"
_ITEM = rf"({_REFERENCE_NAME})=({_SOURCE_NAME}(?:\+{_SOURCE_NAME})*)"
_NUMBER = r"[0-9]{1,9}"

FORM = Form(_ITEM, "REFERENCE=SOURCE or REFERENCE=SOURCE+SOURCE, with == for = and ++ for + in the name of a file")


class Recast(NamedTuple):
    """One item: a person of the target, and who is put in their place."""

    reference: Path | int
    """A picture of the person, or the number of their face in the reference frame, from 0."""
    sources: tuple[Path, ...]
    """Photos of the one who is put in; at least one."""

    @classmethod
    def read(cls, item: str) -> Self:
        """From its notation.

        Raises:
            ValueError: it is not in the form.
        """
        parts = re.fullmatch(_ITEM, item, re.DOTALL)
        if parts is None:
            raise ValueError(f"{item!r} is not written as {FORM.text}")
        reference = parts[1].replace("==", "=")
        sources = (name.replace("==", "=").replace("++", "+") for name in re.findall(_SOURCE_NAME, parts[2]))
        return cls(
            int(reference) if re.fullmatch(_NUMBER, reference) else Path(reference),
            tuple(Path(source) for source in sources),
        )

    def __str__(self) -> str:
        reference = str(self.reference).replace("=", "==")
        if isinstance(self.reference, Path) and re.fullmatch(_NUMBER, reference):
            reference = f"./{reference}"
        return f"{reference}={'+'.join(_written(str(source)) for source in self.sources)}"

    @property
    def files(self) -> tuple[tuple[str, Path], ...]:
        """Every file that it names, with its part: ``reference`` or ``source``."""
        reference = () if isinstance(self.reference, int) else ((REFERENCE, self.reference),)
        return (*reference, *((SOURCE, path) for path in self.sources))

    @property
    def name(self) -> str:
        """Of the reference, for people."""
        return f"face {self.reference}" if isinstance(self.reference, int) else shown(str(self.reference))

    def renamed(self, rename: Callable[[Path], Path]) -> Self:
        """The same where files have got other names."""
        reference = self.reference if isinstance(self.reference, int) else rename(self.reference)
        return type(self)(reference, tuple(rename(path) for path in self.sources))


def _written(source: str) -> str:
    """The name of a source, so that it cannot be taken for more of what it stands behind."""
    place = "./" if source[0] in "=+" else ""
    return place + source.replace("=", "==").replace("+", "++")


@dataclass(frozen=True, slots=True)
class FaceMap:
    """All that the option says; nothing where it is not given."""

    items: tuple[Recast, ...] = ()

    @classmethod
    def of(cls, notation: Iterable[str]) -> Self:
        """From items that are in the form.

        Raises:
            UsageError: two of them have the same reference.
        """
        items = tuple(Recast.read(item) for item in notation)
        seen: set[int | str] = set()
        for item in items:
            key = item.reference if isinstance(item.reference, int) else os.path.realpath(item.reference)
            if key in seen:
                raise UsageError(
                    f"--face-map names the reference {item.name} twice",
                    "Several photos of one source are joined by +, as in REFERENCE=ONE.jpg+TWO.jpg.",
                )
            seen.add(key)
        return cls(items)

    def __bool__(self) -> bool:
        return bool(self.items)

    @property
    def people(self) -> tuple[tuple[Path, ...], ...]:
        """The photos of each person who is put in; one who takes several places is there once."""
        return tuple(dict.fromkeys(item.sources for item in self.items))

    @property
    def files(self) -> tuple[tuple[str, Path], ...]:
        """Every file that is named, with its part, once each."""
        return tuple(dict.fromkeys(file for item in self.items for file in item.files))

    @property
    def faces_needed(self) -> int:
        """How many faces the reference frame has to show; 0 where the references are files."""
        return max((item.reference + 1 for item in self.items if isinstance(item.reference, int)), default=0)
