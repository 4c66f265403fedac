"""Fetching into a folder: from a wheel, from an address instead, and each way it can fail."""

from __future__ import annotations

import dataclasses
import errno
import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import filelock
import psutil
import pytest

from facefusion.catalogue import wheels
from facefusion.catalogue.card import Wheel
from facefusion.catalogue.fetch import Fetcher
from facefusion.catalogue.source import SourceError
from facefusion.core.errors import ModelError, Stopped
from facefusion.core.stop import StopToken
from facefusion.observability.events import Event, StageProgress
from tests.catalogue.toys import GRAPH, MEMBER, WHEEL, Ears, Pip, Server, graph_file, sha256, wheel_of


def left_behind(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".fetch.lock"}


def refuse(*_arguments: object) -> Path:
    raise SourceError("nobody is there")


def test_a_wheel_member_lands_under_its_name_with_a_record(tmp_path):
    pip = Pip()

    Fetcher(tmp_path / "models", Ears(), pip=pip).fetch([graph_file()])

    assert (tmp_path / "models" / "toy.onnx").read_bytes() == GRAPH
    record = json.loads((tmp_path / "models" / "toy.onnx.json").read_text())
    assert record["sha256"] == sha256(GRAPH)
    assert record["sources"] == {"graph": sha256(GRAPH)}
    assert left_behind(tmp_path / "models") == {"toy.onnx", "toy.onnx.json"}
    assert pip.calls[0][:5] == ["download", "--no-deps", "--no-input", "--only-binary", ":all:"]
    assert pip.calls[0][-1] == "toy-models==1.0"


def test_one_wheel_serves_several_files_and_nothing_is_fetched_twice(tmp_path):
    pip = Pip()
    fetcher = Fetcher(tmp_path, Ears(), pip=pip)

    fetcher.fetch([graph_file("one.onnx"), graph_file("two.onnx")])
    fetcher.fetch([graph_file("one.onnx"), graph_file("two.onnx")])

    assert len(pip.calls) == 1


def test_the_address_is_the_second_source_and_that_is_said(tmp_path):
    ears = Ears()
    with Server(GRAPH) as server:
        graph = graph_file(urls=[server.url])
        Fetcher(tmp_path, ears, pip=Pip(None, "ERROR: No matching distribution found for toy-models==1.0")).fetch(
            [graph]
        )

    assert (tmp_path / "toy.onnx").read_bytes() == GRAPH
    assert left_behind(tmp_path) == {"toy.onnx", "toy.onnx.json"}
    assert ears.notices == [
        "toy.onnx: from the package index (toy-models==1.0): pip: No matching distribution found for toy-models==1.0. "
        "Trying its public address."
    ]


@pytest.mark.parametrize(
    ("pip", "reason"),
    [
        (Pip(WHEEL[:-500]), "toy_models-1.0-py3-none-any.whl is not the pinned file (its SHA-256 differs)"),
        (Pip(None, "WARNING: x\nERROR: No matching distribution."), "pip: No matching distribution"),
        (
            Pip(None, "WARNING: Retrying (Retry(total=4)) after ...\nERROR: Could not find a version"),
            "pip: the package index cannot be reached; Could not find a version",
        ),
        (Pip(None, "Traceback\nsomething odd"), "pip: something odd"),
    ],
    ids=["truncated wheel", "not on the index", "no network", "pip broke"],
)
def test_when_no_source_delivers_each_is_named_with_its_reason(tmp_path, pip, reason):
    graph = graph_file(urls=["http://first.example/a", "http://second.example/b"])

    with pytest.raises(ModelError) as caught:
        Fetcher(tmp_path, Ears(), pip=pip, download=refuse).fetch([graph])

    assert str(caught.value) == (
        f"toy.onnx cannot be fetched: from the package index (toy-models==1.0): {reason}; "
        "from http://first.example/a: nobody is there; from http://second.example/b: nobody is there. "
        "Check the network and pip's settings and try again, or copy the file with its record toy.onnx.json from "
        f"another machine into {tmp_path}."
    )
    assert left_behind(tmp_path) == set()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (wheel_of({"other": b""}), f"has no member {MEMBER}"),
        (
            wheel_of({MEMBER: GRAPH[:-1] + b"?"}),
            f"{MEMBER} in toy_models-1.0-py3-none-any.whl is not what it should be",
        ),
        (b"no zip file at all", "toy_models-1.0-py3-none-any.whl is damaged"),
    ],
    ids=["member missing", "member differs", "no wheel"],
)
def test_a_wheel_of_the_right_hash_can_still_be_wrong_inside(tmp_path, content, reason):
    with pytest.raises(ModelError) as caught:
        Fetcher(tmp_path, Ears(), pip=Pip(content)).fetch([graph_file(wheel=content)])

    assert reason in str(caught.value)
    assert left_behind(tmp_path) == set()


