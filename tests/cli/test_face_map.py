"""The files that a map of faces names: looked at, reported and kept from harm like every other input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from facefusion.cli.main import main
from facefusion.faces.settings import FaceSelectorSettings
from tests.cli.fakes import FakeApplication

RUN = ("run", "-t", "target.mp4", "-o", "result.mp4")
BATCH = ("batch-run", "-t", "*.mp4", "-o", "{target_name}-new.mp4")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("target.mp4", "his face.png", "a=b.jpg", "me+you.jpg", "new.mp4"):
        Path(name).write_bytes(name.encode())


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said of a command line that is refused before anything is done."""
    application = FakeApplication()
    assert main(words, application) in (1, 2)
    assert application.snapshots == []
    return capsys.readouterr().err


@pytest.mark.parametrize("command", [RUN, BATCH])
@pytest.mark.parametrize(
    ("items", "said"),
    [
        (
            ("his face.png=me+you.jpg",),
            "source me: there is no such file. "
            "Check the path given with --face-map, where == stands for = and ++ for + in a name.",
        ),
        (("me.png=a==b.jpg",), "reference me.png: there is no such file. Check the path given with --face-map"),
        (("0=.",), "source . is a folder. Name one file with --face-map"),
        (("0=me++you.jpg", "0=a==b.jpg"), "--face-map names the reference face 0 twice."),
        (("0=a=b.jpg",), "--face-map 0=a=b.jpg: 0=a=b.jpg must be written as REFERENCE=SOURCE or "),
        (("0=me++you.jpg+",), "--face-map 0=me++you.jpg+: 0=me++you.jpg+ must be written as REFERENCE=SOURCE or "),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], items: tuple[str, ...], said: str
) -> None:
    assert f"error: {said}" in refusal(capsys, *command, "--face-map", *items)
    assert not Path(".jobs").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*RUN[:3], "-o", "new.mp4"), "output new.mp4 is the source itself"),
        (
            ("batch-run", "-t", "target.mp4", "-o", "new.mp4"),
            "output new.mp4 is the source itself. It would be overwritten; choose another --output-pattern.",
        ),
        ((*RUN, "--log-path", "new.mp4"), "--log-path new.mp4 is a file that the run works with."),
        ((*RUN, "--report", "new.mp4"), "--report new.mp4 is the source new.mp4 itself"),
    ],
)
def test_no_file_of_the_map_is_written_over(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert said in refusal(capsys, *words, "--face-map", "his face.png=new.mp4")
    assert Path("new.mp4").read_bytes() == b"new.mp4"


def test_a_batch_has_no_other_faces_than_the_map_s(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, *BATCH[:3], "-o", "{index}.mp4", "-s", "*.jpg", "--face-map", "0=his face.png")
    assert "nobody becomes the source a=b.jpg. Leave --source-pattern out, or name sound with it." in said


def test_the_map_is_shown_and_reported_and_needs_no_source(capsys: pytest.CaptureFixture[str]) -> None:
    items = ("his face.png=a==b.jpg+me++you.jpg", "1=me++you.jpg")
    assert main((*RUN, "--report", "report.json", "--face-map", *items), FakeApplication()) == 0
    shown = capsys.readouterr().err
    assert f"face map    {', '.join(items)}\n" in shown
    assert "\nsource " not in f"\n{shown}"
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert [(one["role"], Path(one["path"]).name) for one in report["inputs"]] == [
        ("reference", "his face.png"),
        ("source", "a=b.jpg"),
        ("source", "me+you.jpg"),
        ("target", "target.mp4"),
    ]
    assert report["settings"]["face_map"] == list(items)


def test_an_ini_file_keeps_a_map_and_a_batch_takes_it_for_every_target() -> None:
    Path("facefusion.ini").write_text(
        '[face_selector]\nface_map = "his face.png=a==b.jpg" 1=me++you.jpg\n', encoding="utf-8"
    )
    application = FakeApplication()
    assert main(BATCH, application) == 0
    assert [snapshot.get(FaceSelectorSettings).face_map for snapshot in application.snapshots] == [
        ("his face.png=a==b.jpg", "1=me++you.jpg")
    ] * 2
