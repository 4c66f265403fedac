"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MEBIBYTE = 1 << 20
PROMISE = ("case", "must", "measured", "kept")
GROWTH = ("case", "ms a frame", "over the floor", "peak memory")


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


@dataclass(frozen=True, slots=True)
class Growth:
    """What one of several cases costs that differ in one thing."""

    case: str
    milliseconds: float
    """For each frame."""
    over_floor: float | None
    """None where it was not measured."""
    peak: float
    """Bytes."""

    @property
    def measured(self) -> str:
        """All of it in one line."""
        _, *cells = self.cells
        return ", ".join(f"{name} {cell}" for name, cell in zip(GROWTH[1:], cells, strict=True) if cell)

    @property
    def cells(self) -> tuple[str, ...]:
        """Of the table's row."""
        ratio = "" if self.over_floor is None else f"{self.over_floor:.2f}"
        return (self.case, f"{self.milliseconds:.1f}", ratio, f"{self.peak / MEBIBYTE:.0f} MiB")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows under headings."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def table_of(lines: Sequence[Line | Growth]) -> str:
    """The lines of one row of the page, which are all of one kind, as a table."""
    grows = all(isinstance(line, Growth) for line in lines)
    return table(GROWTH if grows else PROMISE, [line.cells for line in lines])