def test_a_python_without_pip_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)

    with pytest.raises(ModelError, match=r"pip is not installed for .* \(`python -m ensurepip` installs it\)"):
        Fetcher(tmp_path, Ears()).fetch([graph_file()])


def test_the_real_pip_takes_a_wheel_from_a_folder(tmp_path, monkeypatch):
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    metadata = b"Metadata-Version: 2.1\nName: toy-models\nVersion: 1.0\n"
    info = {"METADATA": metadata, "WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n", "RECORD": b""}
    content = wheel_of({MEMBER: GRAPH} | {f"toy_models-1.0.dist-info/{name}": data for name, data in info.items()})
    (shelf / "toy_models-1.0-py3-none-any.whl").write_bytes(content)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))

    Fetcher(tmp_path / "models", Ears()).fetch([graph_file(wheel=content)])

    assert (tmp_path / "models" / "toy.onnx").read_bytes() == GRAPH


def test_the_real_pip_says_what_the_index_lacks(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    with pytest.raises(
        ModelError, match=r"pip: Could not find a version that satisfies the requirement toy-models==1\.0"
    ):
        Fetcher(tmp_path, Ears()).fetch([graph_file()])


def full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("pip", [Pip(on_call=full), Pip(None, "OSError: [Errno 28] No space left on device")])
def test_a_full_disk_is_not_blamed_on_the_source(tmp_path, pip):
    with pytest.raises(ModelError) as caught:
        Fetcher(tmp_path, Ears(), pip=pip, download=refuse).fetch([graph_file(urls=["http://a.example/"])])

    assert str(caught.value) == (
        f"The disk is full: a model cannot be stored in {tmp_path}. Free some space. Choose another folder with "
        "--models-path."
    )


def test_missing_space_is_noticed_before_anything_is_fetched(tmp_path):
    graph = graph_file()
    huge = dataclasses.replace(graph.parts[0], wheel=Wheel("toy-models", "1.0", sha256(WHEEL), 1 << 60))
    pip = Pip()

    with pytest.raises(ModelError, match=r"Fetching toy\.onnx needs \d+ MB of free space"):
        Fetcher(tmp_path, Ears(), pip=pip).fetch([dataclasses.replace(graph, parts=(huge,))])

    assert pip.calls == []


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch, number):
    def refuse_to_make(*_arguments: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse_to_make)

    with pytest.raises(ModelError) as caught:
        Fetcher(tmp_path, Ears(), pip=Pip()).fetch([graph_file()])

    assert str(caught.value) == (
        f"A model cannot be stored: {tmp_path} cannot be written to. Choose another folder with --models-path."
    )


def test_a_file_where_the_folder_should_be_is_named(tmp_path):
    (tmp_path / "models").write_text("in the way")

    with pytest.raises(ModelError, match=r"A model cannot be stored in .*models"):
        Fetcher(tmp_path / "models", Ears(), pip=Pip()).fetch([graph_file()])


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "toy.onnx"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", lambda _file: full())

    with pytest.raises(ModelError, match="The disk is full"):
        Fetcher(tmp_path, Ears(), pip=Pip()).fetch([graph_file()])

    assert path.read_bytes() == b"old"
    assert left_behind(tmp_path) == {"toy.onnx"}


