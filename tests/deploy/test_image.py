"""What the Dockerfile promises, held against the code, the requirements and the files that it names."""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import re
import subprocess
import threading

import onnxruntime
import pytest

from facefusion.cli.command import find_command
from scripts.setup_environment import SUPPORTED_VERSIONS
from tests.deploy.files import DEPLOY, ROOT, instructions, made_folders, of, text, variables_of_image

PYTHON_OF_UBUNTU = {"ubuntu24.04": (3, 12)}


def base() -> re.Match[str]:
    (found,) = [
        match for rest in of("FROM") if (match := re.match(r"nvidia/cuda:(\d+\.\d+)\.\d+-cudnn-runtime-(\S+) ", rest))
    ]
    return found


def pin(requirements: str, package: str) -> str:
    (found,) = re.findall(rf"^{package}==(\S+)", text(requirements), re.MULTILINE)
    return found


def test_the_base_has_the_cuda_that_the_pinned_runtime_is_built_with():
    assert pin("requirements-cuda.txt", "nvidia-cuda-runtime").rpartition(".")[0] == base()[1]
    # Where the build for cards is installed it says so itself.
    assert getattr(onnxruntime, "cuda_version", "") in ("", base()[1])


def test_the_base_has_the_major_version_of_cudnn_that_is_pinned_and_a_python_that_is_supported():
    assert re.search(r"^nvidia-cudnn-cu13==9\.", text("requirements-cuda.txt"), re.MULTILINE)
    assert PYTHON_OF_UBUNTU[base()[2]] in SUPPORTED_VERSIONS
    assert f"{base()[2].replace('ubuntu', 'ubuntu:')} AS system-cpu" in of("FROM")


def test_the_command_that_picks_tensorrt_finds_just_one():
    runs = " ".join(of("RUN"))
    (tensorrt,) = re.findall(r"(grep '\^tensorrt[^|]+)\|", runs)
    assert shell(tensorrt).splitlines() == [f"tensorrt-cu13-libs=={pin('requirements-cuda.txt', 'tensorrt-cu13-libs')}"]


def test_whatever_pip_installs_is_held_against_a_hash_but_for_tensorrt():
    installs = [words for rest in of("RUN") for words in re.findall(r"pip install (-[^&|]*)", rest)]
    assert len(installs) == 3
    (tensorrt,) = (words for words in installs if "--require-hashes" not in words)
    assert tensorrt.strip() == "--no-deps --target /opt/tensorrt"


def test_the_libraries_that_are_loaded_when_needed_are_looked_for_in_the_pinned_versions():
    (names,) = re.findall(r'for name in \(("lib[^)]+)\)', " ".join(of("RUN")))
    pinned = {"cudnn": "nvidia-cudnn-cu13", "cufft": "nvidia-cufft", "nvrtc": "nvidia-cuda-nvrtc"}
    majors = {name: pin("requirements-cuda.txt", package).partition(".")[0] for name, package in pinned.items()}
    assert dict(re.findall(r'"lib(\w+)\.so\.(\d+)"', names)) == majors


def shell(command: str) -> str:
    return subprocess.run(["sh", "-c", command], cwd=ROOT, text=True, capture_output=True, check=True).stdout


def test_whatever_is_copied_is_there_and_let_through_to_the_build():
    allowed = [line[1:] for line in text(".dockerignore").splitlines() if line.startswith("!")]
    copied = [word for rest in of("COPY") if not rest.startswith("--from") for word in rest.split()[:-1]]
    assert {"deploy/container/requirements.txt", "facefusion.py", "facefusion"} <= set(copied)
    for name in copied:
        assert (ROOT / name).exists(), name
        assert any(name == line.rstrip("/") or name.startswith(line) for line in allowed), name


def test_nothing_is_let_through_to_the_build_that_it_does_not_copy():
    copied = " ".join(rest for rest in of("COPY") if not rest.startswith("--from"))
    for line in text(".dockerignore").splitlines():
        if line.startswith("!"):
            assert line[1:].rstrip("/") in copied, line


def test_the_mounts_the_port_and_the_time_zone_are_the_promised_ones():
    assert set(of("WORKDIR")) == {"/app"}
    assert json.loads(of("VOLUME")[0]) == [f"/app/{name}" for name in ("models", "input", "output", "temp", "logs")]
    assert "7860" in of("EXPOSE")[0].split()
    assert "TZ=Etc/UTC" in of("ARG")
    assert variables_of_image()["TZ"] == "${TZ}"
    assert "/opt/venv/bin" in variables_of_image()["PATH"]
    assert made_folders() >= set(json.loads(of("VOLUME")[0]))


def test_it_runs_without_rights_and_says_how_it_is():
    final = instructions()[max(i for i, (word, _) in enumerate(instructions()) if word == "FROM") :]
    assert [rest for word, rest in final if word == "USER"] == ["${UID}:${UID}"]
    assert "UID=1000" in of("ARG")
    (check,) = of("HEALTHCHECK")
    assert "/usr/local/bin/facefusion-health" in check
    assert "deploy/container/health.py /usr/local/bin/facefusion-health" in of("COPY")
    (command,) = (json.loads(rest) for rest in of("CMD"))
    assert find_command(command[0]) is not None


def test_the_embedded_models_lie_where_no_mount_hides_them():
    assert "force-download --download-scope embedded" in " ".join(of("RUN"))
    assert "--from=models /app/models .assets/models" in of("COPY")


@pytest.mark.parametrize(
    ("words", "run"),
    [
        (["run", "--execution-providers", "tensorrt"], "python facefusion.py run --execution-providers tensorrt"),
        (
            ["python", "facefusion.py", "run", "--execution-providers", "tensorrt"],
            "python facefusion.py run --execution-providers tensorrt",
        ),
        (["serve"], "python facefusion.py serve"),
        (["--help"], "python facefusion.py --help"),
        ([], "python facefusion.py"),
        (["run", "-t", "a clip.mp4"], "python facefusion.py run -t a clip.mp4"),
    ],
)
def test_it_is_started_with_the_program_s_words_or_with_a_whole_command(tmp_path, words, run):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "python $*"\n', encoding="utf-8")
    python.chmod(0o755)
    done = subprocess.run(
        [DEPLOY / "container" / "entrypoint.sh", *words],
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.rstrip() == run


def health():
    spec = importlib.util.spec_from_file_location("container_health", DEPLOY / "container" / "health.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["python", "facefusion.py", "serve"], (7860, "/health/live")),
        (["python", "facefusion.py", "run", "--execution-providers", "tensorrt"], (7860, "/health/live")),
        (["/sbin/docker-init", "--", "facefusion-entrypoint", "worker"], (7861, "/health/live")),
        (["python", "facefusion.py", "run", "-t", "a.mp4", "-o", "b.mp4"], None),
        (["python", "facefusion.py", "run", "--target-path=a.mp4"], None),
        (["python", "facefusion.py", "force-download"], None),
    ],
)
def test_health_asks_what_the_container_was_started_for(words, asked):
    assert health().question(words) == asked


@pytest.mark.parametrize(("status", "well"), [(200, True), (503, False)])
def test_health_is_what_the_answer_says(status, well):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if self.path == "/health/live" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert health().answers(server.server_port, "/health/live") is well
        assert not health().answers(server.server_port, "/elsewhere")
    finally:
        server.shutdown()
        server.server_close()
    assert not health().answers(server.server_port, "/health/live"), "nothing listens any more"


def test_temporary_files_go_where_a_mount_takes_them():
    assert variables_of_image()["TMPDIR"] in json.loads(of("VOLUME")[0])
