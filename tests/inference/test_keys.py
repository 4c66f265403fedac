from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from facefusion.core.errors import ModelError
from facefusion.inference.execution import Device
from facefusion.inference.keys import FileDigests, session_key
from tests.inference.fakes import GPU_RUNTIME, execution, file


def key(tmp_path, plan, *, model="a", digest="ab" * 32, device=0, **changes):
    requests = plan.requests(replace(file(tmp_path, model), **changes), digest, Device(device))
    return session_key(requests, digest=digest, device=device)


def test_the_same_graph_in_the_same_place_has_the_same_key(tmp_path):
    assert key(tmp_path, execution("tensorrt", "cpu")) == key(tmp_path, execution("tensorrt", "cpu"))
    assert key(tmp_path, execution(), model="a") == key(tmp_path, execution(), model="b")


def test_whatever_decides_a_session_is_in_its_key(tmp_path):
    plan = execution("tensorrt", "cpu")
    keys = [
        key(tmp_path, plan),
        key(tmp_path, plan, digest="cd" * 32),
        key(tmp_path, plan, device=1),
        key(tmp_path, plan, threads=2),
        key(tmp_path, plan, warm_up=(("x", (1, 4)),)),
        key(tmp_path, replace(plan, half=False)),
        key(tmp_path, replace(plan, memory_limit=1 << 30)),
        key(tmp_path, replace(plan, cache=tmp_path)),
        key(tmp_path, replace(plan, runtime=replace(GPU_RUNTIME, version="1.32.0"))),
        key(tmp_path, execution("tensorrt")),
        key(tmp_path, execution("cuda", "cpu")),
        key(tmp_path, execution("cpu")),
        key(tmp_path, execution("coreml")),
        key(tmp_path, execution("coreml"), device=1),
    ]
    assert len(set(keys)) == len(keys)


def test_a_file_is_looked_at_once_a_second(tmp_path):
    path = tmp_path / "model.onnx"
    hands = [10.0]
    digests = FileDigests(clock=lambda: hands[0])
    path.write_bytes(b"one")
    first = digests.digest(path)
    path.write_bytes(b"another")
    hands[0] = 10.9
    assert digests.digest(path) == first
    digests.look_again()
    second = digests.digest(path)
    assert second == hashlib.sha256(b"another").hexdigest()
    path.write_bytes(b"the third")
    assert digests.digest(path) == second
    hands[0] = 12.0
    assert digests.digest(path) == hashlib.sha256(b"the third").hexdigest()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError) as refused:
        FileDigests().digest(tmp_path / "gone.onnx")
    assert str(refused.value) == (
        f"the model file {tmp_path / 'gone.onnx'} cannot be read (No such file or directory). "
        "Fetch it with force-download."
    )
