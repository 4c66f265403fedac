"""A whole video through the pipeline: segments, interruptions, another rate. The processor is a stand-in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from facefusion.core.errors import ContentRefusedError, MediaError, OutputError
from facefusion.core.stop import StopToken
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.media.assemble import Sound
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.probe import probe
from facefusion.memory.meter import MemoryMeter
from facefusion.observability.events import StageProgress
from facefusion.pipeline.frames import FrameWork
from facefusion.pipeline.outcome import Outcome
from facefusion.pipeline.stages import StageClock
from facefusion.pipeline.video import Trim, VideoPlan, process_video
from facefusion.pipeline.window import WindowPlan
from facefusion.pipeline.work_folder import WorkFolder
from tests.media.clips import decode, make_clip, packets_of, planes_of, times_of
from tests.processors.fakes import RecordingSink, oval_face

FRAMES = 70
LENGTH = 16
WHOLE = np.eye(2, 3)


class Smoother:
    """Paints a square in a grey level that follows the frame numbers it has seen, so its memory shows in the result.

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
        return 60 + 7 * (np.mean(self._seen) % 20) + len(self._seen)

    def process(self, picture: Picture, faces: Sequence[Face], observation: object) -> Picture:
        assert isinstance(observation, float)
        pixels = np.full((16, 16, 3), round(observation), np.uint8)
        picture.paste(pixels, np.ones((16, 16), np.float32), WHOLE)
        return picture

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

    def process(self, picture: Picture, faces: Sequence[Face], observation: object) -> Picture:
        if isinstance(observation, int | float) and observation < 0:
            raise self._trouble[-int(observation)]
        return super().process(picture, faces, observation)

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

    def __init__(self, folder: Path, **clip: object) -> None:
        self.source = folder / "in.mp4"
        self.output = folder / "out.mp4"
        self.root = folder / "work"
        make_clip(self.source, **{"stamps": range(0, FRAMES * 512, 512), "audio": ("aac",), **clip})  # type: ignore[arg-type]
        self.sink = RecordingSink()

    def run(
        self,
        trouble: Mapping[int, BaseException] | None = None,
        *,
        content: Content | None = None,
        trim: Trim = Trim(),
        rate: Fraction | None = None,
        window: WindowPlan = WindowPlan(window=6, workers=2, grain=2),
        fingerprint: Mapping[str, str] = {"seed": "1"},
        resume: bool = True,
        halt: bool = True,
    ) -> tuple[Outcome, WorkFolder]:
        info = probe(self.source)
        encoding = Encoding.plan(info, info.size, EncoderSettings(threads=2), self.output, rate)
        plan = VideoPlan(self.output, encoding, Sound(), trim, LENGTH, window, decoder_threads=2)
        self.sink = RecordingSink()
        work = FrameWork(
            [Trap(trouble or {})],
            lambda: lambda _: (oval_face(16, 16, 6),),
            content or Content(),
            self.sink,
            StageClock(),
            halt_on_error=halt,
        )
        with (
            WorkFolder.open(self.root, "0123456789abcdef", fingerprint, resume=resume) as folder,
            MemoryMeter(1 << 40) as meter,
        ):
            outcome, _ = process_video(info, plan, folder, work, meter, self.sink, StopToken())
        return outcome, folder

    @property
    def folders(self) -> list[Path]:
        return [path for path in self.root.glob("*") if path.is_dir()]

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.output.read_bytes()).hexdigest()

    @property
    def progress(self) -> int:
        return sum(event.amount for event in self.sink.events if isinstance(event, StageProgress))


class Broken(Exception):
    """What is raised on purpose."""


