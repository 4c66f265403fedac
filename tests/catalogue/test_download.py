"""Downloads from a server on this machine that breaks off, refuses and lies."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from facefusion.catalogue.card import Download
from facefusion.catalogue.download import ATTEMPTS, download_file
from facefusion.catalogue.source import SourceError, UnreachableError
from facefusion.core.errors import Stopped
from facefusion.core.stop import StopToken
from facefusion.observability.events import StageFinished, StageProgress, StageStarted
from tests.catalogue.toys import GRAPH, Ears, Server, sha256


class Pauses(list[float]):
    """Notes the pauses instead of waiting."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def fetch(server: Server, folder: Path, pauses: Pauses | None = None, ears: Ears | None = None) -> Path:
    source = Download(server.url, sha256(GRAPH), len(GRAPH))
    return download_file(source, folder, ears or Ears(), Pauses() if pauses is None else pauses)


def test_the_file_comes_whole_and_progress_adds_up(tmp_path):
    ears = Ears()
    with Server(GRAPH) as server:
        path = fetch(server, tmp_path, ears=ears)

    assert path.read_bytes() == GRAPH
    assert ears.events[0] == StageStarted("Fetching net.onnx", len(GRAPH), "B")
    assert ears.events[-1] == StageFinished(complete=True)
    assert sum(event.amount for event in ears.events if isinstance(event, StageProgress)) == len(GRAPH)


def test_a_broken_connection_is_continued_after_growing_pauses(tmp_path):
    pauses = Pauses()
    with Server(GRAPH, cut=[70_000, 1000, None]) as server:
        path = fetch(server, tmp_path, pauses)

    assert path.read_bytes() == GRAPH
    assert server.asked == [None, "bytes=70000-", "bytes=71000-"]
    assert pauses == [1.0, 2.0]


def test_a_later_call_continues_what_an_earlier_one_left(tmp_path):
    with Server(GRAPH, cut=[50_000] + [0] * (ATTEMPTS - 1)) as server, pytest.raises(SourceError) as caught:
        fetch(server, tmp_path)
    assert str(caught.value) == f"the connection ended after 50000 of {len(GRAPH)} bytes (4 attempts)"

    with Server(GRAPH) as server:
        path = fetch(server, tmp_path)

    assert server.asked == ["bytes=50000-"]
    assert path.read_bytes() == GRAPH


def test_a_server_that_cannot_continue_sends_all_again(tmp_path):
    with Server(GRAPH, cut=[70_000, None], ranges=False) as server:
        path = fetch(server, tmp_path)

    assert path.read_bytes() == GRAPH


def test_a_damaged_beginning_is_thrown_away(tmp_path):
    with Server(GRAPH, cut=[50_000] + [0] * (ATTEMPTS - 1)) as server, pytest.raises(SourceError):
        fetch(server, tmp_path)
    (left,) = tmp_path.iterdir()
    left.write_bytes(b"x" * 50_000)

    with Server(GRAPH) as server:
        path = fetch(server, tmp_path)

    assert server.asked == ["bytes=50000-", None]
    assert path.read_bytes() == GRAPH


@pytest.mark.parametrize("data", [GRAPH[:-1] + b"?", GRAPH + b"?"], ids=["other bytes", "too long"])
def test_another_file_is_refused_at_once(tmp_path, data):
    with Server(data) as server, pytest.raises(SourceError, match="not what it should be"):
        fetch(server, tmp_path)

    assert len(server.asked) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_is_final(tmp_path):
    with Server(GRAPH, status=[404]) as server, pytest.raises(SourceError, match=r"^the server answers 404 Not Found$"):
        fetch(server, tmp_path)

    assert len(server.asked) == 1


def test_an_overloaded_server_is_asked_again(tmp_path):
    with Server(GRAPH, status=[503, 429]) as server:
        path = fetch(server, tmp_path)

    assert path.read_bytes() == GRAPH
    assert len(server.asked) == 3


def test_no_server_is_told_after_all_attempts(tmp_path):
    with Server(GRAPH) as server:
        pass

    with pytest.raises(UnreachableError, match=r"^no connection \(.*refused.*\) \(4 attempts\)$"):
        fetch(server, tmp_path)


def test_a_folder_that_is_gone_is_not_blamed_on_the_server(tmp_path):
    with Server(GRAPH) as server, pytest.raises(FileNotFoundError):
        fetch(server, tmp_path / "gone")


def test_a_server_that_says_nothing_does_not_hold_up_a_stop(tmp_path):
    stop = StopToken()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/net.onnx"
        source = Download(address, sha256(GRAPH), len(GRAPH))
        threading.Timer(0.2, stop.request, ["Ctrl-C"]).start()
        with pytest.raises(Stopped, match="Ctrl-C"):
            download_file(source, tmp_path, Ears(), stop=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_continues_at_another_place_is_not_believed(tmp_path):
    with Server(GRAPH, cut=[70_000, None, None], skips=5) as server:
        assert fetch(server, tmp_path).read_bytes() == GRAPH
    assert server.asked == [None, "bytes=70000-", None]
