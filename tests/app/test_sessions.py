from __future__ import annotations

from dataclasses import replace

import pytest

from facefusion.app.engine import Engine
from facefusion.app.sessions import Sessions
from facefusion.app.step import run_step
from facefusion.core.errors import ResourceError
from facefusion.core.stop import StopToken
from facefusion.inference.nvml import CardMemory
from facefusion.inference.pool import PoolCounters
from facefusion.inference.runtime import with_memory_of_now
from tests.app.conftest import SOURCE, TARGET, settings
from tests.inference.fakes import CARD, GPU_RUNTIME, FakeLoader, FakeSession, Heard, file

GIB = 1 << 30


class Machine:
    """Two cards whose memory other programs take and give back."""

    def __init__(self, *free):
        self.free = list(free)
        cards = (replace(CARD, index=number, uuid=f"GPU-{number}") for number in range(len(free)))
        self._runtime = replace(GPU_RUNTIME, gpus=tuple(cards))
        self.tried = []

    def look(self):
        return with_memory_of_now(self._runtime, self.read)

    def read(self, uuid):
        return CardMemory(int(self.free[int(uuid.removeprefix("GPU-"))] * GIB), 0)

    def test(self, request):
        self.tried.append(request.providers[0][1].to_runtime()["device_id"])

    def sessions(self, caches):
        return Sessions(self.look, self.test, FakeLoader(lambda request: FakeSession("cuda")), caches)


def open_step(sessions, **values):
    snapshot = settings(Engine(), execution_providers=("cuda",), **values)
    return sessions.open(snapshot, Heard())


def test_the_roomiest_card_is_looked_for_at_the_start_of_each_step_while_nothing_is_loaded(tmp_path):
    machine = Machine(10, 20)
    sessions = machine.sessions(tmp_path)
    execution, pool = open_step(sessions)
    assert [(device.id, device.free_memory, device.card) for device in execution.devices] == [(1, 20 * GIB, "GPU-1")]
    machine.free = [10, 5]
    execution, pool = open_step(sessions)
    assert [(device.id, device.free_memory) for device in execution.devices] == [(0, 10 * GIB)]
    with pool.lease(file(tmp_path, "a")):
        pass
    machine.free = [2, 20]
    assert open_step(sessions) == (execution, pool)  # its sessions live on the first card
    pool.release_unused()
    execution, _ = open_step(sessions)
    assert [device.id for device in execution.devices] == [1]
    assert machine.tried == ["1", "0", "1"]
    sessions.close()


def test_a_device_that_the_user_chose_stays_and_its_memory_is_read_anew(tmp_path):
    machine = Machine(10, 20)
    sessions = machine.sessions(tmp_path)
    open_step(sessions, execution_device_ids=(0,))
    machine.free = [1, 20]
    execution, pool = open_step(sessions, execution_device_ids=(0,))
    assert [(device.id, device.free_memory) for device in execution.devices] == [(0, GIB)]
    files = [file(tmp_path, name) for name in "abcdef"]
    with pytest.raises(ResourceError, match=r"the models of this step take about 1\.1 GB .* 1 GB are free on device 0"):
        pool.expect(files)
    sessions.close()


def test_cards_that_do_not_tell_keep_what_was_read_of_them_first():
    runtime = replace(GPU_RUNTIME, gpus=(CARD, replace(CARD, index=1, uuid="GPU-2")))
    known = with_memory_of_now(runtime, {"GPU-2": CardMemory(7, 0)}.get)
    assert [gpu.free_memory for gpu in known.gpus] == [CARD.free_memory, 7]


def test_on_the_processor_one_pool_serves_all_steps():
    sessions = Sessions()
    first = sessions.open(settings(Engine(), execution_providers=("cpu",)), Heard())
    assert sessions.open(settings(Engine(), execution_providers=("cpu",)), Heard()) == first
    sessions.close()


def test_a_step_that_does_not_fit_a_card_is_refused_before_anything_is_loaded(tmp_path, model_path):
    sessions = Machine(0.75).sessions(tmp_path)
    snapshot = settings(
        Engine(),
        execution_providers=("cuda",),
        source_paths=(SOURCE,),
        target_path=TARGET,
        output_path=tmp_path / "out.mp4",
        models_path=model_path("yunet").parent,
    )
    with pytest.raises(ResourceError, match=r"the models of this step take about [\d.]+ GB .* and 0\.7 GB are free on"):
        run_step(snapshot, sessions, Heard(), StopToken())
    assert sessions.pool is not None
    assert sessions.pool.counters == PoolCounters()
    assert not (tmp_path / "out.mp4").exists()
    sessions.close()


def test_what_is_missing_of_video_memory_is_told_while_nothing_is_loaded(tmp_path):
    machine = Machine(0.25, 10)
    sessions = machine.sessions(tmp_path)
    snapshot = settings(Engine(), execution_providers=("cuda",))
    assert sessions.video_shortage(snapshot) == ""  # nothing was asked of a card yet
    _, pool = open_step(sessions)
    assert sessions.video_shortage(snapshot) == ""
    machine.free = [0.25, 0.5]
    assert sessions.video_shortage(snapshot) == "512 MiB of video memory are free, and 1024 MiB are needed"
    with pool.lease(file(tmp_path, "a")):
        pass
    assert sessions.video_shortage(snapshot) == "", "what is loaded can make room"
    sessions.close()


def test_on_the_processor_no_video_memory_is_missed(tmp_path):
    machine = Machine(0, 0)
    sessions = machine.sessions(tmp_path)
    snapshot = settings(Engine(), execution_providers=("cpu",))
    sessions.open(snapshot, Heard())
    assert sessions.video_shortage(snapshot) == ""
    sessions.close()


def test_models_that_a_step_would_fetch_are_told(model_path):
    engine, here = Engine(), model_path("yunet").parent
    assert engine.missing_models(settings(engine, models_path=here)) == []
    missing = engine.missing_models(settings(engine, models_path=here, face_swapper_model="inswapper_128"))
    assert missing == ["inswapper_128"]
