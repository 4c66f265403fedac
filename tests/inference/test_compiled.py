from __future__ import annotations

import json
import logging
import multiprocessing
import os
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import filelock
import numpy as np
import pytest

from facefusion.core.errors import ProviderError
from facefusion.inference import compiled
from facefusion.inference.compiled import LIST, compiling, is_filled
from facefusion.inference.execution import Device
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.session import OrtSession
from tests.inference import fake_card
from tests.inference.fake_card import Card, Session, rows
from tests.inference.fakes import execution, graph

ENGINE = b"an engine, whole"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def engines(tmp_path):
    return tmp_path / "tensorrt" / "engine"


def test_what_was_compiled_is_found_again(engines):
    with compiling([engines]):
        assert not is_filled(engines)
        (engines / "a.engine").write_bytes(ENGINE)
    with compiling([engines]):
        assert is_filled(engines)
        assert (engines / "a.engine").read_bytes() == ENGINE


def test_half_a_file_without_a_list_is_thrown_away(engines, caplog):
    caplog.set_level(logging.INFO)
    engines.mkdir(parents=True)
    (engines / "a.engine").write_bytes(ENGINE[:5])
    with compiling([engines]):
        assert names(engines) == []
    assert f"{engines} was left half written, and is compiled anew" in caplog.messages


def test_a_file_that_was_being_written_anew_is_thrown_away(engines):
    with compiling([engines]):
        (engines / "a.engine").write_bytes(ENGINE)
    (engines / "a.engine").write_bytes(ENGINE[:5])
    with compiling([engines]):
        assert not is_filled(engines)
        assert names(engines) == []


def test_a_file_that_is_missing_has_all_compiled_anew(engines):
    with compiling([engines]):
        (engines / "a.engine").write_bytes(ENGINE)
        (engines / "a.profile").write_bytes(b"1x3")
    (engines / "a.profile").unlink()
    with compiling([engines]):
        assert names(engines) == []


def test_a_list_that_is_damaged_counts_for_nothing(engines):
    with compiling([engines]):
        (engines / "a.engine").write_bytes(ENGINE)
    for damaged in ("", "[1]", "{", '{"a.engine": [16, 1]}', '{"a.engine": "16"}'):
        (engines / LIST).write_text(damaged)
        with compiling([engines]):
            assert "a.engine" not in names(engines)
            (engines / "a.engine").write_bytes(ENGINE)


def test_what_is_compiled_in_an_attempt_that_fails_is_kept(engines):
    with pytest.raises(RuntimeError), compiling([engines]):
        (engines / "a.engine").write_bytes(ENGINE)
        raise RuntimeError("the second engine")
    assert list(json.loads((engines / LIST).read_text())) == ["a.engine"]


def test_what_was_compiled_may_be_copied_elsewhere(engines):
    with compiling([engines]):
        (engines / "a.engine").write_bytes(ENGINE)
    copy = engines.with_name("copy")
    shutil.copytree(engines, copy, copy_function=shutil.copyfile)
    with compiling([copy]):
        assert is_filled(copy)
        assert (copy / "a.engine").read_bytes() == ENGINE


def test_what_lies_where_nobody_may_write_serves_as_it_is(engines, monkeypatch):
    def refuse(folder, *, wait=True):
        raise PermissionError(13, "Permission denied", str(folder))

    fill(engines)
    monkeypatch.setattr(compiled, "_lock", refuse)
    with compiling([engines, engines.with_name("timing")]):
        assert is_filled(engines)
    with pytest.raises(PermissionError), compiling([engines.with_name("other")]):
        pytest.fail("there was nothing to use")


def _compile_and_die(engines):
    with compiling([engines]):
        (engines / "a.engine").write_bytes(ENGINE[:5])
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_while_it_compiles_leaves_neither_lock_nor_half_an_engine(engines):
    process = multiprocessing.get_context("fork").Process(target=_compile_and_die, args=(engines,))
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    assert (engines / "a.engine").read_bytes() == ENGINE[:5]
    with compiling([engines]):
        assert names(engines) == []


def test_one_compiles_while_the_others_wait_and_find_it_done(engines):
    compiled = []
    ready = threading.Barrier(5)

    def load(number):
        ready.wait(10)
        with compiling([engines]):
            if not is_filled(engines):
                time.sleep(0.02)
                (engines / "a.engine").write_bytes(ENGINE)
                compiled.append(number)

    with ThreadPoolExecutor(5) as threads:
        list(threads.map(load, range(5)))
    assert len(compiled) == 1


def test_a_shared_folder_is_left_to_others_where_the_own_one_is_filled(engines):
    timing = engines.with_name("timing")
    with compiling([engines, timing]):
        (engines / "a.engine").write_bytes(ENGINE)
        (timing / "cc90.timing").write_bytes(b"kernels")
    inside, leave = threading.Event(), threading.Event()

    def compile_other():
        with compiling([engines.with_name("other"), timing]):
            inside.set()
            leave.wait(10)

    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(compile_other)
        inside.wait(10)
        with compiling([engines, timing]):  # waits for nobody
            assert is_filled(engines)
        leave.set()
        other.result(10)
    assert (timing / "cc90.timing").read_bytes() == b"kernels"


def fill(folder, size=10):
    with compiling([folder]):
        (folder / "a.engine").write_bytes(bytes(size))
    return folder


