from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from facefusion.core.errors import Stopped, UsageError
from facefusion.core.stop import StopToken
from facefusion.core.values import Size
from facefusion.media.encoding import Encoding
from facefusion.media.probe import probe
from facefusion.media.transcode import transcode_seconds
from tests.media.clips import make_clip, planes_of
from tests.media.writing import LOSSLESS


def decoded(path):
    with av.open(str(path)) as container:
        return [planes_of(frame) for frame in container.decode(video=0)]


def test_every_frame_goes_through_untouched(tmp_path):
    make_clip(tmp_path / "a.mp4")
    info = probe(tmp_path / "a.mp4")
    encoding = Encoding.plan(info, info.size, LOSSLESS, Path("b.mp4"))
    hands = iter((10.0, 12.5))
    assert transcode_seconds(info, encoding, tmp_path / "b.mkv", clock=lambda: next(hands)) == 2.5
    before, after = decoded(tmp_path / "a.mp4"), decoded(tmp_path / "b.mkv")
    assert len(before) == len(after) == 8
    for first, second in zip(before, after, strict=True):
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_part_is_a_part(tmp_path):
    make_clip(tmp_path / "a.mp4")
    info = probe(tmp_path / "a.mp4")
    encoding = Encoding.plan(info, info.size, LOSSLESS, Path("b.mp4"))
    transcode_seconds(info, encoding, tmp_path / "b.mkv", start=2, end=5)
    after = decoded(tmp_path / "b.mkv")
    assert len(after) == 3
    np.testing.assert_array_equal(after[0][0], decoded(tmp_path / "a.mp4")[2][0])


def test_what_changes_the_size_is_refused(tmp_path):
    make_clip(tmp_path / "a.mp4")
    info = probe(tmp_path / "a.mp4")
    encoding = Encoding.plan(info, Size(192, 128), LOSSLESS, Path("b.mp4"))
    with pytest.raises(UsageError, match=r"a\.mp4 cannot be encoded without anything in between"):
        transcode_seconds(info, encoding, tmp_path / "b.mkv")


def test_a_stop_ends_it_with_the_next_frame(tmp_path):
    make_clip(tmp_path / "a.mp4")
    info, stop = probe(tmp_path / "a.mp4"), StopToken()
    stop.request("Ctrl-C")
    with pytest.raises(Stopped):
        transcode_seconds(info, Encoding.plan(info, info.size, LOSSLESS, Path("b.mp4")), tmp_path / "b.mkv", stop=stop)
