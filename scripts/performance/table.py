"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One figure beside what it must be."""

    case: str
    measured: str
    must: str = ""
    """Empty where nothing was promised."""
    held: bool | None = None
    """Whether the promise is kept; none where nothing was promised, or it is not a matter of yes and no."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Of the table's row."""
        verdict = {True: "yes", False: "**no**", None: ""}[self.held]
        return (self.case, self.must, self.measured, verdict)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows under headings."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def promises(lines: Iterable[Line]) -> str:
    """The lines as a table."""
    return table(("case", "must", "measured", "kept"), [line.cells for line in lines])
