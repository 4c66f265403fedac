"""Graphs that mean harm: none runs a program, reads what does not lie beside it, or takes more memory than there is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from facefusion.core.errors import ModelError
from facefusion.inference.graph_rules import MOST_NODES, broken_rule
from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from tests.hostile.graphs import (
    ADD,
    OWN,
    claimed,
    compiled,
    constant,
    doubling,
    elsewhere,
    hidden,
    nested,
    saved,
    sum_of,
    within_itself,
)
from tests.hostile.trial import Outcome, tried

REMEDY = "Delete the file and fetch it again with force-download, or bring another one."
FITTING = 64 << 20
"""Bytes: no small graph may take more."""


def make_graphs(folder: Path) -> list[Path]:
    many, zero, one = (constant(name, np.int64(value)) for name, value in (("n", 1 << 40), ("zero", 0), ("one", 1)))
    size = constant("n", np.array([1 << 33]))
    numbers = constant("w", np.ones(4, np.float32))
    node = helper.make_node
    return [
        saved(folder / "claims.onnx", [ADD], [claimed(1 << 40)]),
        saved(folder / "overflows.onnx", [ADD], [claimed(1 << 31, 1 << 31, 1 << 31)]),
        saved(folder / "negative.onnx", [ADD], [claimed(-1)]),
        saved(folder / "filled.onnx", sum_of(node("ConstantOfShape", ["n"], ["large"])), [size]),
        saved(
            folder / "counted.onnx",
            sum_of(node("Range", ["zero", "n", "one"], ["counted"]), node("Cast", ["counted"], ["large"], to=1)),
            [zero, one, many],
        ),
        saved(folder / "tiled.onnx", sum_of(node("Tile", ["x", "n"], ["large"])), [size]),
        saved(folder / "stranger.onnx", [node("Run", ["x"], ["y"], domain=OWN)]),
        saved(folder / "python.onnx", [node("PyOp", ["x"], ["y"], domain="com.microsoft", module="os")]),
        saved(folder / "compiled.onnx", [compiled("engine")]),
        saved(folder / "hidden.onnx", hidden(compiled("engine")), [constant("choice", np.bool_(True))]),
        saved(folder / "doubling.onnx", [node("F39", ["x"], ["y"], domain=OWN)], functions=doubling(40)),
        saved(folder / "itself.onnx", [node("F", ["x"], ["y"], domain=OWN)], functions=[within_itself()]),
        saved(folder / "circle.onnx", [node("Add", ["x", "b"], ["a"]), node("Add", ["a", "x"], ["b"])]),
        saved(folder / "plain.onnx", [ADD], [numbers]),
    ]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("graphs")
    deep = folder / "deep.onnx"
    deep.write_bytes(nested(5000))
    return tried("graph", [*make_graphs(folder), deep])


@pytest.mark.skipif(sys.platform != "linux", reason="limits and measures memory as Linux does")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("claims", "ModelError: claims: claims.onnx could not be loaded ("),
        ("overflows", "ModelError: overflows: overflows.onnx could not be loaded ("),
        ("negative", "ModelError: negative: negative.onnx could not be loaded ("),
        ("filled", "DeviceMemoryError: filled: no memory left to run on cpu. "),
        ("counted", "DeviceMemoryError: counted: no memory left to run on cpu. "),
        ("tiled", "ModelError: tiled: the graph could not be run on cpu ("),
        ("stranger", "ModelError: stranger: stranger.onnx could not be loaded (Fatal error: own:Run(-1) is not a "),
        (
            "python",
            "ModelError: python: python.onnx could not be loaded (Fatal error: com.microsoft:PyOp(-1) is not a ",
        ),
        (
            "compiled",
            "ModelError: compiled: compiled.onnx holds a program that was compiled elsewhere, which would be ",
        ),
        ("hidden", "ModelError: hidden: hidden.onnx holds a program that was compiled elsewhere, which would be run "),
        ("doubling", f"ModelError: doubling: doubling.onnx has more than {MOST_NODES} nodes. "),
        ("itself", "ModelError: itself: itself.onnx holds a function that uses itself. "),
        ("circle", "ModelError: circle: circle.onnx could not be loaded ("),
        ("deep", "ModelError: deep.onnx is no ONNX file, or only a part of one. "),
        ("plain", "read"),
    ],
)
def test_a_graph_is_refused_in_words_and_before_it_takes_memory(
    outcomes: dict[str, Outcome], name: str, said: str
) -> None:
    outcome = outcomes[f"{name}.onnx"]
    assert outcome.said.startswith(said)
    assert outcome.grown < FITTING


def load(path: Path) -> OrtSession:
    return OrtSession(LoadRequest(ModelFile("own", path), ((CPU, CpuOptions()),)))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Four numbers that lie beside the folder of models."""
    (tmp_path / "models").mkdir()
    path = tmp_path / "secret.bin"
    path.write_bytes(np.full(4, 7, np.float32).tobytes())
    return path


