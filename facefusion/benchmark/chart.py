"""The benchmark as a picture.

Drawn as SVG by hand: a few rectangles and words. The libraries that would draw it bring a plotting system, or take a
part in Python's imports.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from facefusion.benchmark.measure import CaseResult
from facefusion.core.errors import OutputError
from facefusion.core.own_file import OwnFile

REMEDY = "Choose another --benchmark-chart-path."
CHART = OwnFile(
    "a chart of a benchmark",
    re.compile(rb"<\?xml version='1\.0' encoding='utf-8'\?>\n<svg xmlns=\"[^\"]*\" width=\"\d+\" height=\"\d+\""),
    REMEDY,
)

WIDTH, LEFT, RIGHT = 940, 76, 190
"""Of the picture, and of what stands beside the bars, in pixels."""
TITLE, ROW, BAR, SCALE, LINE, GAP = 40, 32, 22, 26, 20, 16
"""Height of a title, of a clip's row, of its bar, of a scale, of a line of the legend, and between parts."""
LEGEND_COLUMN = 180
TICKS = 6
"""Most of a scale."""
NARROWEST = 34.0
"""Pixels of a part of a bar that has its number written into it."""

COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
    "#332288", "#44aa99", "#ee7733", "#882255", "#999933", "#bb99cc",
)  # fmt: skip
"""After Paul Tol's schemes, which colour-blind people can tell apart (personal.sron.nl/~pault)."""
OTHER, OTHER_COLOUR = "other", "#888888"
WAITING, WAITING_COLOUR = "waiting", "#dddddd"
LIGHT = ("#ccbb44", "#66ccee", "#bb99cc", WAITING_COLOUR)
"""On these numbers are black."""
BLACK, WHITE, GRID = "#000000", "#ffffff", "#d0d0d0"
LEAST_SHARE = 0.02
"""A stage that takes less of every clip is drawn among the others."""


def check_chart(path: Path) -> None:
    """Make sure that a chart can be written.

    Raises:
        UsageError: something else than a chart is there.
        OutputError: the file cannot be written.
    """
    try:
        CHART.check(path)
        was_there = path.exists()
        CHART.open_to_add(path).close()
        if not was_there:
            path.unlink()
    except OSError as error:
        raise _refusal(path, error) from error


def draw_chart(results: Sequence[CaseResult], path: Path) -> None:
    """Write two bars per clip: its frames per second, and what a frame costs, divided into stages.

    Args:
        results: at least one.
        path: of the SVG file; a chart that is there is replaced.

    Raises:
        UsageError: something else than a chart is there.
        OutputError: it cannot be written.
    """
    try:
        CHART.check(path)
        path.write_bytes(ElementTree.tostring(_drawing(results), encoding="utf-8", xml_declaration=True))
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: Path, error: OSError) -> OutputError:
    return OutputError(f"cannot write the benchmark's chart {path}: {error.strerror or error}", REMEDY)


def _drawing(results: Sequence[CaseResult]) -> ElementTree.Element:
    costs = _costs(results)
    stages = tuple(dict.fromkeys(name for cost in costs for name in cost))
    part = TITLE + ROW * len(results) + SCALE
    legend = 2 * part + GAP
    columns = (WIDTH - LEFT) // LEGEND_COLUMN
    height = legend + LINE * math.ceil(len(stages) / columns) + GAP
    drawing = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": str(WIDTH),
            "height": str(height),
            "viewBox": f"0 0 {WIDTH} {height}",
            "font-family": "sans-serif",
            "font-size": "13",
        },
    )
    _box(drawing, 0, 0, WIDTH, height, WHITE)
    _draw_rates(drawing, results, 0)
    _draw_costs(drawing, results, costs, part)
    for number, stage in enumerate(stages):
        left, top = LEFT + number % columns * LEGEND_COLUMN, legend + number // columns * LINE
        _box(drawing, left, top, 12, 12, _colour(stage, stages))
        _words(drawing, left + 18, top + 11, stage)
    return drawing


def _draw_rates(drawing: ElementTree.Element, results: Sequence[CaseResult], top: float) -> None:
    """The median of each clip's frames per second, with a line from the lowest to the highest."""
    title = "Frames per second: median of the cycles, lowest and highest"
    scale = _draw_frame(drawing, title, results, max(max(result.rates) for result in results), "frames/s", top)
    for number, result in enumerate(results):
        row = top + TITLE + number * ROW
        _box(drawing, LEFT, row, result.frames_per_second * scale, BAR, COLOURS[0])
        low, high = (LEFT + rate * scale for rate in (min(result.rates), max(result.rates)))
        _box(drawing, low, row + BAR / 2 - 1, high - low, 2, BLACK)
        for end in (low, high):
            _box(drawing, end - 1, row + 5, 2, BAR - 10, BLACK)
        words = f"{result.frames_per_second:.1f} frames/s, {result.over_floor:.2f} x its floor"
        _words(drawing, WIDTH - RIGHT + 8, row + 16, words, size=11)


