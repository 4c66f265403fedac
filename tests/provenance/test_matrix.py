"""The whole program, from its command line to marks that others read: formats, processors, and what can go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from facefusion.app.engine import Engine
from facefusion.cli.main import main
from facefusion.core.errors import SigningError
from facefusion.provenance.manifests import Manifest, Verdict, stores_of
from facefusion.provenance.records import SourceType, sidecar_of
from facefusion.provenance.signing.sealer import C2paSealer
from facefusion.provenance.xmp.read import source_types
from tests.provenance.signing.certificates import Root, write_pair

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "assets" / "demo"
COMPOSITE, ENHANCED = SourceType.COMPOSITE.value, SourceType.ENHANCED.value
DEEDS = {
    "swap": (("face_swapper",), COMPOSITE),
    "enhance": (("face_enhancer",), ENHANCED),
    "mixed": (("face_enhancer", "face_swapper", "face_debugger"), COMPOSITE),
}
STILLS = (".jpg", ".png", ".webp", ".tiff", ".avif", ".heic", ".gif", ".bmp")
VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".wmv", ".mxf", ".mpg")
BESIDE = (".bmp", ".mkv", ".webm", ".wmv", ".mxf", ".mpg")
SILENT = (".bmp", ".mxf", ".mpg")
"""Formats whose files have no place for the source type."""
FRAMES = 3
SIZE = (320, 180)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.release_models()


@pytest.fixture(scope="module")
def root() -> Root:
    return Root()


@pytest.fixture(scope="module")
def photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small image with a face."""
    path = tmp_path_factory.mktemp("photo") / "photo.png"
    cv2.imwrite(str(path), next(small_frames()))
    return path


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small video with a face."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for picture in islice(small_frames(), FRAMES):
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        output.mux(stream.encode())
    return path


def small_frames() -> Iterator[np.ndarray]:
    with av.open(str(DEMO / "target.mp4")) as container:
        for frame in container.decode(video=0):
            yield cv2.resize(frame.to_ndarray(format="bgr24"), SIZE, interpolation=cv2.INTER_AREA)


@pytest.fixture
def signer(tmp_path: Path, root: Root) -> tuple[str, ...]:
    """Options that name a signer whom the root vouches for."""
    folder = tmp_path / "signer"
    folder.mkdir()
    certificate, key = write_pair(folder, root)
    return "--signing-certificate", str(certificate), "--signing-key", str(key)