def test_constants_may_lie_beside_a_graph(secret: Path, tmp_path: Path) -> None:
    secret.rename(tmp_path / "models/weights.bin")
    graph = saved(tmp_path / "models/own.onnx", [ADD], [elsewhere("weights.bin")])
    np.testing.assert_array_equal(load(graph).run({"x": np.zeros(4, np.float32)})["y"], np.full(4, 7))


@pytest.mark.parametrize("location", ["../secret.bin", "{0}", "../models/../secret.bin", "link.bin", "link/secret.bin"])
def test_constants_that_lie_elsewhere_are_not_read(secret: Path, tmp_path: Path, location: str) -> None:
    (tmp_path / "models/link.bin").symlink_to(secret)
    (tmp_path / "models/link").symlink_to(tmp_path, target_is_directory=True)
    graph = saved(tmp_path / "models/own.onnx", [ADD], [elsewhere(location.format(secret))])
    with pytest.raises(ModelError, match=r"keeps its weights in another file, which cannot be had \("):
        load(graph)


@pytest.mark.parametrize("location", ["/dev/zero", "/proc/self/mem", "*/_ORT_MEM_ADDR_/*", "models", ""])
def test_constants_in_what_is_no_file_are_not_read(secret: Path, tmp_path: Path, location: str) -> None:
    (tmp_path / "models/models").mkdir()
    graph = saved(tmp_path / "models/own.onnx", [ADD], [elsewhere(location, offset=4096)])
    with pytest.raises(ModelError):
        load(graph)


@pytest.mark.parametrize("way", ["graph", "function", "branch"])
def test_what_was_compiled_elsewhere_is_found_wherever_it_stands(tmp_path: Path, way: str) -> None:
    path = tmp_path / "own.onnx"
    if way == "graph":
        saved(path, [compiled("engine")])
    elif way == "branch":
        saved(path, hidden(compiled("engine")), [constant("choice", np.bool_(True))])
    else:
        node = helper.make_node("EPContext", ["a"], ["b"], domain="com.microsoft")
        saved(
            path, [ADD], functions=[helper.make_function(OWN, "F", ["a"], ["b"], [node], [helper.make_opsetid("", 17)])]
        )
    assert broken_rule(path) == "holds a program that was compiled elsewhere, which would be run as it is"


@pytest.mark.parametrize(("layers", "fault"), [(19, ""), (20, f"has more than {MOST_NODES} nodes")])
def test_functions_are_counted_as_they_are_laid_out(tmp_path: Path, layers: int, fault: str) -> None:
    """Layer n stands for 2^n nodes; beside it there is one."""
    nodes = [helper.make_node(f"F{layers - 1}", ["x"], ["z"], domain=OWN), helper.make_node("Relu", ["z"], ["y"])]
    assert broken_rule(saved(tmp_path / "own.onnx", nodes, functions=doubling(layers))) == fault


def test_an_entry_that_is_longer_than_the_file_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "own.onnx"
    path.write_bytes(b"\x08\x08\x3a\xff\xff\xff\xff\x07")
    with pytest.raises(ModelError) as refused:
        load(path)
    assert str(refused.value) == (
        f"own: {path} cannot be read as a graph (an entry is longer than what holds it). {REMEDY}"
    )


def test_a_name_that_is_no_text_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = saved(tmp_path / "own.onnx", [helper.make_node("Identity", ["x"], ["y"])])
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "side_of_x"
    path.write_bytes(model.SerializeToString().replace(b"side_of_x", b"side\xffof\xffx"))
    with pytest.raises(ModelError) as refused:
        load(path)
    assert str(refused.value) == f"own: {path} cannot be read as a graph (a name in it is no text). {REMEDY}"