def _draw_costs(
    drawing: ElementTree.Element, results: Sequence[CaseResult], costs: Sequence[Mapping[str, float]], top: float
) -> None:
    """What a frame costs, stage by stage."""
    stages = tuple(dict.fromkeys(name for cost in costs for name in cost))
    title = "Where the time goes: milliseconds of all threads for each frame"
    scale = _draw_frame(drawing, title, results, max(sum(cost.values()) for cost in costs), "ms a frame", top)
    for number, cost in enumerate(costs):
        row, left = top + TITLE + number * ROW, float(LEFT)
        for stage, milliseconds in cost.items():
            width = milliseconds * scale
            bar = _box(drawing, left, row, width, BAR, _colour(stage, stages))
            ElementTree.SubElement(bar, "title").text = f"{stage}: {milliseconds:.2f} ms"
            if width >= NARROWEST:
                colour = BLACK if _colour(stage, stages) in LIGHT else WHITE
                _words(
                    drawing, left + width / 2, row + 15, f"{milliseconds:.1f}", size=11, colour=colour, anchor="middle"
                )
            left += width
        busy = sum(milliseconds for stage, milliseconds in cost.items() if stage != WAITING)
        _words(drawing, WIDTH - RIGHT + 8, row + 16, f"{busy:.1f} ms of work", size=11)


def _draw_frame(
    drawing: ElementTree.Element, title: str, results: Sequence[CaseResult], highest: float, unit: str, top: float
) -> float:
    """A part's title, names of rows and scale; pixels for each unit."""
    _words(drawing, 10, top + 24, title, size=15)
    bottom = top + TITLE + ROW * len(results)
    scale = (WIDTH - LEFT - RIGHT) / max(highest, 1e-9)
    for tick in _ticks(highest):
        _box(drawing, LEFT + tick * scale, top + TITLE - 4, 1, bottom - top - TITLE + 4, GRID)
        _words(drawing, LEFT + tick * scale, bottom + 12, f"{tick:g}", size=11, anchor="middle")
    _words(drawing, WIDTH - RIGHT + 8, bottom + 12, unit, size=11)
    for number, result in enumerate(results):
        _words(drawing, LEFT - 8, top + TITLE + number * ROW + 16, result.case.resolution, anchor="end")
    return scale


def _ticks(highest: float) -> Iterator[float]:
    """Round numbers from 0 up to the highest."""
    rough = max(highest, 1e-9) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return (round(number * step, 9) for number in range(math.floor(highest / step) + 1))


def _costs(results: Sequence[CaseResult]) -> list[dict[str, float]]:
    """Milliseconds of each stage for each frame: the small ones put together, and what was waited for last."""
    all_of_them = [
        {name: 1000 * seconds / _frames(result) for name, seconds in result.stages.items()} for result in results
    ]
    large = {name for cost in all_of_them for name, one in cost.items() if one >= LEAST_SHARE * sum(cost.values())}
    costs = []
    for result, cost in zip(results, all_of_them, strict=True):
        drawn = {name: milliseconds for name, milliseconds in cost.items() if name in large}
        drawn[OTHER] = sum(milliseconds for name, milliseconds in cost.items() if name not in large)
        drawn[WAITING] = 1000 * sum(result.waits.values()) / _frames(result)
        costs.append(drawn)
    return costs


def _frames(result: CaseResult) -> int:
    return max(result.last.frames, 1)


def _colour(stage: str, stages: Sequence[str]) -> str:
    fixed = {OTHER: OTHER_COLOUR, WAITING: WAITING_COLOUR}
    named = [name for name in stages if name not in fixed]
    return fixed.get(stage) or COLOURS[named.index(stage) % len(COLOURS)]


def _box(
    drawing: ElementTree.Element, left: float, top: float, width: float, height: float, colour: str
) -> ElementTree.Element:
    place = {"x": f"{left:.2f}", "y": f"{top:.2f}", "width": f"{width:.2f}", "height": f"{height:.2f}"}
    return ElementTree.SubElement(drawing, "rect", {**place, "fill": colour})


def _words(
    drawing: ElementTree.Element,
    left: float,
    baseline: float,
    words: str,
    *,
    size: int = 13,
    colour: str = BLACK,
    anchor: str = "start",
) -> None:
    look = {"font-size": str(size), "fill": colour, "text-anchor": anchor}
    ElementTree.SubElement(drawing, "text", {"x": f"{left:.2f}", "y": f"{baseline:.2f}", **look}).text = words