class Program:
    """Runs one command line after the other."""

    def __init__(self, engine: Engine, models: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._engine = engine
        self._models = models
        self._capsys = capsys
        self.folder = folder
        self.said = ""

    def words(self, target: Path, output: Path, *words: str) -> list[str]:
        return [
            *("-s", str(DEMO / "source.jpg"), "-t", str(target), "-o", str(output), "--models-path", str(self._models)),
            *("--temp-path", str(self.folder / "temp"), *words),
        ]  # fmt: skip

    def run(self, target: Path, output: Path, *words: str) -> int:
        return self.call("run", *self.words(target, output, *words))

    def call(self, *words: str) -> int:
        (self.folder / "temp").mkdir(exist_ok=True)
        code = main(words, self._engine)
        self.said = self._capsys.readouterr().err
        return code

    def report(self, target: Path, output: Path, *words: str) -> dict[str, Any]:
        """The report of a run that ended well."""
        path = self.folder / "report.json"
        assert self.run(target, output, *words, "--report", str(path)) == 0, self.said
        return json.loads(path.read_text())


@pytest.fixture
def program(engine, model_path: Callable[[str], Path], tmp_path, capsys, monkeypatch) -> Program:
    monkeypatch.setenv("FACEFUSION_MARKING", "full")
    monkeypatch.setenv("FACEFUSION_TRUST_PATH", str(tmp_path / "trust"))
    return Program(engine, model_path("yunet").parent, tmp_path, capsys)


def manifest_of(path: Path, anchors: str | None = None, verdict: Verdict = Verdict.UNKNOWN_SIGNER) -> Manifest:
    """The one manifest in a result or beside it, which verifies."""
    (store,) = stores_of(path, anchors)
    assert (store.verdict, store.faults) == (verdict, ())
    assert store.side_car == (sidecar_of(path) if path.suffix in BESIDE else None)
    return store.manifests[0]


def pictures(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray() for frame in container.decode(video=0)]


@pytest.mark.parametrize("deeds", DEEDS)
@pytest.mark.parametrize("suffix", [*STILLS, *VIDEOS])
def test_a_result_says_how_it_came_to_be(program: Program, photo, clip, root, signer, suffix, deeds):
    processors, source_type = DEEDS[deeds]
    target = photo if suffix in STILLS else clip
    output, before = program.folder / f"out{suffix}", target.read_bytes()
    report = program.report(target, output, "--processors", *processors, *signer)
    assert source_types(output) == (() if suffix in SILENT else (source_type,))
    manifest = manifest_of(output, root.pem, Verdict.TRUSTED)
    edits = {action.processor: action.source_type for action in manifest.actions if action.processor}
    said = {"face_swapper": COMPOSITE, "face_enhancer": ENHANCED, "face_debugger": None}
    assert edits == {name: said[name] for name in processors}
    assert report["marking"] == {
        "mode": "full",
        "source_type": source_type,
        "in_file": suffix not in SILENT,
        "signed_by": "Signer of tests, Example",
        "side_car": f"out{suffix}.c2pa" if suffix in BESIDE else None,
        "of_target": [],
        "target_manifest": None,
    }
    assert target.read_bytes() == before
    assert str(program.folder) not in (sidecar_of(output) if suffix in BESIDE else output).read_bytes().decode(
        "latin-1"
    )


@pytest.mark.parametrize("suffix", [".png", ".tiff", ".mp4", ".mkv", ".mov", ".avi"])
def test_frames_are_the_same_with_marks_and_without(program: Program, photo, clip, suffix):
    target = photo if suffix in STILLS else clip
    outputs = [program.folder / f"{marking}{suffix}" for marking in ("full", "metadata", "off")]
    for output in outputs:
        assert program.run(target, output, "--marking", output.stem) == 0, program.said
    shown = [pictures(output) for output in outputs]
    assert all(np.array_equal(shown[0], other) for other in shown[1:])
    assert [bool(stores_of(output)) for output in outputs] == [True, False, False]
    assert [bool(source_types(output)) for output in outputs] == [True, True, False]


def test_one_changed_byte_is_found(program: Program, photo, clip):
    for suffix in (".jpg", ".mp4", ".mkv"):
        output = program.folder / f"out{suffix}"
        assert program.run(photo if suffix == ".jpg" else clip, output) == 0, program.said
        data = bytearray(output.read_bytes())
        data[len(data) * 3 // 4] ^= 1
        output.write_bytes(data)
        assert stores_of(output)[0].verdict is Verdict.BROKEN
        assert main(["detect", str(output)]) == 6


def test_what_only_the_debugger_drew_on_is_neither_marked_nor_signed(program: Program, photo):
    report = program.report(photo, program.folder / "out.png", "--processors", "face_debugger")
    assert report["marking"] == {
        "mode": "full", "source_type": None, "in_file": False, "signed_by": None, "side_car": None, "of_target": [],
        "target_manifest": None,
    }  # fmt: skip
    assert stores_of(program.folder / "out.png") == ()
    assert not (program.folder / "trust").exists(), "nobody had to sign"


@pytest.mark.parametrize("suffix", [".png", ".mp4", ".mkv"])
def test_a_result_of_a_result_keeps_its_manifest_and_stays_what_it_was(program: Program, photo, clip, suffix):
    first, second = program.folder / f"first{suffix}", program.folder / f"second{suffix}"
    target = photo if suffix == ".png" else clip
    assert program.run(target, first) == 0, program.said
    before = first.read_bytes()
    report = program.report(first, second, "--processors", "face_enhancer")
    (store,) = stores_of(second)
    assert store.verdict is Verdict.UNKNOWN_SIGNER
    assert [[action.processor for action in one.actions if action.processor] for one in store.manifests] == [
        ["face_enhancer"],
        ["face_swapper"],
    ]
    assert source_types(second) == (COMPOSITE,)
    marking = report["marking"]
    assert marking["source_type"] == COMPOSITE
    assert marking["of_target"] == [COMPOSITE]
    assert marking["target_manifest"] == "signed by an unknown signer"
    kept = f"first{suffix} carries a manifest (signed by an unknown signer), which is kept in the result's as that of"
    assert any(notice.startswith(kept) for notice in report["notices"])
    assert first.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_through_a_link_the_manifest_lies_beside_the_file_and_is_found(program: Program, clip):
    (program.folder / "elsewhere").mkdir()
    file, link = program.folder / "elsewhere" / "file.mkv", program.folder / "link.mkv"
    file.write_bytes(b"an older result")
    link.symlink_to(file)
    assert program.run(clip, link) == 0, program.said
    assert sorted(path.name for path in file.parent.iterdir()) == ["file.mkv", "file.mkv.c2pa"]
    assert [store.side_car for path in (file, link) for store in stores_of(path)] == [sidecar_of(file)] * 2
    report = program.report(link, program.folder / "again.mkv")
    assert len(stores_of(program.folder / "again.mkv")[0].manifests) == 2
    assert report["marking"]["target_manifest"] == "signed by an unknown signer"


def test_a_manifest_of_the_target_is_not_lost_without_a_word(program: Program, photo):
    first, second = program.folder / "first.png", program.folder / "second.png"
    assert program.run(photo, first) == 0, program.said
    for marking in ("metadata", "off"):
        report = program.report(first, second, "--marking", marking)
        lost = "first.png carries a manifest (signed by an unknown signer), which the result does not keep."
        assert lost in report["not_kept"]
        assert stores_of(second) == ()


def test_without_a_key_one_is_made_and_is_used_again(program: Program, photo):
    first, second = program.folder / "first.jpg", program.folder / "second.jpg"
    assert program.run(photo, first) == 0
    assert manifest_of(first).signer == "Local signer of FaceFusion, FaceFusion"
    assert "Made a local certificate to sign results with" in program.said
    assert program.run(photo, second) == 0
    assert "Made a local certificate" not in program.said
    assert len(list((program.folder / "trust").glob("identity-*"))) == 1
    manifest_of(second)


@pytest.mark.parametrize(
    ("about", "fault"),
    [
        ({"begins": -10, "ends": -1}, "ran out on"),
        ({"signs": False}, "is not for signing content"),
        ({"other": True}, "does not belong to the certificate"),
    ],
)
def test_a_key_that_cannot_work_is_found_before_anything_is_done(program: Program, photo, root, about, fault):
    folder = program.folder / "signer"
    folder.mkdir()
    other = about.pop("other", False)
    certificate, key = write_pair(folder, root, **about)
    if other:
        (folder / "other").mkdir()
        _, key = write_pair(folder / "other", root)
    output = program.folder / "out.png"
    code = program.run(photo, output, "--signing-certificate", str(certificate), "--signing-key", str(key))
    assert code == 2
    assert fault in program.said
    assert "frames" not in program.said
    assert not output.exists()


def test_a_trust_folder_that_cannot_be_written_to_is_found_before_anything_is_done(program: Program, photo):
    (program.folder / "trust").write_text("no folder")
    assert program.run(photo, program.folder / "out.png") == 2
    assert "--trust-path" in program.said
    assert "--marking metadata" in program.said
    assert program.run(photo, program.folder / "out.png", "--marking", "metadata") == 0


def test_what_cannot_be_signed_is_kept_and_the_same_command_goes_on(program: Program, clip, monkeypatch):
    output, target = program.folder / "out.mp4", clip
    plain = program.folder / "plain.mp4"
    assert program.run(target, plain, "--marking", "metadata") == 0
    output.write_bytes(b"an older result")

    def gone(*_: object) -> None:
        raise SigningError("the card is gone", "Put it in.")

    with monkeypatch.context() as patch:
        patch.setattr(C2paSealer, "seal", gone)
        assert program.run(target, output) == 7
    kept = program.folder / "out.mp4.unsigned.part"
    assert f"the card is gone. The result is whole, and is kept unsigned as {kept}. Put it in." in program.said
    assert "The same command goes on after 1 finished segment" in program.said
    assert kept.read_bytes() == plain.read_bytes()
    assert output.read_bytes() == b"an older result"

    report = program.report(target, output)
    assert report["frames"]["resumed"] == FRAMES
    assert not kept.exists()
    assert all(np.array_equal(one, other) for one, other in zip(pictures(output), pictures(plain), strict=True))
    manifest_of(output)
    assert list((program.folder / "temp").glob("**/segment-*")) == []


KILLED = """
import os, signal, sys
from facefusion.provenance.signing.sealer import C2paSealer
C2paSealer.seal = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from facefusion.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a way to kill")
def test_a_run_that_is_killed_before_it_signs_goes_on_there(program: Program, clip):
    output, target = program.folder / "out.mkv", clip
    (program.folder / "temp").mkdir()
    words = ["run", *program.words(target, output)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], cwd=ROOT, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not output.exists()
    report = program.report(target, output)
    assert report["frames"]["resumed"] == FRAMES
    manifest_of(output)
    left = {path.name for path in program.folder.iterdir()}
    assert {name for name in left if name.startswith((".facefusion", "out"))} == {"out.mkv", "out.mkv.c2pa"}


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".gif"])
def test_a_job_of_several_steps_delivers_one_result_that_is_signed(program: Program, clip, suffix):
    output, jobs = program.folder / f"out{suffix}", ("--jobs-path", str(program.folder / "jobs"))
    assert program.call("job-create", "demo", *jobs) == 0
    for processors in ("face_swapper", "face_enhancer"):
        words = [*program.words(clip, output, "--processors", processors), *jobs]
        place = words.index("--temp-path")
        assert program.call("job-add-step", "demo", *words[:place], *words[place + 2 :]) == 0, program.said
    assert program.call("job-submit", "demo", *jobs) == 0
    assert program.call("job-run", "demo", *jobs, "--temp-path", str(program.folder / "temp")) == 0, program.said
    (store,) = stores_of(output)
    assert store.verdict is Verdict.UNKNOWN_SIGNER
    assert [action.processor for action in store.manifests[0].actions] == [None, "join"]
    assert [action.processor for action in store.manifests[1].actions] == [None, "face_swapper"]
    assert source_types(output) == (COMPOSITE,)
    assert len(pictures(output)) == 2 * FRAMES
    left = [path.name for path in program.folder.iterdir() if path.name.startswith("out")]
    assert sorted(left) == [output.name, *([f"{output.name}.c2pa"] if suffix in BESIDE else [])]


def test_a_step_that_goes_on_from_another_delivers_its_manifest_with_it(program: Program, clip):
    output, jobs = program.folder / "out.mkv", ("--jobs-path", str(program.folder / "jobs"))
    assert program.call("job-create", "demo", *jobs) == 0
    words = [*program.words(clip, output), *jobs]
    place = words.index("--temp-path")
    assert program.call("job-add-step", "demo", *words[:place], *words[place + 2 :]) == 0, program.said
    remix = ("-o", str(output), "--processors", "face_enhancer", *jobs)
    assert program.call("job-remix-step", "demo", "0", *remix) == 0, program.said
    assert program.call("job-submit", "demo", *jobs) == 0
    assert program.call("job-run", "demo", *jobs, "--temp-path", str(program.folder / "temp")) == 0, program.said
    (store,) = stores_of(output)
    assert store.verdict is Verdict.UNKNOWN_SIGNER
    made = [[action.processor for action in one.actions if action.processor] for one in store.manifests]
    assert made == [["face_enhancer"], ["face_swapper"]]
    assert store.side_car == sidecar_of(output)
    assert sorted(path.name for path in program.folder.iterdir() if path.name.startswith("out")) == [
        "out.mkv",
        "out.mkv.c2pa",
    ]


def test_marking_is_on_where_nobody_says_anything(program: Program, photo, monkeypatch):
    monkeypatch.delenv("FACEFUSION_MARKING")
    assert program.run(photo, program.folder / "out.jpg") == 0
    manifest_of(program.folder / "out.jpg")
