"""What is counted, by real processes that come, fork and are killed. None of them is this one: it opens no metrics."""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest

from facefusion.core.errors import SetupError
from facefusion.core.report import RunReport
from facefusion.observability.events import FrameHeld, ModelLoaded, Notice
from facefusion.service.metrics import open_metrics, prepare_folder
from facefusion.service.records import JobRecord, JobState, Priority

pytestmark = pytest.mark.service

SPAWN = multiprocessing.get_context("spawn")
PATIENCE = 60

JOB = JobRecord(
    id="6f2c9e",
    owner="mary",
    state=JobState.COMPLETED,
    priority=Priority.NORMAL,
    step={},
    sources=("c0ffee",),
    target="decade",
    extension=".mp4",
    created=1000.0,
    started=1010.0,
    ended=1130.0,
)
REPORT = RunReport(
    output="/srv/mary.mp4",
    frames=282,
    faces=290,
    frames_without_face=0,
    held_frames=(),
    seconds=30.0,
    start_up_seconds=1.0,
    peak_memory=1,
    models={"mesh": "cpu", "blaze": "cpu", "plain": "code", "far": "cuda"},
    stages={"decode": 2.5, "encode": 4.0},
    resumed_frames=32,
)


def apart(work, *values):
    """What a function returns in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        return pool.submit(work, *values).result(PATIENCE)


def samples(text):
    """Value of each series, by the name with its labels."""
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def exposed(folder):
    return samples(apart(_expose, folder))


def _expose(folder):
    content, kind = open_metrics(folder).exposition()
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    return content


def _work(folder, jobs, worker="gpu0"):
    metrics = open_metrics(folder)
    for seconds in jobs:
        metrics.job_ended(replace(JOB, ended=JOB.started + seconds), worker)


def _work_and_wait(folder, seconds, worker, pipe):
    _work(folder, [seconds], worker)
    pipe.send("done")
    pipe.recv()


@pytest.fixture
def working(tmp_path):
    """Starts processes that finished a job and wait for the next."""
    started = []

    def start(seconds, worker):
        here, there = SPAWN.Pipe()
        process = SPAWN.Process(target=_work_and_wait, args=(tmp_path, seconds, worker, there))
        process.start()
        there.close()
        started.append((process, here))
        assert here.poll(PATIENCE)
        assert here.recv() == "done"
        return process

    yield start
    for process, _ in started:
        process.kill()
        process.join()


def latency(worker):
    return f'job_processing_latency_seconds{{worker="{worker}"}}'


def test_series_of_a_killed_worker_go_and_its_counts_stay(tmp_path, working):
    killed = working(40.0, "gpu0")
    working(50.0, "gpu1")
    before = exposed(tmp_path)
    assert (before[latency("gpu0")], before[latency("gpu1")]) == (40, 50)
    assert before["job_duration_seconds_count"] == 2

    killed.kill()  # and nobody buries it yet
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    after = exposed(tmp_path)
    assert latency("gpu0") not in after
    assert after[latency("gpu1")] == 50
    assert after["job_duration_seconds_count"] == 2
    assert after["job_duration_seconds_sum"] == 90

    killed.join()
    again = working(60.0, "gpu0")
    assert again.pid != killed.pid
    assert exposed(tmp_path)[latency("gpu0")] == 60


def test_a_file_left_by_an_earlier_process_of_the_same_number_is_not_this_ones(tmp_path, working):
    living = working(40.0, "gpu0")
    left = next(tmp_path.glob(f"gauge_live*_{living.pid}.db"))
    os.utime(left, (1_000_000_000, 1_000_000_000))
    assert latency("gpu0") not in exposed(tmp_path)


def test_an_earlier_life_is_forgotten(tmp_path):
    apart(_work, tmp_path, [10.0])
    other = tmp_path / "notes.txt"
    other.write_text("stay")
    prepare_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert exposed(tmp_path)["job_duration_seconds_count"] == 0


def _fork(folder):
    metrics = open_metrics(folder)
    metrics.segment_done()
    child = os.fork()
    if child == 0:
        metrics.segment_done()
        metrics.segment_done()
        os._exit(0)  # noqa: TID251 - nothing else of the parent's may run here
    os.waitpid(child, 0)
    return metrics.exposition()[0]


def test_processes_that_are_forked_off_count_too(tmp_path):
    assert samples(apart(_fork, tmp_path))["facefusion_segments_total"] == 3


def test_three_slow_jobs_in_a_row_are_told(tmp_path):
    quickest = 'job_processing_latency_of_last_three_seconds{worker="gpu0"}'
    for jobs, expected in (
        ([400, 500], None),
        ([400, 500, 310], 310),
        ([10, 400, 500, 600], 400),
        ([400, 500, 10], 10),
    ):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        found = apart(_work_and_expose, folder, jobs)
        assert found.get(quickest) == expected
        assert found[latency("gpu0")] == jobs[-1]


def _work_and_expose(folder, jobs):
    _work(folder, jobs)
    return samples(_expose(folder))


def _end_jobs(folder):
    metrics = open_metrics(folder)
    metrics.job_ended(replace(JOB, state=JobState.FAILED), "gpu0")
    metrics.job_ended(replace(JOB, state=JobState.CANCELLED), "gpu0")
    metrics.job_ended(replace(JOB, state=JobState.CANCELLED, started=None))
    metrics.job_ended(replace(JOB, state=JobState.PARKED, started=1305.0, ended=1300.0))
    return metrics.exposition()[0]


def test_jobs_are_timed_that_were_worked_on_and_not_cancelled(tmp_path):
    found = samples(apart(_end_jobs, tmp_path))
    assert found["job_duration_seconds_count"] == 2
    assert found["job_duration_seconds_sum"] == 120
    assert found['job_duration_seconds_bucket{le="120.0"}'] == 2
    assert found['job_duration_seconds_bucket{le="60.0"}'] == 1
    assert found["facefusion_job_wait_seconds_sum"] == 10 + 305


def _run_twice(folder):
    metrics = open_metrics(folder)
    for event in (
        ModelLoaded("mesh", "cpu", 0.5),
        ModelLoaded("blaze", "cpu", 0.25),
        FrameHeld(3, "no face"),
        Notice("x"),
    ):
        metrics.emit(event)
    metrics.run_done(REPORT)
    metrics.emit(ModelLoaded("blaze", "cuda", 1.0))
    metrics.run_done(REPORT)
    return metrics.exposition()[0]


def test_runs_and_what_happens_in_them_are_counted(tmp_path):
    found = samples(apart(_run_twice, tmp_path))
    assert found["facefusion_frames_processed_total"] == 500
    assert found["facefusion_faces_processed_total"] == 580
    assert found["facefusion_frames_held_total"] == 1
    assert found['facefusion_stage_seconds_total{stage="decode"}'] == 5
    assert found['facefusion_stage_seconds_total{stage="encode"}'] == 8
    assert found['facefusion_model_loads_total{model="mesh",provider="cpu"}'] == 1
    assert found['facefusion_model_loads_total{model="blaze",provider="cuda"}'] == 1
    assert found["facefusion_model_load_seconds_total"] == 1.75
    # The second run found `mesh` loaded; `blaze` had been let go, `plain` is code, and `far` another worker's.
    assert {name: value for name, value in found.items() if "cache_hits_total" in name} == {
        'facefusion_model_cache_hits_total{model="mesh"}': 1
    }


def _misuse(folder):
    metrics = open_metrics(folder)
    for number in range(400):
        metrics.emit(ModelLoaded(f"model {number}", f"provider {number}", 0.1))
        metrics.work_done(frames=1, faces=1, stages={f"stage {number}": 1.0}, models={f"used {number}": "cpu"})
        metrics.job_ended(JOB, f"worker {number}")
        metrics.request_answered(f"METHOD{number}", f"/{number}", 404, 0.01)
    return metrics.exposition()[0]


def test_labels_are_bounded(tmp_path):
    content = apart(_misuse, tmp_path)
    found = samples(content)
    families: dict[str, list[str]] = {}
    for name in found:
        families.setdefault(name.partition("{")[0], []).append(name)
    assert len(families["facefusion_stage_seconds_total"]) == 65
    assert len(families["job_processing_latency_seconds"]) == 33
    assert len(families["facefusion_http_requests_total"]) == 65
    assert len(families["facefusion_model_loads_total"]) <= 257
    assert found['facefusion_stage_seconds_total{stage="other"}'] == 400 - 64
    assert 'method="METHOD' not in content.decode()


def test_nothing_of_a_person_is_told(tmp_path):
    text = apart(_run_twice, tmp_path) + apart(_end_jobs, tmp_path)
    for secret in (JOB.id, JOB.owner, JOB.target, *JOB.sources, REPORT.output, "mary"):
        assert secret not in text.decode()


def _serve(places):
    from facefusion.service.monitoring import begin_monitoring

    metrics = begin_monitoring(places=places, address="127.0.0.1:0")
    return samples(metrics.exposition()[0]), os.environ["PROMETHEUS_MULTIPROC_DIR"]


def test_without_a_card_no_series_of_one(tmp_path):
    found, folder = apart(_serve, {"temp": tmp_path})
    assert 0 < found["memory_usage_percent"] < 100
    assert found["memory_usage_mb"] > 0
    assert 'facefusion_disk_free_percent{place="temp"}' in found
    if not os.path.exists("/dev/nvidiactl"):  # noqa: PTH110 - a device
        assert not [name for name in found if name.startswith("gpu_")]
    assert not os.path.exists(folder), "the folder of metrics stayed behind"  # noqa: PTH110


def _serve_and_ask(port):
    from facefusion.service.monitoring import begin_monitoring

    begin_monitoring(places={}, address=f"127.0.0.1:{port}")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read()


def test_metrics_have_an_address_of_their_own():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(
            SetupError, match=rf"told on 127\.0\.0\.1:{port}: .* Choose another one with --metrics-address"
        ):
            apart(_serve_and_ask, port)
    assert samples(apart(_serve_and_ask, port))["facefusion_segments_total"] == 0


def _import_first(folder):
    import prometheus_client

    assert prometheus_client.__name__ in sys.modules
    _work(folder, [10.0])


def test_who_imports_the_library_early_counts_all_the_same(tmp_path):
    apart(_import_first, tmp_path)
    assert exposed(tmp_path)["job_duration_seconds_sum"] == 10
