"""Which steps patterns mean, and what is refused before the first begins."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from facefusion.config.settings import PatternsSettings
from facefusion.core.errors import FaceFusionError
from facefusion.jobs import batch
from facefusion.jobs.batch import BatchStep, plan_batch


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("faces/ann.jpg", "faces/bob.jpg", "clips/a.mp4", "clips/B.PNG", "clips/notes.txt"):
        put(name)
    Path("out").mkdir()
    return tmp_path


def put(name):
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    if path.suffix.lower() in (".png", ".jpg"):
        cv2.imwrite(name, np.zeros((4, 4, 3), np.uint8))
    else:
        path.write_bytes(b"x")


def plan(output="out/{index}{target_extension}", target="clips/*", source=None):
    return plan_batch(PatternsSettings(source_pattern=source, target_pattern=target, output_pattern=output))


def steps(**patterns):
    return [
        (str(step.source) if step.source else None, str(step.target), str(step.output))
        for step in plan(**patterns).steps
    ]


def refusal(**patterns):
    with pytest.raises(FaceFusionError) as caught:
        plan(**patterns)
    return str(caught.value), caught.value.exit_code


def test_every_source_with_every_target_sources_outermost():
    assert steps(source="faces/*", output="out/{index:02d}-{source_name}-{target_name}{target_extension}") == [
        ("faces/ann.jpg", "clips/B.PNG", "out/00-ann-B.png"),
        ("faces/ann.jpg", "clips/a.mp4", "out/01-ann-a.mp4"),
        ("faces/bob.jpg", "clips/B.PNG", "out/02-bob-B.png"),
        ("faces/bob.jpg", "clips/a.mp4", "out/03-bob-a.mp4"),
    ]


def test_targets_alone():
    assert steps() == [(None, "clips/B.PNG", "out/0.png"), (None, "clips/a.mp4", "out/1.mp4")]


def test_a_folder_as_output_takes_the_names_of_the_targets():
    assert [output for *_, output in steps(output="out")] == ["out/B.PNG", "out/a.mp4"]
    Path("out/ann").mkdir()
    assert [output for *_, output in steps(output="out/{source_name}", source="faces/ann*")] == [
        "out/ann/B.PNG",
        "out/ann/a.mp4",
    ]


def test_sound_may_be_a_source_and_no_target():
    put("faces/song.mp3")
    put("clips/song.mp3")
    assert [source for source, *_ in steps(source="faces/*", target="clips/a*")] == [
        "faces/ann.jpg",
        "faces/bob.jpg",
        "faces/song.mp3",
    ]
    assert plan(source="faces/*").notices == (
        "Passed over what the target pattern matches and is no image or video file: clips/notes.txt, clips/song.mp3.",
    )


def test_what_is_passed_over_is_cut_in_a_long_list():
    for index in range(7):
        put(f"faces/{index}.doc")
    assert plan(source="faces/*", target="clips/a.mp4").notices == (
        "Passed over what the source pattern matches and is no image or audio file: "
        "faces/0.doc, faces/1.doc, faces/2.doc, faces/3.doc, faces/4.doc and 2 more.",
    )


@pytest.mark.parametrize(
    ("patterns", "message", "code"),
    [
        (
            {"target": None},
            "no targets are given. Name the images and videos to change with --target-pattern, such as 'clips/*.mp4'.",
            2,
        ),
        (
            {"output": None},
            "no names for the results are given. "
            "Give them with --output-pattern, such as 'results/{target_name}{target_extension}'.",
            2,
        ),
        (
            {"output": "out/{name}.png"},
            "--output-pattern out/{name}.png: there is no placeholder {name}. "
            "Placeholders are {index}, {target_name} and {target_extension}.",
            2,
        ),
        (
            {"target": "clips/*.avi"},
            "the target pattern clips/*.avi matches no image or video file. Check --target-pattern.",
            1,
        ),
        (
            {"target": "out"},
            "the target pattern out matches no image or video file. Check --target-pattern.",
            1,
        ),
        (
            {"source": "nobody.jpg"},
            "source nobody.jpg: there is no such file or folder. Check the path given with --source-pattern.",
            1,
        ),
        (
            {"source": "x" * 5000},
            f"source {'x' * 200}... (5000 characters): File name too long. Check the path given with --source-pattern.",
            1,
        ),
        (
            {"target": "*" + "x" * 5000},
            f"the target pattern *{'x' * 199}... (5001 characters) matches no image or video file. "
            "Check --target-pattern.",
            1,
        ),
        (
            {"output": "out/" + "x" * 300 + ".mp4"},
            f"output out/{'x' * 196}... (308 characters): File name too long. "
            "Check the path given with --output-pattern.",
            1,
        ),
        (
            {"source": "clips/notes.txt"},
            "the source pattern clips/notes.txt matches no image or audio file, only clips/notes.txt. "
            "Check --source-pattern.",
            1,
        ),
        (
            {"source": "faces/[x].jpg"},
            "the source pattern faces/[x].jpg matches no image or audio file. "
            "Check --source-pattern. A [ that is no wildcard is written [[].",
            1,
        ),
        (
            {"source": "clips/*.[mt]*"},
            "the source pattern clips/*.[mt]* matches no image or audio file, only clips/a.mp4, clips/notes.txt. "
            "Check --source-pattern.",
            1,
        ),
        (
            {"output": "out/result.mp4", "target": "clips/a.mp4", "source": "faces"},
            "output out/result.mp4 would be written twice, "
            "for clips/a.mp4 with faces/ann.jpg and for clips/a.mp4 with faces/bob.jpg. "
            "Put {index} or the names into --output-pattern.",
            2,
        ),
        (
            {"output": "out/../out/same.png", "target": "clips/**"},
            "output out/../out/same.png would be written twice, for clips/B.PNG and for clips/a.mp4. "
            "Put {index} or the names into --output-pattern.",
            2,
        ),
        (
            {"output": "missing/{index}.mp4"},
            "output missing/0.mp4: the folder missing does not exist. Create it first, or choose another "
            "--output-pattern.",
            1,
        ),
        (
            {"output": "out/{target_name}/{index}.mp4"},
            "output out/B/0.mp4: the folder out/B does not exist. Create it first, or choose another --output-pattern.",
            1,
        ),
        (
            {"output": "out/{index}.txt", "target": "clips/a.mp4"},
            "output out/0.txt: the extension .txt does not name a format for the video. "
            "Use one of .avi, .m4v, .mkv, .mov, .mp4, .mpeg, .mpg, .mxf, .webm, .wmv.",
            2,
        ),
        (
            {"output": "out/{index}.jpg", "target": "clips/a.mp4"},
            "output out/0.jpg: the extension .jpg does not name a format for the video clips/a.mp4. "
            "Use one of .avi, .m4v, .mkv, .mov, .mp4, .mpeg, .mpg, .mxf, .webm, .wmv, .apng, .gif, .png, .webp.",
            2,
        ),
        (
            {"output": "clips/{target_name}.mp4", "target": "clips/a.mp4"},
            "output clips/a.mp4 is the target itself. It would be overwritten; choose another --output-pattern.",
            2,
        ),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_begins(patterns, message, code):
    assert refusal(**patterns) == (message, code)


def test_no_step_may_overwrite_what_another_reads():
    put("clips/0.mp4")
    remedy = "It would be overwritten; choose another --output-pattern."
    assert refusal(output="clips/{index}.mp4", target="clips/[0a].mp4", source="faces/ann.jpg") == (
        f"output clips/0.mp4 is the target itself. {remedy}",
        2,
    )
    assert refusal(output="clips/0.mp4", target="clips/?.*") == (
        f"output clips/0.mp4 is the target itself. {remedy}",
        2,
    )
    put("clips/c.mp4")
    Path("clips/0.mp4").rename("clips/1.mp4")
    assert refusal(output="clips/{index}.mp4", target="clips/[1c].mp4", source="faces/ann.jpg") == (
        f"output clips/1.mp4 is the target clips/1.mp4 itself. {remedy}",
        2,
    )
    assert refusal(output="faces/ann.jpg", target="clips/B.PNG", source="faces") == (
        f"output faces/ann.jpg is the source faces/ann.jpg itself. {remedy}",
        2,
    )


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_files_are_known_under_their_other_names():
    Path("other").symlink_to("out", target_is_directory=True)
    Path("clips/copies").symlink_to("../out", target_is_directory=True)
    message, code = refusal(output="out/{target_name}.png", target="clips/B.PNG", source="faces")
    assert (message[:44], code) == ("output out/B.png would be written twice, for", 2)
    os.link("faces/bob.jpg", "out/0.jpg")
    assert refusal(output="other/{index}.jpg", target="clips/B.PNG", source="faces")[0] == (
        "output other/0.jpg is the source faces/bob.jpg itself. "
        "It would be overwritten; choose another --output-pattern."
    )


def test_names_that_differ_in_case_are_one_file_where_the_system_says_so(monkeypatch):
    put("clips/b.jpg")
    patterns = {"output": "out/{target_name}.webp", "target": "clips/[Bb].*"}
    monkeypatch.setattr(sys, "platform", "linux")
    assert [output for *_, output in steps(**patterns)] == ["out/B.webp", "out/b.webp"]
    monkeypatch.setattr(sys, "platform", "darwin")
    assert refusal(**patterns)[0] == (
        "output out/b.webp would be written twice, for clips/B.PNG and for clips/b.jpg. "
        "Put {index} or the names into --output-pattern."
    )


def test_an_animation_is_a_video_and_a_still_of_the_same_format_an_image():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    frames[0].save("clips/moving.gif", save_all=True, append_images=frames[1:])
    frames[0].save("clips/still.gif")
    assert [output for *_, output in steps(output="out/{index}.mp4", target="clips/moving.gif")] == ["out/0.mp4"]
    assert [output for *_, output in steps(output="out/{index}.jpg", target="clips/still.gif")] == ["out/0.jpg"]
    assert refusal(output="out/{index}.jpg", target="clips/moving.gif")[0].startswith(
        "output out/0.jpg: the extension .jpg does not name a format for the video clips/moving.gif."
    )
    assert refusal(output="out/{index}.mp4", target="clips/still.gif")[0].startswith(
        "output out/0.mp4: the extension .mp4 does not name a format for the image clips/still.gif."
    )


def test_only_animations_are_looked_into(monkeypatch):
    def refuse(path):
        raise AssertionError(path)

    monkeypatch.setattr(batch, "probe", refuse)
    Path("clips/B.PNG").write_bytes(b"damaged")
    assert len(steps()) == 2
    assert steps(output="out/{index}.png") == [(None, "clips/B.PNG", "out/0.png"), (None, "clips/a.mp4", "out/1.png")]


def test_a_damaged_file_is_left_to_its_step():
    Path("clips/B.PNG").write_bytes(b"damaged")
    assert [output for *_, output in steps(output="out/{index}.jpg", target="clips/B.PNG")] == ["out/0.jpg"]


def test_a_step_names_its_files():
    assert str(BatchStep(Path("a.jpg"), Path("b.mp4"), Path("c.mp4"))) == "b.mp4 with a.jpg"
    assert str(BatchStep(None, Path("b.mp4"), Path("c.mp4"))) == "b.mp4"


NAMES = ("0.png", "1.png", "a.png", "a.jpg", "b c.png", "[x].png", "{index}.png")
PIECES = ("a", "0", "{index}", "{target_name}", "{source_name}", "{target_extension}")


@given(
    names=st.sets(st.sampled_from(NAMES), min_size=1),
    folder=st.sampled_from(("t/", "s/", "./", "")),
    stem=st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join),
    extension=st.sampled_from((".png", "{target_extension}")),
    source=st.sampled_from((None, "s", "s/a*")),
)
def test_whatever_is_planned_overwrites_nothing_that_is_read_and_nothing_twice(
    tmp_path_factory, names, folder, stem, extension, source
):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("batch"))
        for name in names:
            put(f"t/{name}")
            put(f"s/{name}")
        try:
            planned = plan(target="t", source=source, output=f"{folder}{stem}{extension}").steps
        except FaceFusionError:
            return
        outputs = {step.output.resolve() for step in planned}
        read = {path.resolve() for step in planned for path in (step.source, step.target) if path is not None}
        assert len(outputs) == len(planned) > 0
        assert not outputs & read
