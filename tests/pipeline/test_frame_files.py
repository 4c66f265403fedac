"""Frames as files: what lies in them, what becomes of changes by hand, and what is left after an end of any kind."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facefusion.core.errors import ContentRefusedError, MediaError, OutputError
from facefusion.media.frame_image import FRAME_FORMATS
from facefusion.pipeline.left_folders import remove_stale
from facefusion.pipeline.video_plan import Trim
from facefusion.pipeline.window import WindowPlan
from tests.pipeline.kept_frames import (
    COUNT,
    EVERY_FRAME,
    LOSSLESS,
    bt601,
    differing,
    frames_of,
    keep,
    make_stage,
    paint,
    planes,
    read,
)
from tests.pipeline.stage import LENGTH, BrokenError, Content

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def stage(tmp_path):
    return make_stage(tmp_path)


def test_the_result_is_that_of_the_other_strategy_and_nothing_is_left(stage):
    stage.run()
    digest = stage.digest
    outcome, folder = stage.run(frames="png")
    assert stage.digest == digest
    assert outcome.frames == COUNT
    assert not folder.path.exists()
    assert stage.notices == ()


def test_kept_frames_are_those_of_the_result(tmp_path):
    stage = make_stage(tmp_path, pixel_format="yuv444p")
    keep(stage)
    files = frames_of(stage)
    assert list(files) == list(range(COUNT))
    assert files[7].name == "00000007.png"
    for index, shown in enumerate(planes(stage)):
        assert np.abs(read(files[index]) - bt601(shown)).max() <= 1
    [folder] = stage.folders
    assert stage.notices == (
        f"The finished frames are kept in {folder / 'frames'}. Change some and run the same command again to have the "
        "changes in the result.",
    )


def test_frames_with_alpha_are_exact(tmp_path):
    codes = np.random.default_rng(4).integers(0, 256, (6, 32, 48, 4), np.uint8)
    first, *others = [Image.fromarray(each) for each in codes]
    first.save(tmp_path / "in.png", save_all=True, append_images=others, duration=40, default_image=False, blend=0)
    stage = make_stage(tmp_path, "in.png", "out.png")
    keep(stage)
    files = frames_of(stage)
    with Image.open(stage.output) as result:
        for index in range(6):
            result.seek(index)
            shown = np.asarray(result.convert("RGBA"))
            np.testing.assert_array_equal(np.asarray(Image.open(files[index])), shown)
            np.testing.assert_array_equal(shown[16:, 16:], codes[index, 16:, 16:])


@pytest.mark.parametrize("name", list(FRAME_FORMATS))
def test_a_change_shows_in_its_frame_and_nowhere_else(stage, name):
    keep(stage, frames=name)
    before = planes(stage)
    paint(frames_of(stage)[20])
    keep(stage, frames=name)
    after = planes(stage)
    assert differing(before, after) == [20]
    luma, chroma_red = after[20][0], after[20][2]
    assert abs(luma[22:38, 42:58].mean() - 81) < 1  # red in BT.601: (81, 90, 240)
    assert abs(chroma_red[12:18, 22:28].mean() - 240) < 1
    if name != "jpeg":  # which does not keep the other pixels either
        outside = np.ones(luma.shape, bool)
        outside[20:40, 40:60] = False
        np.testing.assert_array_equal(luma[outside], before[20][0][outside])
        for old, new in zip(before[20][1:], after[20][1:], strict=True):
            np.testing.assert_array_equal(np.delete(old, np.s_[10:20], 0), np.delete(new, np.s_[10:20], 0))
    assert "What was changed by hand in these frames is in the result: 20." in stage.notices


def test_a_thin_line_keeps_its_colour(tmp_path):
    grey = [[np.full((64, 96), 120, np.uint8), *[np.full((32, 48), 128, np.uint8)] * 2]] * COUNT
    stage = make_stage(tmp_path, pictures=grey)
    keep(stage)
    paint(frames_of(stage)[3], (30, 30, 90, 31))
    keep(stage)
    line = planes(stage)[3]
    np.testing.assert_allclose(line[0][30, 30:90], 81, atol=1)
    np.testing.assert_allclose(line[2][15, 16:44], (128 + 240) / 2, atol=1)
    np.testing.assert_array_equal(line[0][31], 120)


def test_only_segments_with_a_change_are_made_again(stage):
    keep(stage)
    paint(frames_of(stage)[20])
    elsewhere = {number: BrokenError() for number in range(COUNT) if number // LENGTH != 1}
    _, folder = keep(stage, elsewhere)
    assert stage.progress == COUNT
    messages = [getattr(event, "message", "") for event in stage.sink.events]
    assert (
        f"Finished segments that are made again, since frames in {folder.path / 'frames'} were changed or are not "
        "there: 1 of 3." in messages
    )


def test_changes_at_both_ends_and_in_neighbours(stage):
    keep(stage)
    before, files = planes(stage), frames_of(stage)
    changed = [0, 15, 16, 31, 32, 39]
    for index in changed:
        paint(files[index])
    outcome, _ = keep(stage)
    assert differing(before, planes(stage)) == changed
    assert (outcome.frames, stage.progress) == (COUNT, COUNT)
    assert "What was changed by hand in these frames is in the result: 0, 15, 16, 31, 32, 39." in stage.notices


def test_many_changes_are_counted(stage):
    keep(stage)
    files = frames_of(stage)
    for index in range(12):
        paint(files[index])
    keep(stage)
    assert (
        "What was changed by hand in these frames is in the result: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more."
        in stage.notices
    )


@pytest.mark.parametrize("changed", [(), (5, 35)])
def test_without_a_further_change_the_segments_are_only_joined(stage, changed):
    keep(stage)
    files = frames_of(stage)
    for index in changed:
        paint(files[index])
    keep(stage)
    digest = stage.digest
    stage.output.unlink()
    keep(stage, EVERY_FRAME)
    assert stage.digest == digest
    assert any("was changed since the run before" in notice for notice in stage.notices)


@pytest.mark.parametrize("way", ["removed", "put back", "emptied"])
def test_a_change_is_taken_back(stage, way):
    keep(stage)
    digest, path = stage.digest, frames_of(stage)[20]
    original = path.read_bytes()
    paint(path)
    keep(stage)
    assert stage.digest != digest
    if way == "removed":
        path.unlink()
    else:
        path.write_bytes(original if way == "put back" else b"")
    keep(stage)
    assert stage.digest == digest
    assert path.read_bytes() == original
    assert not any("by hand" in notice for notice in stage.notices)


def test_the_other_strategy_takes_no_change_over_and_leaves_them_alone(stage):
    keep(stage)
    digest, files = stage.digest, frames_of(stage)
    paint(files[20])
    keep(stage)
    changed, saved = stage.digest, files[20].read_bytes()
    stage.run(encoder=LOSSLESS)
    assert stage.digest == digest
    assert frames_of(stage)[20].read_bytes() == saved
    assert stage.notices == (f"{stage.folders[0]} stays, as an earlier run was to keep it.",)
    keep(stage)
    assert stage.digest == changed


def test_segments_of_the_other_strategy_get_their_frames(stage):
    with pytest.raises(BrokenError):
        stage.run({36: BrokenError()}, encoder=LOSSLESS)
    keep(stage)
    assert list(frames_of(stage)) == list(range(COUNT))
    digest = stage.digest
    stage.run(encoder=LOSSLESS)
    assert stage.digest == digest


def test_frames_of_finished_segments_serve_the_other_strategy(stage):
    with pytest.raises(BrokenError):
        stage.run({36: BrokenError()}, frames="png", window=WindowPlan(window=6, workers=1))
    stage.run({number: BrokenError() for number in range(32)})
    assert stage.folders == []


@pytest.mark.parametrize("broken", [3, 25])
def test_a_run_that_broke_goes_on(stage, broken):
    keep(stage)
    digest, frames = stage.digest, [path.read_bytes() for path in frames_of(stage).values()]
    remove_stale(stage.root, 0, resumable=True)
    with pytest.raises(BrokenError):
        keep(stage, {broken: BrokenError()})
    outcome, _ = keep(stage)
    assert (stage.digest, outcome.frames, stage.progress) == (digest, COUNT, COUNT)
    assert [path.read_bytes() for path in frames_of(stage).values()] == frames


def test_changes_outlast_a_run_that_broke_while_it_took_them_over(stage):
    keep(stage)
    before, files = planes(stage), frames_of(stage)
    for index in (5, 22, 36):
        paint(files[index])
    with pytest.raises(BrokenError):
        keep(stage, {21: BrokenError()})
    keep(stage)
    assert differing(before, planes(stage)) == [5, 22, 36]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
def test_killed_at_any_moment_the_next_run_ends_with_the_same_bytes(tmp_path):
    command = (sys.executable, "-m", "tests.pipeline.stage", str(tmp_path), "png")
    stage = make_stage(tmp_path)
    begun = time.monotonic()
    subprocess.run(command, cwd=REPOSITORY, check=True)
    seconds = time.monotonic() - begun
    digest = stage.digest
    chance = random.Random(12)
    for _ in range(2):
        stage.output.unlink(missing_ok=True)
        with subprocess.Popen(command, cwd=REPOSITORY) as process:
            time.sleep(seconds * chance.uniform(0.5, 1.0))
            process.kill()
        stage.run(frames="png")
        assert stage.digest == digest
        assert not any("by hand" in notice for notice in stage.notices)
        assert stage.folders == []


def test_a_frame_of_another_size_is_refused(stage):
    keep(stage)
    path = frames_of(stage)[20]
    Image.new("RGB", (50, 40)).save(path)
    with pytest.raises(MediaError) as caught:
        keep(stage)
    assert str(caught.value) == (
        f"the frame {path} was changed to 50 x 40 pixels; the video has 96 x 64. Save it again as it should be, or "
        "remove it to have it made anew."
    )
    path.unlink()
    keep(stage)


def test_a_frame_that_cannot_be_read_is_refused(stage):
    keep(stage)
    path = frames_of(stage)[20]
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(MediaError) as caught:
        keep(stage)
    assert str(caught.value).startswith(f"the frame {path} was changed and cannot be read (")
    assert str(caught.value).endswith("). Save it again as it should be, or remove it to have it made anew.")


def test_transparency_that_was_changed_is_said(stage):
    keep(stage)
    path = frames_of(stage)[20]
    with Image.open(path) as image:
        image.putalpha(90)
        image.save(path)
    keep(stage)
    assert (
        "Transparency was changed in frames by hand, which is not in the result: only colours are taken over."
        in stage.notices
    )


def test_frames_of_another_format_are_said(stage):
    keep(stage, frames="bmp")
    keep(stage, frames="tiff")
    [folder] = stage.folders
    assert stage.notices[0] == (
        f"{folder / 'frames'} holds frames as bmp too, of a run with another --temp-frame-format; what is changed in "
        "those is not in the result."
    )


def test_dropped_frames_have_no_file_and_held_ones_have(stage):
    keep(stage, {12: ValueError("no")}, rate=Fraction(5, 1), halt=False)
    assert list(frames_of(stage)) == list(range(2, COUNT, 5))
    paint(frames_of(stage)[12])
    outcome, _ = keep(stage, {12: ValueError("no")}, rate=Fraction(5, 1), halt=False)
    assert outcome.held_frames == [12]
    assert "What was changed by hand in these frames is in the result: 12." in stage.notices


def test_a_part_keeps_the_numbers_of_the_target(stage):
    keep(stage, trim=Trim(13, 40))
    assert list(frames_of(stage)) == list(range(13, 40))


def test_what_is_kept_stays_when_something_else_is_asked_for(stage):
    _, kept = keep(stage)
    paint(frames_of(stage)[20])
    saved = frames_of(stage)[20].read_bytes()
    _, folder = stage.run(fingerprint={"seed": "2"}, encoder=LOSSLESS)
    assert folder.notices[1:] == [f"{kept.path}, which an earlier run was to keep, stays as it is."]
    stage.run(resume=False, encoder=LOSSLESS)
    stage.run(frames="png", encoder=LOSSLESS)
    assert frames_of(stage)[20].read_bytes() == saved


def test_what_is_kept_stays_when_nothing_comes_of_a_run(stage):
    keep(stage)
    files = frames_of(stage)
    for index in range(0, COUNT, LENGTH):
        paint(files[index])
    with pytest.raises(OutputError, match="every single frame failed"):
        keep(stage, {number: ValueError("no") for number in range(COUNT)}, halt=False)
    keep(stage)
    assert "What was changed by hand in these frames is in the result: 0, 16, 32." in stage.notices


def test_a_refused_target_leaves_no_frames(stage):
    with pytest.raises(ContentRefusedError):
        keep(stage, content=Content(refuse=True))
    assert stage.folders == []


def test_kept_frames_are_cleaned_only_on_request(stage):
    keep(stage)
    [folder] = stage.folders
    assert remove_stale(stage.root, 0) == ([], [folder])
    [removed], left = remove_stale(stage.root, 0, resumable=True)
    assert (removed.path, left) == (folder, [])
    assert stage.folders == []
