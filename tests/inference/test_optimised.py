"""Graphs that are kept as they were optimised."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from facefusion.core.errors import ModelError
from facefusion.inference import optimised
from facefusion.inference.execution import Device
from facefusion.inference.kept import GRAPH, RECORD, KeptFile
from facefusion.inference.optimised import LEAST_BYTES, OptimisedGraphs
from facefusion.inference.session import DeviceMemoryError, LoadRequest, ModelFile, OrtSession, Session
from tests.conftest import BIG
from tests.inference.fakes import FakeSession, Heard, execution, graph

WEIGHTS = "weights.bin"
SHAPE = (1, 16, 12, 12)


def layers(folder: Path, name: str = "layers", seed: int = 1) -> ModelFile:
    """Two convolutions with a sum between them: something to fuse and to lay out anew; about 150 kB."""
    random = np.random.default_rng(seed)
    shapes = {"a": (64, 16, 3, 3), "b": (48, 64, 3, 3), "shift": (1, 64, 1, 1)}
    constants = [numpy_helper.from_array(random.random(shape, np.float32) - 0.5, key) for key, shape in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["c"], pads=[1] * 4),
        helper.make_node("Add", ["c", "shift"], ["d"]),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("Conv", ["e", "b"], ["y"], pads=[1] * 4),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *SHAPE[1:]])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 48, 12, 12])
    model = helper.make_model(
        helper.make_graph(nodes, name, [x], [y], constants),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
    )
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    assert path.stat().st_size >= LEAST_BYTES
    return ModelFile(name, path)


@dataclass
class Loads:
    """Loads for real, and remembers what kind of load it was."""

    kinds: list[str] = field(default_factory=list)

    def __call__(self, request: LoadRequest) -> Session:
        self.kinds.append("kept" if request.optimised else "write" if request.kept_as else "plain")
        return OrtSession(request)


@dataclass
class Keeper:
    """A folder of kept graphs, and what came to pass with it."""

    folder: Path
    loads: Loads = field(default_factory=Loads)
    heard: Heard = field(default_factory=Heard)

    def graphs(self, version: str = "1", most_bytes: int = optimised.MOST_BYTES) -> OptimisedGraphs:
        return OptimisedGraphs(self.folder, version, self.heard, most_bytes=most_bytes, load=self.loads)

    def load(self, model: ModelFile, version: str = "1", most_bytes: int = optimised.MOST_BYTES) -> Session:
        return self.graphs(version, most_bytes)(request(model))

    def kinds(self) -> list[str]:
        """Of the loads since this was last asked."""
        kinds, self.loads.kinds = self.loads.kinds, []
        return kinds

    @property
    def places(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    @property
    def place(self) -> Path:
        (place,) = self.places
        return place


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    yield Keeper(tmp_path / "caches" / "graphs")


def request(model: ModelFile, *providers: str) -> LoadRequest:
    return execution(*providers).requests(model, "ab" * 32, Device(0))[0]


def answers(session: Session, count: int = 2) -> np.ndarray:
    random = np.random.default_rng(7)
    return session.run({"x": random.random((count, *SHAPE[1:]), np.float32) - 0.5})["y"]


def test_a_graph_is_kept_by_its_first_load_and_mapped_by_the_next(keeper, tmp_path):
    model = layers(tmp_path)
    plain = OrtSession(request(model))

    first = keeper.load(model)
    assert keeper.kinds() == ["write", "kept"]
    second = keeper.load(model)
    assert keeper.kinds() == ["kept"]

    assert sorted(path.name for path in keeper.place.iterdir()) == [GRAPH, RECORD, WEIGHTS]
    assert first.signature == second.signature == plain.signature
    assert second.provider == "cpu"
    expected = answers(plain)
    np.testing.assert_array_equal(answers(first), expected)
    np.testing.assert_array_equal(answers(second), expected)
    assert keeper.heard.events == []


def test_embedded_models_give_the_same_bits_from_what_is_kept(embedded_models, keeper):
    random = np.random.default_rng(3)
    for card in embedded_models.catalogue.embedded():
        if card.graph is None or card.name in BIG:
            continue
        model = ModelFile(card.name, embedded_models.ensure(card))
        plain = OrtSession(request(model))
        keeper.load(model)
        kept = keeper.load(model)
        assert keeper.kinds()[-2:] == ["kept", "kept"]  # two of the models are one file
        inputs = {
            name: random.random([size or (96 if place else 1) for place, size in enumerate(value.shape)]).astype(
                value.dtype
            )
            for name, value in plain.signature.inputs.items()
        }
        expected, given = plain.run(inputs), kept.run(inputs)
        assert kept.signature == plain.signature
        assert {name: tensor.tobytes() for name, tensor in given.items()} == {
            name: tensor.tobytes() for name, tensor in expected.items()
        }, card.name


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x40
    path.write_bytes(content)


def become_pipe(path: Path) -> None:
    """A file that never ends where the system has such, else a folder."""
    path.unlink()
    if sys.platform == "win32":
        path.mkdir()
    else:
        os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: flip(place / WEIGHTS),
        lambda place: flip(place / GRAPH),
        lambda place: os.truncate(place / WEIGHTS, 4096),
        lambda place: (place / WEIGHTS).unlink(),
        lambda place: (place / GRAPH).write_bytes(b""),
        lambda place: become_pipe(place / WEIGHTS),
        lambda place: (place / RECORD).write_text("{"),
        lambda place: (place / RECORD).write_text('[{"name": "graph.onnx"}]'),
        lambda place: (place / RECORD).write_text(
            json.dumps({"graph": place.name, "files": [{"name": "graph.onnx"}]}, indent=1)
        ),
        lambda place: (place / RECORD).write_text("[" * 100_000),
        lambda place: (place / RECORD).write_bytes(bytes(range(256))),
    ],
    ids=[
        "bit of weights",
        "bit of graph",
        "cut",
        "no weights",
        "no graph",
        "a pipe",
        "no record",
        "of before",
        "half a record",
        "brackets",
        "no text",
    ],
)
def test_what_is_damaged_is_made_again_with_one_notice(keeper, tmp_path, damage):
    model = layers(tmp_path)
    keeper.load(model)
    place = keeper.place
    damage(place)
    keeper.kinds()

    session = keeper.load(model)
    assert keeper.kinds() == ["write", "kept"]
    np.testing.assert_array_equal(answers(session), answers(OrtSession(request(model))))
    assert [event.message for event in keeper.heard.events] == [
        f"The optimised graph of layers in {place} was damaged; it is made again."
    ]

    keeper.load(model)
    assert keeper.kinds() == ["kept"]
    assert len(keeper.heard.events) == 1
    assert keeper.places == [place]


def test_a_file_that_onnx_runtime_refuses_counts_as_damaged_though_its_record_fits(keeper, tmp_path):
    model = layers(tmp_path)
    keeper.load(model)
    graph_file, record = keeper.place / GRAPH, keeper.place / RECORD
    graph_file.write_bytes(b"no graph")
    table = json.loads(record.read_text())
    files = [file for file in table["files"] if file["name"] != GRAPH]
    record.write_text(json.dumps({**table, "files": [*files, asdict(KeptFile.of(graph_file))]}))
    keeper.kinds()

    keeper.load(model)
    assert keeper.kinds() == ["kept", "write", "kept"]
    assert len(keeper.heard.events) == 1


def test_a_copy_whose_times_differ_is_read_once_and_used(keeper, tmp_path):
    model = layers(tmp_path)
    keeper.load(model)
    shutil.copytree(keeper.folder, tmp_path / "copied" / "graphs", copy_function=shutil.copyfile)
    copied = Keeper(tmp_path / "copied" / "graphs")
    before = (copied.place / RECORD).read_text()

    copied.load(model)
    assert copied.kinds() == ["kept"]
    assert copied.heard.events == []
    after = json.loads((copied.place / RECORD).read_text())
    assert after != json.loads(before)
    assert all(KeptFile(**table).is_untouched(copied.place) for table in after["files"])


def test_graphs_that_changed_places_are_none_of_each_other(keeper, tmp_path):
    models = [layers(tmp_path, f"layers{number}", seed=number) for number in range(2)]
    for model in models:
        keeper.load(model)
    one, other = keeper.places
    one.rename(tmp_path / "aside")
    other.rename(one)
    (tmp_path / "aside").rename(other)
    keeper.kinds()

    for model in models:
        np.testing.assert_array_equal(answers(keeper.load(model)), answers(OrtSession(request(model))))
    assert keeper.kinds() == ["write", "kept"] * 2
    assert len(keeper.heard.events) == 2


@pytest.mark.parametrize("left", ["a folder", "a file"])
def test_what_is_no_kept_graph_makes_room_for_one(keeper, tmp_path, left):
    model = layers(tmp_path)
    keeper.load(model)
    place = keeper.place
    if left == "a folder":
        (place / RECORD).unlink()
    else:
        shutil.rmtree(place)
        place.write_bytes(b"")
    keeper.kinds()

    for _ in range(2):
        np.testing.assert_array_equal(answers(keeper.load(model)), answers(OrtSession(request(model))))
    assert keeper.kinds() == ["write", "kept", "kept"]
    assert keeper.places == [place]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
def test_others_may_read_what_is_kept_as_the_umask_says(keeper, tmp_path):
    before = os.umask(0o027)
    try:
        keeper.load(layers(tmp_path))
    finally:
        os.umask(before)
    assert stat.S_IMODE(keeper.place.stat().st_mode) == 0o750
    assert {stat.S_IMODE(path.stat().st_mode) for path in keeper.place.iterdir()} == {0o640}


@pytest.mark.parametrize("hidden", ["all", "the weights"])
def test_a_graph_that_another_user_keeps_for_himself_is_left_to_him(keeper, tmp_path, monkeypatch, hidden):
    model = layers(tmp_path)
    keeper.load(model)
    place = keeper.place
    keeper.kinds()
    is_file, may = Path.is_file, os.access

    def refuse(path: Path) -> bool:
        if hidden == "all" and path.parent == place:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != WEIGHTS and may(path, mode))
    if hidden == "all":
        monkeypatch.setattr(Path, "rename", lambda path, _: refuse(path / "any"))  # nor may it be moved

    np.testing.assert_array_equal(answers(keeper.load(model)), answers(OrtSession(request(model))))
    assert keeper.kinds()[-1] == "plain"
    assert keeper.heard.events == []
    assert keeper.places == [place]


def test_damage_that_may_not_be_removed_is_said_and_not_used(keeper, tmp_path, monkeypatch):
    model = layers(tmp_path)
    keeper.load(model)
    flip(keeper.place / WEIGHTS)
    keeper.kinds()
    monkeypatch.setattr(optimised, "discard", lambda place: None)

    np.testing.assert_array_equal(answers(keeper.load(model)), answers(OrtSession(request(model))))
    assert keeper.kinds() == ["plain"]
    assert [event.message for event in keeper.heard.events] == [
        f"The optimised graph of layers in {keeper.place} is damaged and cannot be removed, so it is not used. "
        "Remove that folder."
    ]


def test_what_a_full_disk_broke_off_is_tried_another_time(keeper, tmp_path):
    model, made = layers(tmp_path), []

    def load(one: LoadRequest) -> Session:
        made.append(one)
        if one.kept_as and len(made) == 1:
            (one.kept_as.parent / WEIGHTS).write_bytes(b"half")
            raise ModelError("the weights could not be written")
        return OrtSession(one)

    graphs = OptimisedGraphs(keeper.folder, "1", keeper.heard, load=load)
    graphs(request(model))
    assert keeper.places == []
    graphs(request(model))
    assert [bool(one.kept_as) for one in made] == [True, False, True, False]
    assert made[-1].optimised == keeper.place / GRAPH
    assert keeper.heard.events == []


def test_small_graphs_and_those_of_cards_are_loaded_as_they_are(keeper, tmp_path):
    keeper.load(graph(tmp_path))
    assert keeper.kinds() == ["plain"]

    made: list[LoadRequest] = []

    def load(one: LoadRequest) -> Session:
        made.append(one)
        return FakeSession("cuda")

    graphs = OptimisedGraphs(keeper.folder, "1", keeper.heard, load=load)
    wanted = request(layers(tmp_path), "cuda", "cpu")
    assert graphs(wanted).provider == "cuda"
    assert made == [wanted]
    assert not keeper.folder.exists()


def test_another_version_model_or_processor_has_a_graph_of_its_own(keeper, tmp_path, monkeypatch):
    model = layers(tmp_path)
    keeper.load(model, version="1")
    keeper.load(model, version="2")
    keeper.load(layers(tmp_path, "others", seed=2))
    monkeypatch.setattr(optimised, "instruction_sets", lambda: "Linux x86_64 of tomorrow")
    keeper.load(model, version="1")
    assert keeper.kinds() == ["write", "kept"] * 4
    assert len(keeper.places) == 4


def test_a_model_that_changes_under_its_name_is_another_one(keeper, tmp_path):
    model = layers(tmp_path)
    keeper.load(model)
    layers(tmp_path, seed=2)
    session = keeper.load(model)
    assert keeper.kinds() == ["write", "kept"] * 2
    np.testing.assert_array_equal(answers(session), answers(OrtSession(request(model))))


def test_a_model_with_weights_elsewhere_is_not_kept(keeper, tmp_path):
    model = layers(tmp_path)
    large = onnx.load(model.path)
    large.doc_string = "x" * LEAST_BYTES  # so that the file alone is large enough
    onnx.save(large, model.path, save_as_external_data=True, location="elsewhere.bin", size_threshold=0)
    expected = answers(OrtSession(request(model)))
    for _ in range(2):
        np.testing.assert_array_equal(answers(keeper.load(model)), expected)
    assert keeper.kinds() == ["plain", "plain"]
    assert [path.name for path in keeper.place.iterdir()] == [RECORD]
    assert keeper.heard.events == []


def test_a_file_that_is_no_graph_is_refused_in_the_same_words(keeper, tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"\x00" * LEAST_BYTES)
    with pytest.raises(ModelError) as expected:
        OrtSession(request(ModelFile("broken", path)))
    for _ in range(2):
        with pytest.raises(ModelError) as found:
            keeper.load(ModelFile("broken", path))
        assert str(found.value) == str(expected.value)
    assert keeper.kinds() == ["write", "plain", "plain"]
    with pytest.raises(ModelError, match=r"no\.onnx"):
        keeper.load(ModelFile("missing", tmp_path / "no.onnx"))


def test_least_recently_used_graphs_go_where_there_is_no_room(keeper, tmp_path):
    models = [layers(tmp_path, f"layers{number}", seed=number) for number in range(3)]
    keeper.load(models[0])
    (first,) = keeper.places
    size = sum(path.stat().st_size for path in first.iterdir())
    room = int(2.5 * size)
    keeper.load(models[1], most_bytes=room)
    (second,) = set(keeper.places) - {first}
    for place, age in ((first, 2000), (second, 1000)):
        os.utime(place / RECORD, ns=(age, age))

    held = keeper.load(models[0], most_bytes=room)  # it is the one used last from now on
    keeper.load(models[2], most_bytes=room)
    assert first in keeper.places
    assert second not in keeper.places
    assert len(keeper.places) == 2

    keeper.load(models[1], most_bytes=0)
    assert len(keeper.places) == 1
    np.testing.assert_array_equal(answers(held), answers(OrtSession(request(models[0]))))


@pytest.mark.parametrize("hindrance", ["a file in its place", "a full disk"])
def test_where_nothing_can_be_kept_the_model_is_loaded_as_it_is(keeper, tmp_path, monkeypatch, hindrance):
    if hindrance == "a full disk":
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=optimised.SPARE_BYTES))
    else:
        keeper.folder.parent.write_bytes(b"")
    session = keeper.load(layers(tmp_path))
    assert keeper.kinds() == ["plain"]
    assert answers(session).shape == (2, 48, 12, 12)


def test_where_memory_does_not_do_for_both_the_model_is_loaded_as_it_is(keeper, tmp_path):
    model, made = layers(tmp_path), []

    def load(one: LoadRequest) -> Session:
        made.append(one)
        if one.kept_as:
            raise DeviceMemoryError("no memory left")
        return OrtSession(one)

    OptimisedGraphs(keeper.folder, "1", keeper.heard, load=load)(request(model))
    assert [bool(one.kept_as) for one in made] == [True, False]
    assert keeper.places == []


def test_threads_and_processes_that_keep_the_same_graph_do_not_disturb_each_other(keeper, tmp_path):
    model = layers(tmp_path)
    together = threading.Barrier(4)
    several = [keeper.graphs() for _ in range(4)]

    def load(graphs: OptimisedGraphs) -> np.ndarray:
        together.wait()
        return answers(graphs(request(model)))

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(load, several))
    for result in results:
        np.testing.assert_array_equal(result, answers(OrtSession(request(model))))
    assert sorted(path.name for path in keeper.place.iterdir()) == [GRAPH, RECORD, WEIGHTS]
    assert keeper.heard.events == []


def test_the_number_of_threads_does_not_count(keeper, tmp_path):
    model = layers(tmp_path)
    keeper.load(model)
    keeper.load(ModelFile(model.name, model.path, threads=2))
    assert keeper.kinds() == ["write", "kept", "kept"]
