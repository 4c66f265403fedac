from __future__ import annotations

import gc
import weakref
from fractions import Fraction
from pathlib import Path
from typing import cast

from facefusion.core.stop import StopToken
from facefusion.core.values import Frame, Picture
from facefusion.media.encoding import Encoding
from facefusion.media.segment import Segment
from facefusion.pipeline import piece as piece_module
from facefusion.pipeline.frames import FrameResult
from facefusion.pipeline.pace import Pace
from facefusion.pipeline.piece import Piece

SEGMENT = Segment(Path("segment.mkv"), (0,), 1, 0)


class Writer:
    """Says what was done to it."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._said.append("left")

    def write(self, frame: Frame) -> None:
        self._said.append("written")

    def finish(self) -> Segment:
        self._said.append("finished")
        return SEGMENT


class EveryFrameOnce:
    def places(self, frame: Frame) -> list[tuple[Fraction, Fraction]]:
        return [(frame.time, frame.duration)]


def test_a_finished_piece_holds_no_encoder(monkeypatch, tmp_path):
    """An encoder of 2160p holds 570 MB, and finished pieces stay until the last one is made."""
    said: list[str] = []
    made = []

    def writer(*_: object) -> Writer:
        one = Writer(said)
        made.append(weakref.ref(one))
        return one

    monkeypatch.setattr(piece_module, "segment_writer", writer)
    frame = Frame(0, Fraction(0), cast("Picture", None), Fraction(1, 25))
    with Piece(cast("Encoding", None), tmp_path / "segment", StopToken()) as piece:
        piece.write(FrameResult(frame, 0, 0, held=False), cast("Pace", EveryFrameOnce()))
        assert piece.finish() is SEGMENT
        gc.collect()
        assert made[0]() is None
        assert said == ["written", "finished", "left"]
    assert said == ["written", "finished", "left"]


def test_a_piece_without_frames_has_no_file(tmp_path):
    with Piece(cast("Encoding", None), tmp_path / "segment", StopToken()) as piece:
        assert piece.finish() is None
    assert not (tmp_path / "segment").exists()
