"""Graphs with the signatures of the face detectors, which find one square of pure blue.

A graph finds the square's middle and side from sums over the picture, so it takes pictures of any size and squares at
any fraction of a pixel. It knows a picture by its mean and deviation: where those are wrong, or red and blue are
swapped, it finds nothing or something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import cv2
import numpy as np
import onnx
from onnx import TensorProto

from facefusion.catalogue.convert.builder import GraphBuilder
from tests.faces.fakes import ArrayPicture

STRIDES = (8, 16, 32)
PLACES = np.array(((-0.2, -0.2), (0.2, -0.2), (0.0, 0.05), (-0.18, 0.28), (0.18, 0.28)), np.float32)
"""Where the five points lie, in sides of the square from its middle."""
SHARPNESS = 8

Side = int | str


def planted(x: float, y: float, side: float, width: int, height: int) -> ArrayPicture:
    """A grey picture with a blue square whose middle is at (x, y), to a fraction of a pixel."""
    wide, high = width * SHARPNESS, height * SHARPNESS
    fine = np.zeros((high, wide), np.uint8)
    corner, end = ([round((place + 0.5 + step * side / 2) * SHARPNESS) for place in (x, y)] for step in (-1, 1))
    fine[max(corner[1], 0) : end[1], max(corner[0], 0) : end[0]] = 255
    pixels = np.full((height, width, 3), 40, np.uint8)
    blue = cv2.resize(fine, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    pixels[..., 0] = np.rint(40 + 200 * blue)
    return ArrayPicture(pixels)


class _Square(NamedTuple):
    x: str
    y: str
    side: str
    present: str
    """0 or 1."""
    blue: str
    """1 x 1 x height x width."""


def scrfd(height: Side, width: Side, *, anchors: int = 2, batched: bool = False, half: bool = False) -> onnx.ModelProto:
    """Scores, edges and points of each stride, as RetinaFace and SCRFD give them."""
    build = GraphBuilder("scrfd")
    square = _square(build, _input(build, half), mean=127.5, deviation=128.0)
    kinds: dict[str, list[str]] = {"score": [], "bbox": [], "kps": []}
    for stride in STRIDES:
        x, y, score = _anchors(build, square, stride, anchors)
        edges = [
            _scaled(build, build.add("Sub", far, near), 1 / stride)
            for far, near in (
                (x, _edge(build, square.x, square, -0.5)),
                (y, _edge(build, square.y, square, -0.5)),
                (_edge(build, square.x, square, 0.5), x),
                (_edge(build, square.y, square, 0.5), y),
            )
        ]
        points = [
            _scaled(build, build.add("Sub", place, anchor), 1 / stride)
            for dx, dy in PLACES.tolist()
            for place, anchor in ((_edge(build, square.x, square, dx), x), (_edge(build, square.y, square, dy), y))
        ]
        for kind, columns in (("score", [score]), ("bbox", edges), ("kps", points)):
            kinds[kind].append(_table(build, columns, f"{kind}_{stride}", batched=batched, half=half))
    widths = {"score": 1, "bbox": 4, "kps": 10}
    outputs = {
        name: (*((1,) if batched else ()), f"n_{name}", widths[kind]) for kind, names in kinds.items() for name in names
    }
    return _model(build, height, width, outputs, half)


def yolo_face(height: Side, width: Side, *, half: bool = False) -> onnx.ModelProto:
    """All candidates in one table, in pixels."""
    build = GraphBuilder("yolo_face")
    square = _square(build, _input(build, half), mean=0.0, deviation=255.0)
    tables = []
    for stride in STRIDES:
        x, _, score = _anchors(build, square, stride, 1)
        zero = _scaled(build, x, 0.0)
        columns = [build.add("Add", zero, value) for value in (square.x, square.y, square.side, square.side)]
        columns.append(score)
        for dx, dy in PLACES.tolist():
            columns += [
                build.add("Add", zero, _edge(build, middle, square, step))
                for middle, step in ((square.x, dx), (square.y, dy))
            ]
            columns.append(build.add("Add", zero, build.constant(0.7)))
        tables.append(build.add("Concat", *columns, axis=1))
    rows = build.add("Concat", *tables, axis=0)
    turned = build.add("Unsqueeze", build.add("Transpose", rows, perm=[1, 0]), build.constant([0], np.int64))
    _finish(build, turned, "output0", half=half)
    return _model(build, height, width, {"output0": (1, 20, "n")}, half)


def yunet(height: Side, width: Side, names: Sequence[str], *, half: bool = False) -> onnx.ModelProto:
    """Class, objectness, box and points of each stride, in this order, under any names."""
    build = GraphBuilder("yunet")
    square = _square(build, _input(build, half), mean=0.0, deviation=1.0)
    tables: dict[int, list[list[str]]] = {kind: [] for kind in range(4)}
    for stride in STRIDES:
        x, y, score = _anchors(build, square, stride, 1)
        size = build.add("Add", _scaled(build, x, 0.0), build.add("Log", _scaled(build, square.side, 1 / stride)))
        middle = [
            _scaled(build, build.add("Sub", place, anchor), 1 / stride)
            for place, anchor in ((square.x, x), (square.y, y))
        ]
        points = [
            _scaled(build, build.add("Sub", place, anchor), 1 / stride)
            for dx, dy in PLACES.tolist()
            for place, anchor in ((_edge(build, square.x, square, dx), x), (_edge(build, square.y, square, dy), y))
        ]
        for kind, columns in enumerate(([score], [score], [*middle, size, size], points)):
            tables[kind].append(columns)
    widths = (1, 1, 4, 10)
    outputs = {}
    flat = [(columns, widths[kind]) for kind, strides in tables.items() for columns in strides]
    for name, (columns, wide) in zip(names, flat, strict=True):
        _table(build, columns, name, batched=True, half=half)
        outputs[name] = (1, f"n_{name}", wide)
    return _model(build, height, width, outputs, half)


def _offsets(build: GraphBuilder, square: _Square, x: str, y: str, stride: int) -> list[str]:
    """From the anchors to the five points, in strides: x and y by turns."""
    places = [(square.x, dx, x, square.y, dy, y) for dx, dy in PLACES.tolist()]
    pairs = [pair for px, dx, ax, py, dy, ay in places for pair in ((px, dx, ax), (py, dy, ay))]
    return [
        _scaled(build, build.add("Sub", _edge(build, middle, square, step), anchor), 1 / stride)
        for middle, step, anchor in pairs
    ]


def _input(build: GraphBuilder, half: bool) -> str:
    return build.add("Cast", "input", to=TensorProto.FLOAT) if half else "input"


def _square(build: GraphBuilder, values: str, mean: float, deviation: float) -> _Square:
    """Middle and side of the square, 1 x 1 each, from the sums of its blue over the grey around it."""
    levels = build.add("Add", _scaled(build, values, deviation), build.constant(mean))
    blue, green = (
        build.add("Slice", levels, *(build.constant([n], np.int64) for n in (channel, channel + 1, 1)))
        for channel in (0, 1)
    )
    weight = build.add("Relu", _scaled(build, build.add("Sub", blue, green), 1 / 200))
    ones = build.add("Add", _scaled(build, weight, 0.0), build.constant(1.0))
    total = build.add("ReduceSum", weight)
    safe = build.add("Max", total, build.constant(1.0))
    x, y = (
        build.reshape(build.add("Div", build.add("ReduceSum", build.add("Mul", weight, places)), safe), (1, 1))
        for places in (build.add("CumSum", ones, build.constant(axis, np.int64), exclusive=1) for axis in (3, 2))
    )
    side = build.reshape(build.add("Sqrt", safe), (1, 1))
    present = build.reshape(build.add("Min", total, build.constant(1.0)), (1, 1))
    return _Square(x, y, side, present, weight)


def _anchors(build: GraphBuilder, square: _Square, stride: int, count: int) -> tuple[str, str, str]:
    """X and y of all anchors, ``count`` to a cell, and what they score by their nearness; each n x 1."""
    cells = build.add("MaxPool", square.blue, kernel_shape=[stride, stride], strides=[stride, stride])
    ones = build.add("Add", _scaled(build, cells, 0.0), build.constant(1.0))
    x, y = (
        build.reshape(
            build.add("Concat", *[build.reshape(_scaled(build, places, stride), (-1, 1))] * count, axis=1), (-1, 1)
        )
        for places in (build.add("CumSum", ones, build.constant(axis, np.int64), exclusive=1) for axis in (3, 2))
    )
    far = build.add(
        "Add", *(build.add("Abs", build.add("Sub", place, anchor)) for place, anchor in ((square.x, x), (square.y, y)))
    )
    near = build.add("Relu", build.add("Sub", build.constant(1.0), _scaled(build, far, 1 / (4 * stride))))
    return x, y, build.add("Mul", near, square.present)


def _edge(build: GraphBuilder, middle: str, square: _Square, step: float) -> str:
    return build.add("Add", middle, _scaled(build, square.side, step))


def _scaled(build: GraphBuilder, value: str, factor: float) -> str:
    return build.add("Mul", value, build.constant(factor))


def _table(build: GraphBuilder, columns: list[str], name: str, *, batched: bool, half: bool) -> str:
    rows = build.add("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
    if batched:
        rows = build.add("Unsqueeze", rows, build.constant([0], np.int64))
    return _finish(build, rows, name, half=half)


def _finish(build: GraphBuilder, value: str, name: str, *, half: bool) -> str:
    return build.add("Cast", value, output=name, to=TensorProto.FLOAT16 if half else TensorProto.FLOAT)


def _model(
    build: GraphBuilder, height: Side, width: Side, outputs: Mapping[str, tuple[int | str, ...]], half: bool
) -> onnx.ModelProto:
    model = build.model({"input": (1, 3, height, width)}, outputs)
    if half:
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    return model


def yolo_table(rows: Sequence[Sequence[float]], side: int) -> onnx.ModelProto:
    """YOLO face that finds the same in every picture: middle, size, score, and x, y and visibility of five points."""
    build = GraphBuilder("yolo_table")
    nothing = build.add("Mul", build.add("ReduceMean", "input", keepdims=0), build.constant(0.0))
    build.add("Add", build.constant([list(column) for column in zip(*rows, strict=True)]), nothing, output="table")
    build.add("Unsqueeze", "table", build.constant([0], np.int64), output="output0")
    return build.model({"input": (1, 3, side, side)}, {"output0": (1, 20, len(rows))})
