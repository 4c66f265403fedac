"""A small video and a run over it, with a stand-in for a processor.

Run as a program it makes one run in a folder, for tests that kill it:
``python -m tests.pipeline.stage FOLDER [FORMAT OF FRAMES]``.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from facefusion.core.errors import ContentRefusedError
from facefusion.core.stop import StopToken
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.media.assemble import Sound
from facefusion.media.decoder_card import DecoderCard
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.frame_image import FRAME_FORMATS
from facefusion.media.nvdec import CardDecoder
from facefusion.media.probe import MediaInfo, probe
from facefusion.memory.meter import MemoryMeter
from facefusion.observability.events import StageProgress
from facefusion.observability.stages import StageClock
from facefusion.pipeline.frames import FrameLabel, FrameWork
from facefusion.pipeline.outcome import Outcome
from facefusion.pipeline.sighting import Sighting
from facefusion.pipeline.video import process_video
from facefusion.pipeline.video_plan import Trim, VideoPlan
from facefusion.pipeline.window import WindowPlan
from facefusion.pipeline.work_folder import WorkFolder
from facefusion.processors.base import Scene
from tests.media.clips import make_clip
from tests.processors.fakes import RecordingSink, oval_face

FRAMES = 70
LENGTH = 16
WHOLE = np.eye(2, 3)
ALL_OF_IT = Trim()
ENCODER = EncoderSettings(threads=2)
WINDOW = WindowPlan(window=6, workers=2)


class Watcher:
    """Finds a face in each frame, whose score tells which frames it was read with, and those before it.

    ``trouble`` maps a frame's index to what is raised when the frame is read.
    """

    def __init__(self, trouble: Mapping[int, Exception] = {}) -> None:
        self._trouble = trouble
        self._score = 0.0

    def find(self, frame: Frame) -> Sighting:
        return Sighting((oval_face(16, 16, 6),), 1)

    def read(self, frames: Sequence[Frame], faces: Sequence[Sequence[Face]]) -> Sequence[Sequence[Face]]:
        for frame in frames:
            if frame.index in self._trouble:
                raise self._trouble[frame.index]
        score = 1 + len(frames) % 4 + frames[0].index % 3
        return [[replace(face, score=score) for face in some] for some in faces]

    def steady(self, frame: Frame, faces: Sequence[Face]) -> Sequence[Face]:
        self._score = (self._score + faces[0].score) / 2
        return [replace(face, score=self._score) for face in faces]

    def afresh(self) -> Watcher:
        return Watcher(self._trouble)


class Smoother:
    """Paints a square in a grey level that follows what it has seen, so its memory shows in the result.

    ``trouble`` maps a frame's index to what is raised when the frame is worked on.
    """

    name = "smoother"

    def __init__(self, trouble: Mapping[int, BaseException]) -> None:
        self._trouble = trouble
        self._seen: list[int] = []

    def output_size(self, size: Size) -> Size:
        return size

    def observe(self, frame: Frame, faces: Sequence[Face]) -> float:
        self._seen = [*self._seen[-5:], frame.index]
        return 60 + 7 * (float(np.mean(self._seen)) % 20) + len(self._seen) + 6 * faces[0].score

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        for scene in scenes:
            assert isinstance(scene.observation, float)
            pixels = np.full((16, 16, 3), round(scene.observation), np.uint8)
            scene.picture.paste(pixels, np.ones((16, 16), np.float32), WHOLE)
        return [scene.picture for scene in scenes]

    def afresh(self) -> Smoother:
        return Smoother(self._trouble)


class Trap(Smoother):
    """Raises while processing, which any thread may do at any time."""

    def __init__(self, trouble: Mapping[int, BaseException]) -> None:
        super().__init__(trouble)
        self._index = 0

    def observe(self, frame: Frame, faces: Sequence[Face]) -> float:
        value = super().observe(frame, faces)
        return value if frame.index not in self._trouble else -frame.index

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        for scene in scenes:
            if isinstance(scene.observation, int | float) and scene.observation < 0:
                raise self._trouble[-int(scene.observation)]
        return super().process(scenes)

    def afresh(self) -> Trap:
        return Trap(self._trouble)


class Content:
    """Counts; refuses at the end where told to."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.seen = 0
        self._refuse = refuse

    def observe(self, frame: Frame) -> None:
        self.seen += 1

    def finish(self) -> None:
        if self._refuse:
            raise ContentRefusedError("refused", "do not")

    def state(self) -> Mapping[str, object]:
        return {"seen": self.seen}

    def restore(self, state: Mapping[str, object]) -> None:
        seen = state["seen"]
        assert isinstance(seen, int)
        self.seen = seen


class Stage:
    """One target, one output and one work folder root; runs are made in it."""

    def __init__(self, folder: Path, source: str = "in.mp4", output: str = "out.mp4", **clip: object) -> None:
        self.source = folder / source
        self.output = folder / output
        self.root = folder / "work"
        if not self.source.exists():
            make_clip(self.source, **{"stamps": range(0, FRAMES * 512, 512), "audio": ("aac",), **clip})  # type: ignore[arg-type]
        self.sink = RecordingSink()
        self.notices: tuple[str, ...] = ()
        self.told: list[str] = []
        """What was told of a card that decodes."""

    def run(
        self,
        trouble: Mapping[int, BaseException] | None = None,
        *,
        fingerprint: Mapping[str, str] = {"seed": "1"},
        resume: bool = True,
        **choices: Any,
    ) -> tuple[Outcome, WorkFolder]:
        info, plan, work = self.parts(trouble, **choices)
        with (
            WorkFolder.open(self.root, "0123456789abcdef", fingerprint, resume=resume) as folder,
            MemoryMeter(1 << 40) as meter,
        ):
            processed = process_video(info, plan, folder, work, meter, self.sink, StopToken())
        self.notices = processed.notices
        return processed.outcome, folder

    def parts(
        self,
        trouble: Mapping[int, BaseException] | None = None,
        *,
        content: Content | None = None,
        trim: Trim = ALL_OF_IT,
        rate: Fraction | None = None,
        window: WindowPlan = WINDOW,
        together: int = 1,
        unreadable: Mapping[int, Exception] = {},
        halt: bool = True,
        frames: str | None = None,
        keep: bool = False,
        encoder: EncoderSettings = ENCODER,
        card: CardDecoder | None = None,
        label: FrameLabel | None = None,
    ) -> tuple[MediaInfo, VideoPlan, FrameWork]:
        """What a run is made of, with ears of its own."""
        info = probe(self.source)
        encoding = Encoding.plan(info, info.size, encoder, self.output, rate)
        form = None if frames is None else FRAME_FORMATS[frames]
        self.told = []
        decoder = None if card is None else DecoderCard(card, info.path, info.pixel_format, self.told.append)
        plan = VideoPlan(self.output, encoding, Sound(), 80, trim, LENGTH, together, window, 2, form, keep, decoder)
        self.sink = RecordingSink()
        work = FrameWork(
            [Trap(trouble or {})],
            Watcher(unreadable),
            content or Content(),
            self.sink,
            StageClock(),
            halt_on_error=halt,
            label=label,
        )
        return info, plan, work

    @property
    def folders(self) -> list[Path]:
        return [path for path in self.root.glob("*") if path.is_dir()]

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.output.read_bytes()).hexdigest()

    @property
    def progress(self) -> int:
        return sum(event.amount for event in self.sink.events if isinstance(event, StageProgress))


class BrokenError(Exception):
    """What is raised on purpose."""


if __name__ == "__main__":
    Stage(Path(sys.argv[1])).run(frames=sys.argv[2] if len(sys.argv) > 2 else None)
