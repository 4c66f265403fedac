"""Files as FaceFusion publishes them: size unknown, known by the CRC-32 in the file beside them."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.fetch import Fetcher
from facefusion.catalogue.mirrors import MIRRORS, Published, addresses, mirrors_of
from facefusion.catalogue.source import UnreachableError
from facefusion.catalogue.store import ModelStore
from facefusion.core.errors import ModelError, Stopped
from facefusion.core.stop import StopToken
from facefusion.observability.events import Event, StageFinished, StageProgress, StageStarted
from tests.catalogue.toys import GRAPH, Ears, Server, card, crc32, published_file, sha256

OTHER = GRAPH[:-1] + b"?"


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {".fetch.lock"}


def test_addresses_follow_the_order_of_the_hosts():
    both = addresses(published_file("net_1.4.onnx", "models-3.1.0"), mirrors_of(["huggingface", "github"]))
    assert both == tuple(
        Published(f"{folder}/net_1.4.onnx", f"{folder}/net_1.4.hash")
        for folder in (
            "https://huggingface.co/facefusion/models-3.1.0/resolve/main",
            "https://hf-mirror.com/facefusion/models-3.1.0/resolve/main",
            "https://github.com/facefusion/facefusion-assets/releases/download/models-3.1.0",
        )
    )


def test_a_file_of_a_folder_is_asked_for_where_its_host_has_it():
    graph = published_file("jen/somebody_224.dfm", "deepfacelive-models-jen", "huggingface")
    (found, _) = addresses(graph, MIRRORS)
    assert found.file == "https://huggingface.co/facefusion/deepfacelive-models-jen/resolve/main/somebody_224.dfm"
    assert found.checksum.endswith("/somebody_224.hash")
    assert addresses(graph, mirrors_of(["github"])) == ()


def test_the_file_comes_with_its_checksum_and_a_record(tmp_path):
    ears = Ears()
    with Server(GRAPH) as server:
        Fetcher(tmp_path, ears, mirrors=[server.mirror]).fetch([published_file()])
        Fetcher(tmp_path, ears, mirrors=[server.mirror]).fetch([published_file()])  # it is there
    assert server.paths == ["/models-3.0.0/toy.hash", "/models-3.0.0/toy.onnx"]
    assert names(tmp_path) == {"toy.onnx", "toy.hash", "toy.onnx.json"}
    assert (tmp_path / "toy.onnx").read_bytes() == GRAPH
    assert (tmp_path / "toy.hash").read_text() == crc32(GRAPH)
    record = json.loads((tmp_path / "toy.onnx.json").read_text())
    assert (record["sha256"], record["sources"]) == (sha256(GRAPH), {"crc32": crc32(GRAPH)})
    assert ears.events[0] == StageStarted("Fetching toy.onnx", len(GRAPH), "B")
    assert sum(event.amount for event in ears.events if isinstance(event, StageProgress)) == len(GRAPH)
    assert ears.events[-1] == StageFinished(complete=True)


def test_a_folder_of_the_name_is_made(tmp_path):
    with Server(GRAPH) as server:
        Fetcher(tmp_path, Ears(), mirrors=[server.mirror]).fetch([published_file("jen/somebody_224.dfm")])
    assert names(tmp_path) == {f"jen/somebody_224.{ending}" for ending in ("dfm", "hash", "dfm.json")}


def test_a_server_that_says_no_size_is_believed_by_the_checksum(tmp_path):
    ears = Ears()
    with Server(GRAPH, tells_size=False) as server:
        Fetcher(tmp_path, ears, mirrors=[server.mirror]).fetch([published_file()])
    assert (tmp_path / "toy.onnx").read_bytes() == GRAPH
    assert ears.events[0] == StageStarted("Fetching toy.onnx", None, "B")


class Impatient(Ears):
    """Asks to stop as soon as bytes come."""

    def __init__(self, stop: StopToken) -> None:
        super().__init__()
        self._stop = stop

    def emit(self, event: Event) -> None:
        if isinstance(event, StageProgress):
            self._stop.request("Ctrl-C")


def test_what_one_server_left_unfinished_the_other_continues(tmp_path):
    stop = StopToken()
    with Server(GRAPH, cut=[70_000]) as first, pytest.raises(Stopped):
        Fetcher(tmp_path, Impatient(stop), stop, mirrors=[first.mirror]).fetch([published_file()])
    (part,) = names(tmp_path)
    begun = (tmp_path / part).stat().st_size
    assert part == f".{crc32(GRAPH)}-toy.onnx.part"
    assert 0 < begun < len(GRAPH)
    with Server(GRAPH) as second:
        Fetcher(tmp_path, Ears(), mirrors=[second.mirror]).fetch([published_file()])
    assert second.asked == [f"bytes={begun}-"]
    assert (tmp_path / "toy.onnx").read_bytes() == GRAPH


def test_a_whole_file_that_was_not_moved_any_more_is_not_fetched_again(tmp_path):
    (tmp_path / f".{crc32(GRAPH)}-toy.onnx.part").write_bytes(GRAPH)
    with Server(GRAPH) as server:
        Fetcher(tmp_path, Ears(), mirrors=[server.mirror]).fetch([published_file()])
    assert server.asked == []
    assert names(tmp_path) == {"toy.onnx", "toy.hash", "toy.onnx.json"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"checksum": "<html>"}, "toy.hash there holds no CRC-32"),
        ({"checksum": "x" * 5000}, "the file there is longer than it can be"),
        ({"checksum": crc32(OTHER)}, "the file there is not what it should be (its CRC-32 differs)"),
        ({"status": [404]}, "the server answers 404 Not Found"),
        ({"status": [302]}, "the server redirects and never arrives"),
        (
            {"instead": b"<html>Sign in</html>"},
            "the file there is not what it should be (it is a web page, not the file itself)",
        ),
        ({"instead": b""}, "the file there is not what it should be (it is empty)"),
    ],
)
def test_the_next_server_is_asked_where_one_does_not_deliver(tmp_path, options, reason):
    with Server(GRAPH, **options) as bad, Server(GRAPH) as good:
        ears, mirrors = Ears(), [bad.mirror, good.mirror]
        Fetcher(tmp_path / "good", ears, mirrors=mirrors).fetch([published_file()])
    address = bad.url.replace("net", "models-3.0.0/toy")
    assert ears.notices == [f"toy.onnx: from {address}: {reason}. Trying the next address."]
    assert (tmp_path / "good" / "toy.onnx").read_bytes() == GRAPH

    with Server(GRAPH, **options) as bad, pytest.raises(ModelError) as caught:
        Fetcher(tmp_path / "bad", Ears(), mirrors=[bad.mirror]).fetch([published_file()])
    assert str(caught.value) == (
        f"toy.onnx cannot be fetched: from {bad.url.replace('net', 'models-3.0.0/toy')}: {reason}. Check the network "
        "and --download-providers and try again, or copy the file and toy.hash from a FaceFusion's .assets/models into "
        f"{tmp_path / 'bad'}."
    )
    assert names(tmp_path / "bad") == set()


def test_a_server_that_cannot_be_reached_is_not_asked_again(tmp_path):
    asked = []

    def unreachable(address):
        asked.append(address)
        raise UnreachableError("no connection (4 attempts)")

    fetcher = Fetcher(tmp_path, Ears(), mirrors=mirrors_of(["github"]), download_text=unreachable)
    with pytest.raises(ModelError, match=r"toy\.onnx: no connection \(4 attempts\)"):
        fetcher.fetch([published_file("toy.onnx")])
    with pytest.raises(ModelError, match=r"boy\.onnx: no connection a moment ago"):
        fetcher.fetch([published_file("boy.onnx")])
    assert len(asked) == 1


def test_where_no_host_is_asked_that_is_said(tmp_path):
    with pytest.raises(ModelError, match=r"^toy\.onnx cannot be fetched: no host that is asked has it\. Check"):
        Fetcher(tmp_path, Ears(), mirrors=[]).fetch([published_file()])


def test_a_file_for_which_there_is_no_room_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=len(GRAPH) - 1))
    with Server(GRAPH) as server, pytest.raises(ModelError, match=r"^The disk is full: a model cannot be stored in"):
        Fetcher(tmp_path, Ears(), mirrors=[server.mirror]).fetch([published_file()])
    assert names(tmp_path) == set()


@pytest.fixture
def shelf(tmp_path):
    """A folder as FaceFusion leaves it, and the store that looks into it."""
    folder = tmp_path / "assets"
    folder.mkdir()
    (folder / "toy.onnx").write_bytes(GRAPH)
    (folder / "toy.hash").write_text(crc32(GRAPH))
    return folder


def store_of(folder, ears, stand_ins=()):
    model = card("toy", published_file(), embedded=False)
    object.__setattr__(model, "stand_ins", tuple(stand_ins))
    own = folder.parent / "models"
    return ModelStore(Catalogue([model], {"face_swapper": ("toy",)}), [own, folder], ears), model


def test_the_file_that_facefusion_left_is_used_in_place_and_nothing_is_written(shelf):
    store, model = store_of(shelf, Ears())
    assert store.ensure(model) == shelf / "toy.onnx"
    assert names(shelf.parent) == {"assets/toy.onnx", "assets/toy.hash"}


def test_an_altered_file_is_named_and_not_used(shelf):
    ears = Ears()
    store, model = store_of(shelf, ears)
    assert store.find(model) is not None
    (shelf / "toy.onnx").write_bytes(OTHER + b"!")
    assert store.find(model) is None
    assert ears.notices == [f"{shelf / 'toy.onnx'} is not used: its CRC-32 is not the one in toy.hash."]


def test_a_file_without_its_checksum_is_not_used(shelf):
    (shelf / "toy.hash").unlink()
    ears = Ears()
    store, model = store_of(shelf, ears)
    assert store.find(model) is None
    assert ears.notices == [f"{shelf / 'toy.onnx'} is not used: neither toy.onnx.json nor toy.hash lies beside it."]


def test_a_stand_in_is_used_where_the_models_own_file_is_not_there(shelf):
    (shelf / "old_toy.onnx").write_bytes(OTHER)
    (shelf / "old_toy.hash").write_text(crc32(OTHER))
    store, model = store_of(shelf, Ears(), [published_file("old_toy.onnx")])
    assert store.find(model) == shelf / "toy.onnx"
    (shelf / "toy.onnx").unlink()
    assert store.find(model) == shelf / "old_toy.onnx"
