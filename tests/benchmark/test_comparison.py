from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from facefusion.benchmark.cases import Case
from facefusion.benchmark.chart import BAR, COLOURS, LEFT, RIGHT, WAITING_COLOUR, WIDTH, check_chart, draw_chart
from facefusion.benchmark.comparison import Kept, read_baseline, verdicts
from facefusion.benchmark.measure import CaseResult, Cycle
from facefusion.core.errors import OutputError, SetupError, UsageError
from facefusion.core.floor import Floor
from tests.benchmark.test_measure import report


def result(resolution="240p", seconds=1.0, floor=1.0):
    case = Case(resolution, Path("source.jpg"), Path(f"target-{resolution}.mp4"))
    cycle = Cycle(seconds, report(seconds=seconds), Floor({"yunet": floor}, 0.0, 0.0))
    return CaseResult(case, (cycle,), cold_start=1.0, command_start=2.0)


def kept(path, *records):
    lines = [
        {"time": f"2026-01-0{day}", "resolution": "240p", "name": name, "over_floor": ratios}
        for day, (name, ratios) in enumerate(records, start=1)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def test_the_newest_record_of_a_name_is_the_baseline(tmp_path):
    path = kept(tmp_path / "r.jsonl", ("a", [1.0]), ("a", [3.0, 2.0, 9.0]), ("b", [4.0]), ("", [5.0]))
    assert read_baseline(path, "a") == {"240p": Kept("a", "2026-01-02", "240p", 3.0)}
    assert read_baseline(path, "last") == {"240p": Kept("", "2026-01-04", "240p", 5.0)}


def test_without_records_there_is_no_baseline(tmp_path):
    assert read_baseline(tmp_path / "none.jsonl", "last") == {}


def test_a_name_that_no_record_has_is_refused(tmp_path):
    path = kept(tmp_path / "r.jsonl", ("a", [1.0]), ("", [1.0]))
    with pytest.raises(UsageError, match=r"holds no record named 'c'\. Those there are: a\."):
        read_baseline(path, "c")
    kept(tmp_path / "nameless.jsonl", ("", [1.0]))
    for there in ("none.jsonl", "nameless.jsonl"):
        with pytest.raises(UsageError, match=r"holds no record named 'c'\. None has a name\.$"):
            read_baseline(tmp_path / there, "c")


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"time": "x", "resolution": "240p"}', '{"over_floor": []}', "[" * 100_000], ids=str.__len__
)
def test_a_line_that_is_no_record_is_named(tmp_path, line):
    path = kept(tmp_path / "r.jsonl", ("a", [1.0]))
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(SetupError, match=r"r\.jsonl, line 2 is no record of this version's benchmark"):
        read_baseline(path, "last")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (2.5, "240p is slower than then: 2.50 times its floor, then 2.00 (+25%)"),
        (1.0, "240p is faster than then: 1.00 times its floor, then 2.00 (-50%)"),
        (2.1, "240p is as fast as then: 2.10 times its floor, then 2.00 (+5%)"),
    ],
)
def test_ratios_are_compared_not_seconds(seconds, said):
    baseline = {"240p": Kept("then", "2026-01-01", "240p", 2.0)}
    assert verdicts([result(seconds=seconds), result("720p")], baseline) == [said]
    assert verdicts([result(seconds=10 * seconds, floor=10.0)], baseline) == [said]


def drawn(path, *results):
    """The chart's words, and its boxes by their colour as (left, top, width, height)."""
    draw_chart(results, path)
    elements = list(ElementTree.parse(path).iter())
    words = [element.text for element in elements if element.text]
    boxes: dict[str, list[tuple[float, ...]]] = {}
    for element in elements:
        if element.tag.endswith("rect"):
            place = tuple(float(element.get(name, "nan")) for name in ("x", "y", "width", "height"))
            boxes.setdefault(element.get("fill", ""), []).append(place)
    return words, boxes


def test_a_chart_tells_each_clips_speed_and_what_a_frame_costs_with_units(tmp_path):
    words, _ = drawn(tmp_path / "chart.svg", result("240p"), result("720p", 2.0))
    assert {"30.0 frames/s, 1.00 x its floor", "15.0 frames/s, 2.00 x its floor", "frames/s", "ms a frame"} <= set(
        words
    )
    assert words.count("240p") == words.count("720p") == 2
    assert {"decode: 33.33 ms", "waiting: 8.33 ms", "33.3 ms of work"} <= set(words)  # for each of the 30 frames
    assert {"0", "5", "10", "15", "20", "25", "30"} <= set(words)


def test_bars_are_as_long_as_their_numbers(tmp_path):
    cycles = [result(seconds=seconds).cycles[0] for seconds in (2.0, 1.0, 3.0)]
    _, boxes = drawn(tmp_path / "chart.svg", dataclasses.replace(result(), cycles=tuple(cycles)))
    room = WIDTH - LEFT - RIGHT
    rate, decode, _ = boxes[COLOURS[0]]
    assert rate[:1] + rate[2:] == (LEFT, room / 2, BAR)  # of 10, 15 and 30 frames/s the highest fills the room
    line = next(box for box in boxes["#000000"] if box[3] == 2)
    assert (line[0], line[0] + line[2]) == pytest.approx((LEFT + room / 3, LEFT + room), abs=0.02)
    waiting = boxes[WAITING_COLOUR][0]
    assert decode[2] == pytest.approx(room * 0.8, abs=0.01)  # 33.3 of 41.7 ms
    assert waiting[0] + waiting[2] == pytest.approx(LEFT + room, abs=0.02)


def test_what_is_small_in_every_clip_is_drawn_as_one(tmp_path):
    stages = [{"decode": 1.0, "detect": 0.3, "masks": 0.01, "classify": 0.01}, {"decode": 1.0, "detect": 0.001}]
    results = []
    for one in stages:
        cycle = result().cycles[0]
        told = dataclasses.replace(cycle.report, stages=one)
        results.append(dataclasses.replace(result(), cycles=(dataclasses.replace(cycle, report=told),)))
    words, _ = drawn(tmp_path / "chart.svg", *results)
    assert [word for word in words if word.startswith("other: ")] == ["other: 0.67 ms", "other: 0.00 ms"]
    assert "detect: 0.03 ms" in words
    assert "masks" not in words


def test_a_chart_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OutputError, match=r"cannot write the benchmark's chart .*chart\.svg: No such file"):
        draw_chart([result()], tmp_path / "no" / "chart.svg")


def test_a_chart_takes_the_place_of_another_and_of_nothing_else(tmp_path):
    path, other = tmp_path / "chart.svg", tmp_path / "mine.svg"
    for _ in range(2):
        check_chart(path)
        draw_chart([result()], path)
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    other.write_text('<?xml version="1.0" encoding="UTF-8"?>\n<svg/>', encoding="utf-8")
    for attempt in (check_chart, lambda path: draw_chart([result()], path)):
        with pytest.raises(
            UsageError, match=r"mine\.svg is there already and is not a chart of a benchmark\. It stays"
        ):
            attempt(other)
    assert other.read_text(encoding="utf-8").endswith("<svg/>")


def test_whether_a_chart_can_be_written_is_tried_without_a_trace(tmp_path):
    check_chart(tmp_path / "chart.svg")
    assert list(tmp_path.iterdir()) == []
    for path in (tmp_path / "no" / "chart.svg", tmp_path):
        with pytest.raises(OutputError, match=r"cannot write the benchmark's chart .*--benchmark-chart-path"):
            check_chart(path)
