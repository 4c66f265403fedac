"""The benchmark as a picture.

Drawn as SVG by hand: a few rectangles and words. The libraries that would draw it bring a plotting system, or take a
part in Python's imports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from facefusion.benchmark.measure import CaseResult
from facefusion.core.errors import OutputError

REMEDY = "Choose another --benchmark-chart-path."

WIDTH, LEFT, RIGHT = 900, 190, 60
"""Of the picture, and of what stands beside the bars, in pixels."""
TOP, ROW, BAR, LINE = 44, 34, 22, 20
"""Height of the title, of a clip's row, of its bar, and of a line of the legend."""
LEGEND_COLUMN = 220

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
"""Paul Tol's bright scheme, which colour-blind people can tell apart (personal.sron.nl/~pault)."""


def draw_chart(results: Sequence[CaseResult], path: Path) -> None:
    """Write one bar per clip: what a frame costs, divided into stages, beside its frames per second.

    Args:
        results: at least one.
        path: of the SVG file; one that is there is replaced.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        path.write_bytes(ElementTree.tostring(_drawing(results), encoding="utf-8", xml_declaration=True))
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write the benchmark's chart {path}: {reason}", REMEDY) from error


def _drawing(results: Sequence[CaseResult]) -> ElementTree.Element:
    costs = [_milliseconds(result) for result in results]
    stages = tuple(dict.fromkeys(name for cost in costs for name in cost))
    columns = (WIDTH - 20) // LEGEND_COLUMN
    legend = TOP + ROW * len(results) + 10
    height = legend + LINE * -(-len(stages) // columns) + 10
    drawing = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {height}",
            "font-family": "sans-serif",
            "font-size": "13",
        },
    )
    _box(drawing, 0, 0, WIDTH, height, "#ffffff")
    _words(drawing, 10, 26, "Busy milliseconds per frame, summed over threads, by stage")
    colours = {stage: COLOURS[number % len(COLOURS)] for number, stage in enumerate(stages)}
    scale = (WIDTH - LEFT - RIGHT) / max(1e-9, *(sum(cost.values()) for cost in costs))
    for number, (result, cost) in enumerate(zip(results, costs, strict=True)):
        top, left = TOP + number * ROW, float(LEFT)
        label = f"{result.case.resolution}: {result.frames_per_second:.1f} frames/s"
        _words(drawing, 10, top + 16, label)
        for stage, milliseconds in cost.items():
            bar = _box(drawing, left, top, milliseconds * scale, BAR, colours[stage])
            ElementTree.SubElement(bar, "title").text = f"{stage}: {milliseconds:.2f} ms"
            left += milliseconds * scale
        _words(drawing, left + 6, top + 16, f"{sum(cost.values()):.1f}")
    for number, stage in enumerate(stages):
        left, top = 10 + number % columns * LEGEND_COLUMN, legend + number // columns * LINE
        _box(drawing, left, top, 12, 12, colours[stage])
        _words(drawing, left + 18, top + 11, stage)
    return drawing


def _milliseconds(result: CaseResult) -> Mapping[str, float]:
    frames = max(result.cycles[-1].report.frames, 1)
    return {name: 1000 * seconds / frames for name, seconds in result.stages.items()}


def _box(
    drawing: ElementTree.Element, left: float, top: float, width: float, height: float, colour: str
) -> ElementTree.Element:
    place = {"x": f"{left:.2f}", "y": f"{top:.2f}", "width": f"{width:.2f}", "height": f"{height:.2f}"}
    return ElementTree.SubElement(drawing, "rect", {**place, "fill": colour})


def _words(drawing: ElementTree.Element, left: float, baseline: float, words: str) -> None:
    ElementTree.SubElement(drawing, "text", {"x": f"{left:.2f}", "y": f"{baseline:.2f}"}).text = words
