"""The work on one frame: order of observing, processing, and what happens when a frame fails."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from facefusion.core.errors import ContentRefusedError, InferenceError, ModelError, OutputError, ResourceError
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.observability.events import FrameHeld
from facefusion.pipeline.frames import FrameWork, Sighting
from facefusion.pipeline.outcome import Outcome
from facefusion.pipeline.stages import StageClock
from facefusion.processors.base import Scene
from facefusion.vision.picture import BgrPicture
from tests.processors.fakes import RecordingSink, oval_face

FACE = oval_face(16, 16, 6)
WHOLE = np.eye(2, 3)


class Painter:
    """Paints the whole picture in one grey level; raises ``failure`` afterwards where one is given."""

    def __init__(self, level: int, log: list[str], failure: Exception | None = None, factor: int = 1) -> None:
        self.name = f"painter{level}"
        self._level = level
        self._log = log
        self._failure = failure
        self._factor = factor

    def output_size(self, size: Size) -> Size:
        return Size(size.width * self._factor, size.height * self._factor)

    def observe(self, frame: Frame, faces: Sequence[Face]) -> object:
        self._log.append(f"observe {self._level} sees {int(frame.picture.to_bgr()[0, 0, 0])}")
        return (self._level, frame.index)

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        return [self._painted(scene.picture, scene.observation) for scene in scenes]

    def _painted(self, picture: Picture, observation: object) -> Picture:
        self._log.append(f"process {self._level} sees {int(picture.to_bgr()[0, 0, 0])} with {observation}")
        pixels = np.full((*picture.size[::-1], 3), self._level, np.uint8)
        picture.paste(pixels, np.ones(pixels.shape[:2], np.float32), WHOLE)
        if self._failure is not None:
            raise self._failure
        if self._factor > 1:
            return picture.replaced_by(pixels.repeat(self._factor, axis=0).repeat(self._factor, axis=1))
        return picture

    def afresh(self) -> Painter:
        return self


class Content:
    def __init__(self, refuse: bool = False) -> None:
        self._refuse = refuse
        self.seen: list[int] = []

    def observe(self, frame: Frame) -> None:
        self.seen.append(frame.index)
        if self._refuse:
            raise ContentRefusedError("refused")

    def finish(self) -> None: ...

    def state(self) -> dict[str, object]:
        return {}

    def restore(self, state: object) -> None: ...


def frame(level: int = 7, index: int = 3) -> Frame:
    return Frame(index, Fraction(index, 25), BgrPicture(np.full((32, 32, 3), level, np.uint8)))


def work(*processors: Painter, halt: bool = False, content: Content | None = None) -> tuple[FrameWork, RecordingSink]:
    sink = RecordingSink()
    made = FrameWork(
        processors, lambda: lambda _: Sighting((FACE,), 2), content or Content(), sink, StageClock(), halt_on_error=halt
    )
    return made, sink


def test_all_observe_the_untouched_frame_and_process_in_order() -> None:
    log: list[str] = []
    frames, _ = work(Painter(50, log), Painter(90, log))
    result = frames.process(frames.observe(frame(), frames.strand()))
    assert log == [
        "observe 50 sees 7",
        "observe 90 sees 7",
        "process 50 sees 7 with (50, 3)",
        "process 90 sees 50 with (90, 3)",
    ]
    assert (result.faces, result.found, result.held) == (1, 2, False)
    assert (result.frame.index, result.frame.time) == (3, Fraction(3, 25))
    assert (result.frame.picture.to_bgr() == 90).all()


def test_a_frame_that_fails_is_passed_through_as_it_was() -> None:
    frames, sink = work(Painter(50, []), Painter(90, [], ValueError("no luck")))
    result = frames.process(frames.observe(frame(), frames.strand()))
    assert result.held
    assert (result.frame.picture.to_bgr() == 7).all()
    assert sink.events == [FrameHeld(3, "ValueError: no luck")]


def test_a_held_frame_has_the_size_of_its_neighbours() -> None:
    frames, _ = work(Painter(50, [], factor=2), Painter(90, [], ValueError("no luck")))
    result = frames.process(frames.observe(frame(), frames.strand()))
    assert result.frame.picture.size == Size(64, 64)
    assert (result.frame.picture.to_bgr() == 7).all()


def test_halt_on_error_raises_what_happened() -> None:
    frames, sink = work(Painter(50, [], ValueError("no luck")), halt=True)
    task = frames.observe(frame(), frames.strand())
    with pytest.raises(ValueError, match="no luck"):
        frames.process(task)
    assert sink.events == []


def test_a_failure_that_is_not_the_frames_ends_the_run() -> None:
    frames, _ = work(Painter(50, [], ModelError("gone", "fetch it")))
    with pytest.raises(ModelError, match="gone"):
        frames.process(frames.observe(frame(), frames.strand()))


def test_what_a_model_could_not_make_of_a_picture_is_that_frames_failure() -> None:
    frames, sink = work(Painter(50, [], InferenceError("toy gave values that are no numbers", "choose another")))
    assert frames.process(frames.observe(frame(), frames.strand())).held
    assert sink.events == [FrameHeld(3, "toy gave values that are no numbers")]


def test_lack_of_memory_ends_the_run_and_says_what_to_do() -> None:
    frames, _ = work(Painter(50, [], MemoryError()))
    with pytest.raises(ResourceError, match="--system-memory-limit"):
        frames.process(frames.observe(frame(), frames.strand()))


def test_a_frame_whose_observation_fails_is_held() -> None:
    def broken(_: Frame) -> Sighting:
        raise RuntimeError("lost my glasses")

    sink = RecordingSink()
    frames = FrameWork((Painter(50, []),), lambda: broken, Content(), sink, StageClock(), halt_on_error=False)
    result = frames.process(frames.observe(frame(), frames.strand()))
    assert result.held
    assert (result.frame.picture.to_bgr() == 7).all()
    assert sink.events == [FrameHeld(3, "RuntimeError: lost my glasses")]


def test_content_is_looked_at_first_and_its_refusal_is_no_frames_fault() -> None:
    log: list[str] = []
    content = Content(refuse=True)
    frames, _ = work(Painter(50, log), content=content)
    with pytest.raises(ContentRefusedError):
        frames.observe(frame(), frames.strand())
    assert content.seen == [3]
    assert log == []


def test_a_run_in_which_every_frame_was_held_is_a_failure(tmp_path) -> None:
    frames, _ = work(Painter(50, [], ValueError("no luck")))
    outcome = Outcome()
    for index in range(3):
        outcome.count(frames.process(frames.observe(frame(index=index), frames.strand())))
    assert outcome.held_frames == [0, 1, 2]
    with pytest.raises(OutputError, match="working on every single frame failed"):
        outcome.check(tmp_path / "out.mp4")


def test_one_good_frame_makes_a_result(tmp_path) -> None:
    bad, _ = work(Painter(50, [], ValueError("no luck")))
    good, _ = work(Painter(50, []))
    outcome = Outcome()
    outcome.count(bad.process(bad.observe(frame(index=0), bad.strand())))
    outcome.count(good.process(good.observe(frame(index=1), good.strand())))
    outcome.check(tmp_path / "out.mp4")
    assert (outcome.frames, outcome.faces, outcome.held_frames, outcome.frames_without_face) == (2, 1, [0], 0)


@pytest.mark.parametrize("failure", [None, ValueError("no luck")])
def test_every_frame_gets_the_size_that_is_asked_for(failure: Exception | None) -> None:
    enlarger = Painter(90, [], failure, factor=2)
    frames = FrameWork(
        [enlarger],
        lambda: lambda _: Sighting(),
        Content(),
        RecordingSink(),
        StageClock(),
        halt_on_error=False,
        final_size=Size(20, 12),
    )
    assert frames.processed_size(Size(32, 32)) == Size(64, 64)
    assert frames.output_size(Size(32, 32)) == Size(20, 12)
    result = frames.process(frames.observe(frame(), frames.strand()))
    assert result.frame.picture.size == Size(20, 12)
    assert (result.frame.picture.to_bgr() == (7 if failure else 90)).all()
    assert list(frames.clock.seconds())[-1] == "scale"


def test_a_frame_of_the_right_size_is_handed_on_as_it_is() -> None:
    frames = FrameWork(
        [],
        lambda: lambda _: Sighting(),
        Content(),
        RecordingSink(),
        StageClock(),
        halt_on_error=False,
        final_size=Size(32, 32),
    )
    task = frames.observe(frame(), frames.strand())
    assert frames.process(task).frame.picture is task.frame.picture


def test_busy_seconds_are_counted_per_stage() -> None:
    frames, _ = work(Painter(50, []), Painter(90, []))
    frames.process(frames.observe(frame(), frames.strand()))
    assert list(frames.clock.seconds()) == ["content", "analyse", "painter50", "painter90"]
