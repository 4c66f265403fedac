"""Whole runs on a card."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from facefusion.inference.nvml import read_memory
from tests.gpu.conftest import CARD_IS_THERE, REHEARSAL, is_missing

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "assets/benchmark/source.jpg"
CLIP = ROOT / "assets/benchmark/target-360p.mp4"
LIKE = 40.0
"""PSNR in dB of the CPU's result from which on nobody sees a difference."""
WITHOUT_ENCODERS = ("A100", "A30", "H100", "H200", "H800", "B100", "B200", "B300", "GH200", "GB200", "V100")
"""Cards that have no video encoder (NVIDIA, Video Encode and Decode GPU Support Matrix)."""


def run(folder, name, *options):
    """Swap the face of the clip's first frames; returns the result and its report."""
    output, report = folder / f"{name}.mp4", folder / f"{name}.json"
    command = [sys.executable, "facefusion.py", "headless-run", "-s", str(SOURCE), "-t", str(CLIP), "-o", str(output)]
    command += ["--trim-frame-end", "12", "--report", str(report), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return output, json.loads(report.read_text("utf-8"))


def frames(path):
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="yuv420p").astype(np.float64) for frame in container.decode(video=0)]


def likeness(first, second):
    assert len(first) == len(second)
    square = np.mean([np.mean((a - b) ** 2) for a, b in zip(first, second, strict=True)])
    return np.inf if square == 0 else 10 * np.log10(255**2 / square)


@pytest.fixture(scope="module")
def expected(obstacles, tmp_path_factory):
    if all(obstacles.values()) and os.environ.get(CARD_IS_THERE) != REHEARSAL:
        is_missing(f"nothing works: {obstacles}")
    return frames(run(tmp_path_factory.mktemp("cpu"), "cpu", "--execution-providers", "cpu")[0])


def test_a_face_is_swapped_as_on_the_cpu(place, tmp_path, expected):
    output, report = run(tmp_path, place.provider, "--execution-providers", place.provider)
    ran_on = {model["provider"] for model in report["models"]} - {"code"}
    assert ran_on == {place.provider}
    assert likeness(frames(output), expected) >= LIKE


def test_a_run_takes_video_memory_and_tells_how_much(card, tmp_path):
    _, report = run(tmp_path, "cuda", "--execution-providers", "cuda", "--gpu-memory-limit", "4")
    assert 0 < report["peak_video_memory_bytes"] <= card.total_memory


def test_a_clip_is_decoded_on_the_card_to_the_same_frames(card, tmp_path, expected):
    output, _ = run(tmp_path, "decoded", "--execution-providers", "cuda", "--decoder-device", "gpu")
    assert likeness(frames(output), expected) >= LIKE


def test_a_result_is_encoded_on_the_card(card, tmp_path, expected):
    if any(name in card.name for name in WITHOUT_ENCODERS):
        pytest.skip(f"{card.name} has no video encoder")
    output, _ = run(tmp_path, "encoded", "--execution-providers", "cuda", "--output-video-encoder", "h264_nvenc")
    assert likeness(frames(output), expected) >= 30.0


def test_the_driver_tells_how_much_memory_is_free(card):
    memory = read_memory(card.uuid)
    assert memory is not None
    assert 0 < memory.free <= card.total_memory