def test_what_was_not_used_for_longest_goes_once_all_take_too_much(engines, monkeypatch):
    monkeypatch.setattr(compiled, "MOST_BYTES", 35)
    first, second, third = (fill(engines.with_name(name)) for name in ("first", "second", "third"))
    with compiling([first]):
        pass  # used again
    fourth = fill(engines.with_name("fourth"))
    assert [is_filled(folder) for folder in (first, second, third, fourth)] == [True, False, True, True]
    fill(engines.with_name("fifth"), 100)  # one alone may be larger
    assert [is_filled(folder) for folder in (first, third, fourth)] == [False] * 3
    assert is_filled(engines.with_name("fifth"))


def test_what_another_process_compiles_is_not_removed_under_it(engines, monkeypatch):
    first = fill(engines.with_name("first"))
    monkeypatch.setattr(compiled, "MOST_BYTES", 5)
    with filelock.FileLock(first.with_name("first.lock")):
        fill(engines.with_name("second"))
        assert is_filled(first)
    fill(engines.with_name("third"))
    assert not is_filled(first)


class EngineSession(Session):
    """A session as TensorRT makes it: compiles for the first run, unless it finds what it compiled before."""

    def __init__(self, card, folder):
        super().__init__(card)
        self.file = folder / "graph_sm90.engine"
        self.compiled = 0
        if self.file.exists() and self.file.read_bytes() != ENGINE:
            raise RuntimeError(
                f"[ONNXRuntimeError] : 11 : EP_FAIL : TensorRT EP could not deserialize engine from cache: {self.file}"
            )

    def get_providers(self):
        return ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]

    def run_with_iobinding(self, binding, options=None):
        if not self.file.exists():
            self.compiled += 1
            self.file.write_bytes(ENGINE)
        super().run_with_iobinding(binding, options)


@pytest.fixture
def load(monkeypatch, tmp_path):
    card, made = Card(), []

    def make(options):
        made.append(EngineSession(card, type(tmp_path)(options["trt_engine_cache_path"])))
        return made[-1]

    fake_card.install(monkeypatch, card, make)
    monkeypatch.setitem(PROVIDERS._providers, "tensorrt", replace(PROVIDERS["tensorrt"], prepare=None))
    monkeypatch.setitem(PROVIDERS._providers, "cuda", replace(PROVIDERS["cuda"], prepare=None))
    model = graph(tmp_path)

    def load():
        request = execution("tensorrt", cache=tmp_path).requests(model, "ab" * 32, Device(0))[0]
        return OrtSession(request), made[-1], request.options.caches()[0]

    return load


def test_an_engine_is_compiled_by_the_first_run_and_found_by_the_next_session(load):
    for expected in (1, 0, 0):
        session, made, _ = load()
        session.run(rows(1))
        session.run(rows(2))
        assert made.compiled == expected


def test_half_an_engine_is_compiled_anew(load):
    session, made, folder = load()
    session.run(rows(1))
    made.file.write_bytes(ENGINE[:5])
    session, made, folder = load()
    session.run(rows(1))
    assert made.compiled == 1
    assert made.file.read_bytes() == ENGINE
    assert names(folder) == [LIST, "graph_sm90.engine"]


def test_an_engine_that_a_full_disk_cut_short_is_compiled_anew(load):
    session, made, folder = load()
    session.run(rows(1))
    with compiling([folder]):  # nobody noticed: it counts as whole
        made.file.write_bytes(ENGINE[:5])
    session, made, _ = load()
    session.run(rows(1))
    assert made.compiled == 1
    assert made.file.read_bytes() == ENGINE


def test_a_graph_with_open_shapes_between_its_parts_is_compiled_for_what_comes(monkeypatch, tmp_path):
    card, made = Card(), []
    monkeypatch.setitem(PROVIDERS._providers, "tensorrt", replace(PROVIDERS["tensorrt"], prepare=None))
    monkeypatch.setitem(PROVIDERS._providers, "cuda", replace(PROVIDERS["cuda"], prepare=None))

    def make(options):
        made.append("trt_profile_max_shapes" in options)
        if made[-1]:
            raise RuntimeError(
                "[ONNXRuntimeError] : 11 : EP_FAIL : User needs to provide all the dynamic shape inputs with "
                "associated profiles if they want to explicitly set profiles through provider options. Please note "
                "that main graph could be partitioned into TRT/CUDA/CPU subgraphs, in this case, user also needs to "
                "provide shape profiles for the TRT subgraph's input if it's dynamic shape input. Following input(s) "
                "has no associated shape profiles provided: m"
            )
        return EngineSession(card, type(tmp_path)(options["trt_engine_cache_path"]))

    fake_card.install(monkeypatch, card, make)
    request = execution("tensorrt", cache=tmp_path).requests(graph(tmp_path), "ab" * 32, Device(0))[0]
    session = OrtSession(request)
    assert made == [True, False]
    np.testing.assert_array_equal(session.run(rows(2))["y"], 3 * rows(2)["x"] + 1)


def test_an_engine_that_cannot_be_read_twice_is_an_error(load, monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise RuntimeError("[ONNXRuntimeError] : 11 : EP_FAIL : TensorRT EP could not deserialize engine from cache: x")

    import onnxruntime

    monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)
    with pytest.raises(ProviderError, match="execution provider tensorrt could not load it"):
        load()
