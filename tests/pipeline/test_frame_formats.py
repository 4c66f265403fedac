"""Files of frames one by one: formats, depth, and whose content they are."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from facefusion.core.errors import OutputError
from facefusion.media.frame_image import FRAME_FORMATS
from facefusion.pipeline.frame_files import FrameFiles
from facefusion.vision.picture import BgrPicture
from tests.pipeline.kept_frames import bt601, differing, frames_of, keep, make_stage, moderate, planes, read


@pytest.fixture
def deep_stage(tmp_path):
    pictures = moderate("yuv444p10le", 470, 550)
    return make_stage(tmp_path, pixel_format="yuv444p10le", pictures=pictures)


@pytest.mark.parametrize(("name", "kind"), [("png", np.uint16), ("tiff", np.uint16), ("bmp", np.uint8)])
def test_deep_frames_keep_their_depth_where_the_format_has_it(deep_stage, name, kind):
    keep(deep_stage, frames=name)
    shown, pixels = bt601([plane / 4 for plane in planes(deep_stage)[9]]), read(frames_of(deep_stage)[9])
    assert pixels.dtype == kind
    levels = pixels.astype(float) / (257 if kind == np.uint16 else 1)
    assert np.abs(levels - shown).max() <= (0.51 if kind == np.uint8 else 0.01)


def test_a_deep_frame_saved_with_eight_bits_changes_only_where_it_was_painted(deep_stage):
    keep(deep_stage)
    before, path = planes(deep_stage), frames_of(deep_stage)[9]
    pixels = (read(path) >> 8).astype(np.uint8)
    pixels[20:40, 40:60] = (0, 0, 255)
    cv2.imwrite(str(path), pixels)
    keep(deep_stage)
    after = planes(deep_stage)
    assert differing(before, after) == [9]
    for old, new, red in zip(before[9], after[9], (81 * 4, 90 * 4, 240 * 4), strict=True):
        np.testing.assert_allclose(new[20:40, 40:60], red, atol=3)
        new[20:40, 40:60] = old[20:40, 40:60]
        np.testing.assert_array_equal(old, new)


def picture(level):
    return BgrPicture(np.full((8, 8, 3), level, np.uint8))


def files_in(folder):
    return FrameFiles(folder, FRAME_FORMATS["png"])


def test_what_another_run_came_to_is_no_change_by_hand(tmp_path):
    """As happens where a graphics card does not give the same numbers twice."""
    with files_in(tmp_path) as files:
        first = files.keep(0, picture(10))
    with files_in(tmp_path) as files:
        second = files.keep(0, picture(11))
        assert (first.edited, second.edited) == (False, False)
        np.testing.assert_array_equal(read(files.path_of(0)), 11)
        assert files.keep(0, picture(10)) == first


def test_a_line_that_breaks_off_costs_nothing_but_itself(tmp_path):
    with files_in(tmp_path) as files:
        files.keep(0, picture(10))
    ledger = tmp_path / "frames.txt"
    ledger.write_bytes(ledger.read_bytes() + b"00000001 12")
    with files_in(tmp_path) as files:
        assert not files.keep(0, picture(11)).edited
        assert not files.keep(1, picture(12)).edited
    with files_in(tmp_path) as files:
        assert not files.keep(1, picture(13)).edited
        assert not files.keep(0, picture(14)).edited


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "frames").write_bytes(b"")
    with (
        pytest.raises(OutputError, match=r"frames cannot be written: a file of that name is there"),
        files_in(tmp_path),
    ):
        pass
