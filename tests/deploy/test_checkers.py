"""What the checkers of others say of our files, each of which is seen to find a fault first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.files import COMPOSE, COMPOSE_FILES, DEPLOY, MANIFESTS, ROOT

pytestmark = pytest.mark.service

COMPOSE_CHECK = ("check-jsonschema", "--builtin-schema", "vendor.compose-spec")
DOCKERFILE_CHECK = ("hadolint",)
MANIFEST_CHECK = ("kubernetes-validate", "--strict")


def check(words: tuple[str, ...], *paths: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / words[0]
    return subprocess.run([program, *words[1:], *paths], text=True, capture_output=True, check=False, cwd=ROOT)


def spoilt(path: Path, folder: Path, good: str, bad: str) -> Path:
    source = path.read_text(encoding="utf-8")
    assert good in source
    copy = folder / path.name
    copy.write_text(source.replace(good, bad, 1), encoding="utf-8")
    return copy


def test_compose_files_keep_to_the_specification():
    done = check(COMPOSE_CHECK, *COMPOSE_FILES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("good", "bad"), [("read_only: true", "read_onyl: true"), ("stop_grace_period: 120s", "stop_grace_period: [120]")]
)
def test_a_fault_in_the_compose_file_is_found(tmp_path, good, bad):
    assert check(COMPOSE_CHECK, spoilt(COMPOSE, tmp_path, good, bad)).returncode == 1


def test_the_dockerfile_is_as_dockerfiles_should_be():
    done = check(DOCKERFILE_CHECK, ROOT / "Dockerfile")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("good", "bad", "rule"),
    [
        ("ubuntu:24.04 AS", "ubuntu AS", "DL3006"),
        (" --no-install-recommends", "", "DL3015"),
        ("WORKDIR /app", "WORKDIR app", "DL3000"),
    ],
)
def test_a_fault_in_the_dockerfile_is_found(tmp_path, good, bad, rule):
    done = check(DOCKERFILE_CHECK, spoilt(ROOT / "Dockerfile", tmp_path, good, bad))
    assert done.returncode == 1
    assert rule in done.stdout


def test_prometheus_takes_its_settings_for_a_cluster(tmp_path):
    # Debian's is built without Kubernetes, so all but the place where pods are looked up is read.
    source = (DEPLOY / "prometheus-kubernetes.yml").read_text(encoding="utf-8")
    place = """    kubernetes_sd_configs:
      - role: pod
        namespaces:
          names: [facefusion]
"""
    assert place in source
    path = tmp_path / "prometheus.yml"
    path.write_text(source.replace(place, "    static_configs: [{targets: [a]}]\n"), encoding="utf-8")
    done = promtool(path)
    assert done.returncode == 0, done.stderr
    path.write_text(path.read_text(encoding="utf-8").replace("action: keep", "action: kept", 1), encoding="utf-8")
    assert promtool(path).returncode != 0


def promtool(path: Path) -> subprocess.CompletedProcess[str]:
    words = ["promtool", "check", "config", "--syntax-only", str(path)]
    return subprocess.run(words, text=True, capture_output=True, check=False)


def test_manifests_keep_to_what_kubernetes_takes():
    done = check(MANIFEST_CHECK, *MANIFESTS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("api.yaml", "replicas: 2", "replicas: two"),
        ("worker.yaml", "terminationGracePeriodSeconds", "terminationGraceSeconds"),
        ("autoscaling.yaml", "maxReplicas: 8", "mostReplicas: 8"),
        ("network.yaml", "podSelector: {}", "podSelector: none"),
    ],
)
def test_a_fault_in_a_manifest_is_found(tmp_path, name, good, bad):
    (path,) = [path for path in MANIFESTS if path.name == name]
    assert check(MANIFEST_CHECK, spoilt(path, tmp_path, good, bad)).returncode != 0