def test_a_video_is_written_whole_and_the_work_folder_is_gone(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outcome, folder = stage.run()
    assert (outcome.frames, outcome.faces, outcome.held_frames) == (FRAMES, FRAMES, [])
    assert times_of(stage.output) == times_of(stage.source)
    assert packets_of(stage.output, 1) == packets_of(stage.source, 1)
    assert stage.progress == FRAMES
    assert not folder.path.exists()
    assert stage.folders == []


def test_the_number_of_threads_does_not_show(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.run()
    digest = stage.digest
    stage.run(window=WindowPlan(window=2, workers=1, grain=1))
    assert stage.digest == digest


@pytest.mark.parametrize("broken", [3, 15, 16, 17, 31, 40, 63, 64, 69])
def test_a_run_that_broke_goes_on_and_ends_with_the_same_bytes(tmp_path: Path, broken: int) -> None:
    stage = Stage(tmp_path)
    stage.run()
    digest = stage.digest
    stage.output.unlink()
    with pytest.raises(Broken):
        stage.run({broken: Broken()})
    assert not stage.output.exists()
    content = Content()
    outcome, _ = stage.run(content=content)
    assert stage.digest == digest
    assert (outcome.frames, stage.progress, content.seen) == (FRAMES, FRAMES, FRAMES)


def test_only_what_is_missing_is_made_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(Broken):
        stage.run({50: Broken()})
    done = {path.name: path.stat().st_mtime_ns for path in stage.root.rglob("*.mkv")}
    assert len(done) == 3
    # Were a finished segment made again, this would break again.
    stage.run({number: Broken() for number in range(48)})
    assert stage.progress == FRAMES


def test_everything_is_there_but_the_last_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path)
    stage.run()
    digest = stage.digest
    stage.output.unlink()

    def fail(*_: object) -> None:
        raise Broken

    with monkeypatch.context() as patch, pytest.raises(Broken):
        patch.setattr("facefusion.pipeline.video.assemble", fail)
        stage.run()
    stage.run({number: Broken() for number in range(FRAMES)})
    assert stage.digest == digest


def test_other_settings_start_afresh_and_say_so(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(Broken):
        stage.run({50: Broken()})
    _, folder = stage.run(fingerprint={"seed": "2"})
    assert any("seed" in notice for notice in folder.notices)
    assert stage.progress == FRAMES
    with pytest.raises(Broken):
        stage.run({50: Broken()})
    with pytest.raises(Broken):
        stage.run({2: Broken()}, resume=False)


def test_a_refused_target_leaves_nothing_to_go_on_from(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(ContentRefusedError):
        stage.run(content=Content(refuse=True))
    assert stage.folders == []
    assert not stage.output.exists()


def test_a_run_of_which_every_frame_failed_leaves_nothing_to_go_on_from(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(OutputError, match="working on every single frame failed"):
        stage.run({number: ValueError("no") for number in range(FRAMES)}, halt=False)
    assert stage.folders == []


def test_held_frames_of_earlier_runs_are_counted(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(OutputError):
        stage.run({5: ValueError("no"), 40: OutputError("the end", "stop")}, halt=False)
    outcome, _ = stage.run(halt=False)
    assert outcome.held_frames == [5]


@pytest.mark.parametrize(("rate", "count"), [(Fraction(50), 140), (Fraction(10), 28), (Fraction(30000, 1001), 84)])
def test_another_rate_drops_or_repeats_frames_and_leaves_the_sound(tmp_path: Path, rate: Fraction, count: int) -> None:
    stage = Stage(tmp_path)
    outcome, _ = stage.run(rate=rate)
    assert times_of(stage.output) == [number / rate for number in range(count)]
    assert packets_of(stage.output, 1) == packets_of(stage.source, 1)
    assert outcome.frames + outcome.dropped_frames == FRAMES == stage.progress
    assert outcome.frames + outcome.repeated_frames == count
    digest = stage.digest
    with pytest.raises(Broken):
        stage.run({number: Broken() for number in (44, 45, 46)}, rate=rate)
    stage.run(rate=rate)
    assert stage.digest == digest


def test_a_rate_so_low_that_whole_segments_show_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outcome, _ = stage.run(rate=Fraction(1))
    assert times_of(stage.output) == [Fraction(0), Fraction(1), Fraction(2)]
    assert (outcome.frames, outcome.dropped_frames) == (3, FRAMES - 3)


def test_a_part_between_key_frames_is_cut_to_the_frame(tmp_path: Path) -> None:
    pictures = [
        [np.full((64, 96), 20 + 3 * n, np.uint8), *[np.full((32, 48), 128, np.uint8)] * 2] for n in range(FRAMES)
    ]
    stage = Stage(tmp_path, pictures=pictures)
    outcome, _ = stage.run(trim=Trim(13, 58))
    assert outcome.frames == 45
    assert times_of(stage.output) == [Fraction(number, 25) for number in range(45)]
    shown = [planes_of(frame)[0][40:, 40:].mean() for frame in decode(stage.output)]
    assert np.abs(np.array(shown) - [20 + 3 * number for number in range(13, 58)]).max() < 1.5
    digest = stage.digest
    with pytest.raises(Broken):
        stage.run({50: Broken()}, trim=Trim(13, 58))
    stage.run(trim=Trim(13, 58))
    assert stage.digest == digest


def test_a_part_behind_the_end_is_an_error(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(MediaError, match="70"):
        stage.run(trim=Trim(90, None))


def test_variable_rates_are_kept_over_the_cuts(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    stamps = [0, *np.cumsum(rng.integers(100, 3000, FRAMES - 1)).tolist()]
    stage = Stage(tmp_path, stamps=stamps)
    stage.run()
    assert times_of(stage.output) == [Fraction(stamp, 12800) for stamp in stamps]


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(Broken):
        stage.run({50: Broken()})
    with WorkFolder.open(stage.root, "0123456789abcdef", {"seed": "1"}, resume=True) as held:
        assert len(held.records) == 3
        stage.run()
        assert stage.progress == FRAMES
        assert held.path.is_dir()
