"""A real Prometheus asks real processes, with the files as they are but for the addresses."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.service.test_metrics import JOB, PATIENCE, SPAWN

pytestmark = pytest.mark.service

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def _work(port, pipe):
    from facefusion.service.monitoring import begin_monitoring

    metrics = begin_monitoring(places={}, address=f"127.0.0.1:{port}")
    for seconds in (400.0, 500.0, 600.0):
        metrics.job_ended(replace(JOB, started=1000.0, ended=1000.0 + seconds), "cpu")
    pipe.send("done")
    pipe.recv()


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def worker(port):
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=_work, args=(port, there))
    process.start()
    there.close()
    assert here.poll(PATIENCE)
    yield process
    process.kill()
    process.join()


class Prometheus:
    def __init__(self, port):
        self.port = port

    def ask(self, path, **query):
        address = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)["data"]

    def value(self, expression):
        found = self.ask("/api/v1/query", query=expression)["result"]
        return float(found[0]["value"][1]) if found else None

    def alerts(self):
        found = self.ask("/api/v1/alerts")["alerts"]
        return {alert["labels"]["alertname"]: alert["state"] for alert in found}

    def until(self, look):
        """What it is asked for, as soon as it is so."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if found := look(self):
                    return found
            except urllib.error.URLError:
                pass
            time.sleep(0.2)
        raise AssertionError(f"not so within {PATIENCE} seconds")


@pytest.fixture
def prometheus(tmp_path, port):
    path = shutil.which("prometheus")
    assert path is not None, "prometheus is not on the path (Debian: prometheus)"
    document = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    document["global"] = {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"}
    del document["alerting"]
    [job] = document["scrape_configs"]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": [f"127.0.0.1:{port}"], "labels": {"__meta_dns_name": "workers"}}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(document))
    shutil.copy(DEPLOY / "alerts.yml", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = server.getsockname()[1]
    process = subprocess.Popen(
        [
            path,
            f"--config.file={tmp_path / 'prometheus.yml'}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{own}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield Prometheus(own)
    process.kill()
    process.wait()


def test_prometheus_reads_what_is_told_and_notices_who_is_gone(worker, prometheus):
    up = 'up{job="facefusion", role="worker"}'
    assert prometheus.until(lambda them: them.value(up) == 1)
    assert prometheus.value('job_processing_latency_seconds{worker="cpu"}') == 600
    assert prometheus.value("job_duration_seconds_count") == 3
    assert 0 < prometheus.value("memory_usage_percent") < 100
    assert prometheus.until(lambda them: them.alerts().get("JobsSlow") == "firing")

    worker.kill()
    assert prometheus.until(lambda them: them.value(up) == 0)
    assert prometheus.value("job_processing_latency_seconds") is None
    assert prometheus.until(lambda them: them.alerts().get("InstanceGone") == "pending")
    assert prometheus.until(lambda them: "JobsSlow" not in them.alerts())