def test_two_processes_fetch_once(tmp_path):
    """Each takes a while in its pip; together they call it once, and both end with the file."""
    script = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from facefusion.catalogue.fetch import Fetcher
        from tests.catalogue.toys import Ears, Pip, graph_file
        folder = Path(sys.argv[1])
        pip = Pip(on_call=lambda: time.sleep(1))
        ears = Ears()
        (folder / f"ready{sys.argv[2]}").touch()
        while len(list(folder.glob("ready*"))) < 2:
            time.sleep(0.01)
        Fetcher(folder / "models", ears, pip=pip).fetch([graph_file()])
        print(len(pip.calls), ears.notices)
        """
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(i)], stdout=subprocess.PIPE, text=True)
        for i in range(2)
    ]

    outputs = sorted(process.communicate(timeout=60)[0].strip() for process in processes)

    waited = f"Another process is fetching models into {tmp_path / 'models'}: waiting for it."
    assert outputs == [f"0 {[waited]}", "1 []"]
    assert (tmp_path / "models" / "toy.onnx").read_bytes() == GRAPH


def test_what_a_killed_process_left_is_cleared_up(tmp_path):
    (tmp_path / ".fetch-abc" / "toys").mkdir(parents=True)
    (tmp_path / ".fetch-abc" / "toys" / "half.whl").write_bytes(b"half")

    Fetcher(tmp_path, Ears(), pip=Pip()).fetch([graph_file()])

    assert left_behind(tmp_path) == {"toy.onnx", "toy.onnx.json"}


def test_stopping_ends_pip_too(tmp_path):
    # Python's own tracker of shared memory may be one.
    before = psutil.Process().children()

    def stop() -> None:
        assert len(psutil.Process().children()) == len(before) + 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wheels.run_pip(["download", "toy-models==1.0", "--no-index"], tmp_path, stop)

    assert psutil.Process().children() == before


def test_a_stop_while_pip_works_ends_the_fetch_and_leaves_nothing(tmp_path):
    stop = StopToken()
    pip = Pip(on_call=lambda: stop.request("Ctrl-C"))

    with pytest.raises(Stopped, match=r"^Ctrl-C$"):
        Fetcher(tmp_path, Ears(), stop, pip=pip, download=refuse).fetch([graph_file(urls=["http://a.example/"])])

    assert left_behind(tmp_path) == set()


def test_pip_that_fails_of_the_same_signal_is_not_taken_for_a_source_that_cannot_deliver(tmp_path):
    stop = StopToken()

    def interrupted(*_arguments: object) -> tuple[int, str]:
        stop.request("Ctrl-C")
        return 1, "ERROR: Operation cancelled by user"

    ears = Ears()
    with pytest.raises(Stopped):
        Fetcher(tmp_path, ears, stop, pip=interrupted, download=refuse).fetch([graph_file()])
    assert ears.notices == []


def test_a_stop_ends_the_wait_for_another_process(tmp_path):
    stop = StopToken()

    class Impatient(Ears):
        def emit(self, event: Event) -> None:
            stop.request("Ctrl-C")

    with filelock.FileLock(tmp_path / ".fetch.lock"), pytest.raises(Stopped):
        Fetcher(tmp_path, Impatient(), stop, pip=Pip()).fetch([graph_file()])
    Fetcher(tmp_path, Ears(), pip=Pip()).fetch([graph_file()])  # the lock is free again


def test_a_stop_ends_a_download_and_the_pauses_between_attempts(tmp_path):
    stop = StopToken()

    class Impatient(Ears):
        def emit(self, event: Event) -> None:
            if isinstance(event, StageProgress):
                stop.request("Ctrl-C")

    with Server(GRAPH, cut=[70_000, None]) as server, pytest.raises(Stopped):
        graph = graph_file(wheel=None, urls=[server.url])
        Fetcher(tmp_path, Impatient(), stop).fetch([graph])
    assert len(server.asked) == 1
    (rest,) = left_behind(tmp_path)
    assert (tmp_path / rest).read_bytes() == GRAPH[: (tmp_path / rest).stat().st_size]
