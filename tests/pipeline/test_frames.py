"""The work on frames: order of observing and processing, and what happens when one fails."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

from facefusion.core.errors import (
    ContentRefusedError,
    InferenceError,
    ModelError,
    OutputError,
    ResourceError,
    UsageError,
)
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.observability.events import FrameHeld
from facefusion.observability.stages import StageClock
from facefusion.pipeline.frames import FrameResult, FrameTask, FrameWork
from facefusion.pipeline.outcome import Outcome
from facefusion.pipeline.sighting import NoFaces, Sighting
from facefusion.processors.base import Scene
from facefusion.vision.picture import BgrPicture
from tests.processors.fakes import RecordingSink, oval_face

FACE = oval_face(16, 16, 6)
WHOLE = np.eye(2, 3)


class Painter:
    """Paints whole pictures in one grey level; raises ``failure`` afterwards where one is given.

    Args:
        level: of grey.
        log: of what it does.
        failure: raised once a picture is painted.
        factor: by which pictures are enlarged.
        only: frames on which it fails; all of them where none.
    """

    def __init__(
        self,
        level: int,
        log: list[str],
        failure: Exception | None = None,
        factor: int = 1,
        only: Collection[int] = (),
    ) -> None:
        self._only = only
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
        assert isinstance(observation, tuple)
        if self._failure is not None and (not self._only or observation[1] in self._only):
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


class Finder(NoFaces):
    """Finds two faces, one of them to work on.

    Args:
        trouble: frames on which each step fails.
    """

    def __init__(self, trouble: Mapping[str, Collection[int]] = {}) -> None:
        self._trouble = trouble
        self.calls: list[str] = []

    def find(self, frame: Frame) -> Sighting:
        self._note("find", frame)
        return Sighting((FACE,), 2)

    def read(self, frames: Sequence[Frame], faces: Sequence[Sequence[Face]]) -> Sequence[Sequence[Face]]:
        self._note("read", *frames)
        return faces

    def steady(self, frame: Frame, faces: Sequence[Face]) -> Sequence[Face]:
        self._note("steady", frame)
        return faces

    def afresh(self) -> Finder:
        return self

    def _note(self, step: str, *frames: Frame) -> None:
        self.calls.append(" ".join([step, *(str(frame.index) for frame in frames)]))
        if any(frame.index in self._trouble.get(step, ()) for frame in frames):
            raise RuntimeError(f"{step} lost its glasses")


def through(work: FrameWork, *frames: Frame) -> list[FrameResult]:
    """What becomes of frames that are worked on together."""
    strand = work.strand()
    tasks = [FrameTask(one, work.follow(one, strand)) for one in frames]
    work.read(tasks)
    work.observe(tasks)
    return work.process(tasks)


def work(
    *processors: Painter, halt: bool = False, content: Content | None = None, finder: NoFaces | None = None
) -> tuple[FrameWork, RecordingSink]:
    sink = RecordingSink()
    made = FrameWork(processors, finder or Finder(), content or Content(), sink, StageClock(), halt_on_error=halt)
    return made, sink


def test_all_observe_the_untouched_frame_and_process_in_order() -> None:
    log: list[str] = []
    frames, _ = work(Painter(50, log), Painter(90, log))
    result = through(frames, frame())[0]
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
    result = through(frames, frame())[0]
    assert result.held
    assert (result.frame.picture.to_bgr() == 7).all()
    assert sink.events == [FrameHeld(3, "ValueError: no luck")]


def test_a_held_frame_has_the_size_of_its_neighbours() -> None:
    frames, _ = work(Painter(50, [], factor=2), Painter(90, [], ValueError("no luck")))
    result = through(frames, frame())[0]
    assert result.frame.picture.size == Size(64, 64)
    assert (result.frame.picture.to_bgr() == 7).all()


def test_halt_on_error_raises_what_happened() -> None:
    frames, sink = work(Painter(50, [], ValueError("no luck")), halt=True)
    with pytest.raises(ValueError, match="no luck"):
        through(frames, frame())
    assert sink.events == []


def test_a_failure_that_is_not_the_frames_ends_the_run() -> None:
    frames, _ = work(Painter(50, [], ModelError("gone", "fetch it")))
    with pytest.raises(ModelError, match="gone"):
        through(frames, frame())


def test_what_a_model_could_not_make_of_a_picture_is_that_frames_failure() -> None:
    frames, sink = work(Painter(50, [], InferenceError("toy gave values that are no numbers", "choose another")))
    assert through(frames, frame())[0].held
    assert sink.events == [FrameHeld(3, "toy gave values that are no numbers")]


def test_lack_of_memory_ends_the_run_and_says_what_to_do() -> None:
    frames, _ = work(Painter(50, [], MemoryError()))
    with pytest.raises(ResourceError, match="--system-memory-limit"):
        through(frames, frame())


@pytest.mark.parametrize("step", ["find", "read", "steady"])
def test_a_frame_that_cannot_be_seen_is_held_and_its_neighbours_are_not(step: str) -> None:
    frames, sink = work(Painter(50, []), finder=Finder({step: {4}}))
    results = through(frames, frame(index=3), frame(index=4), frame(index=5))
    assert [result.held for result in results] == [False, True, False]
    assert [int(result.frame.picture.to_bgr()[0, 0, 0]) for result in results] == [50, 7, 50]
    assert [result.faces for result in results] == [1, 0, 1]
    assert sink.events == [FrameHeld(4, f"RuntimeError: {step} lost its glasses")]


def test_a_frame_that_fails_among_others_is_held_and_they_begin_again_from_what_they_were() -> None:
    log: list[str] = []
    frames, sink = work(Painter(50, log, factor=2), Painter(90, [], ValueError("no luck"), only=(4,)))
    results = through(frames, frame(index=3), frame(index=4), frame(index=5))
    assert [result.held for result in results] == [False, True, False]
    assert [result.frame.index for result in results] == [3, 4, 5]
    assert [int(result.frame.picture.to_bgr()[0, 0, 0]) for result in results] == [90, 7, 90]
    assert {result.frame.picture.size for result in results} == {Size(64, 64)}
    assert sink.events == [FrameHeld(4, "ValueError: no luck")]
    together = [f"process 50 sees 7 with (50, {index})" for index in (3, 4, 5)]
    assert log[3:] == [*together, *together], "once together, once each alone, always from the untouched picture"


def test_frames_that_failed_before_have_no_part_in_the_work_of_others() -> None:
    log: list[str] = []
    frames, _ = work(Painter(50, log), finder=Finder({"find": {3, 5}}))
    through(frames, frame(index=3), frame(index=4), frame(index=5))
    assert log == ["observe 50 sees 7", "process 50 sees 7 with (50, 4)"]


def test_strands_are_read_each_for_itself_and_observed_in_order() -> None:
    """What one strand reads is the same whether the other is there or not, as in a run that goes on."""
    finder = Finder()
    frames, _ = work(Painter(50, []), finder=finder)
    own, coming = frames.strand(), frames.strand()
    tasks = [FrameTask(one, frames.follow(one, own)) for one in (frame(index=6), frame(index=7))]
    tasks[1].ahead = frames.look(tasks[1].frame, coming)
    tasks.append(FrameTask(ahead := frame(index=8), None, frames.look(ahead, coming)))
    frames.read(tasks)
    frames.observe(tasks)
    assert finder.calls == [
        "find 6",
        "find 7",
        "find 7",
        "find 8",
        "read 6 7",
        "read 7 8",
        *map("steady {}".format, (6, 7, 7, 8)),
    ]
    assert [result.frame.index for result in frames.process(tasks)] == [6, 7]


def test_a_frame_is_not_held_for_what_the_coming_strand_fails_on() -> None:
    frames, sink = work(Painter(50, []))
    lost = FrameWork(
        [Painter(50, [])], Finder({"steady": {3}}), Content(), sink, StageClock(), halt_on_error=False
    ).strand()
    task = FrameTask(frame(), frames.follow(frame(), frames.strand()), frames.look(frame(), lost))
    frames.read([task])
    frames.observe([task])
    (result,) = frames.process([task])
    assert not result.held
    assert sink.events == []


def test_no_frames_are_no_trouble() -> None:
    frames, _ = work(Painter(50, []))
    assert through(frames) == []


def test_content_is_looked_at_first_and_its_refusal_is_no_frames_fault() -> None:
    log: list[str] = []
    content = Content(refuse=True)
    frames, _ = work(Painter(50, log), content=content)
    with pytest.raises(ContentRefusedError):
        frames.follow(frame(), frames.strand())
    assert content.seen == [3]
    assert log == []


def test_a_run_in_which_every_frame_was_held_is_a_failure(tmp_path) -> None:
    frames, _ = work(Painter(50, [], ValueError("no luck")))
    outcome = Outcome()
    for index in range(3):
        outcome.count(through(frames, frame(index=index))[0])
    assert outcome.held_frames == [0, 1, 2]
    with pytest.raises(OutputError, match="working on every single frame failed"):
        outcome.check(tmp_path / "out.mp4")


def test_one_good_frame_makes_a_result(tmp_path) -> None:
    bad, _ = work(Painter(50, [], ValueError("no luck")))
    good, _ = work(Painter(50, []))
    outcome = Outcome()
    outcome.count(through(bad, frame(index=0))[0])
    outcome.count(through(good, frame(index=1))[0])
    outcome.check(tmp_path / "out.mp4")
    assert (outcome.frames, outcome.faces, outcome.held_frames, outcome.frames_without_face) == (2, 1, [0], 0)


@pytest.mark.parametrize("failure", [None, ValueError("no luck")])
def test_every_frame_gets_the_size_that_is_asked_for(failure: Exception | None) -> None:
    enlarger = Painter(90, [], failure, factor=2)
    frames = FrameWork(
        [enlarger],
        NoFaces(),
        Content(),
        RecordingSink(),
        StageClock(),
        halt_on_error=False,
        final_size=Size(20, 12),
    )
    assert frames.processed_size(Size(32, 32)) == Size(64, 64)
    assert frames.output_size(Size(32, 32)) == Size(20, 12)
    result = through(frames, frame())[0]
    assert result.frame.picture.size == Size(20, 12)
    assert (result.frame.picture.to_bgr() == (7 if failure else 90)).all()
    assert list(frames.clock.seconds())[-1] == "scale"


def test_a_frame_of_the_right_size_is_handed_on_as_it_is() -> None:
    frames = FrameWork(
        [],
        NoFaces(),
        Content(),
        RecordingSink(),
        StageClock(),
        halt_on_error=False,
        final_size=Size(32, 32),
    )
    given = frame()
    (result,) = through(frames, given)
    assert result.frame.picture is given.picture


def test_busy_seconds_are_counted_per_stage() -> None:
    frames, _ = work(Painter(50, []), Painter(90, []))
    through(frames, frame())
    assert list(frames.clock.seconds()) == ["content", "analyse", "painter50", "painter90", "paste"]


class Corner:
    """Paints a corner, and knows pictures that are too small."""

    def check(self, size: Size) -> None:
        if size.width < 40:
            raise UsageError("no room", "Shorten it.")

    def over(self, picture: Picture) -> Picture:
        picture.paste(np.full((16, 16, 3), 222, np.uint8), np.ones((16, 16), np.float32), WHOLE)
        return picture


@pytest.mark.parametrize("failure", [None, ValueError("oops")])
def test_a_label_is_laid_over_every_frame_at_last_also_over_those_that_are_held(failure: Exception | None) -> None:
    labelled = FrameWork(
        [Painter(50, [], failure, factor=2)],
        Finder(),
        Content(),
        RecordingSink(),
        StageClock(),
        halt_on_error=False,
        label=Corner(),
    )
    labelled.check_label(Size(32, 32))
    (result,) = through(labelled, frame())
    assert result.held is (failure is not None)
    pixels = np.asarray(result.frame.picture.to_bgr())
    assert pixels.shape == (64, 64, 3)
    assert (pixels == 222).all(axis=2).sum() == 256
    assert (pixels[:16, :16] == 222).all()
    assert "label" in labelled.clock.seconds()


def test_whether_a_label_has_room_goes_by_the_size_of_the_result() -> None:
    labelled = FrameWork([], Finder(), Content(), RecordingSink(), StageClock(), halt_on_error=False, label=Corner())
    with pytest.raises(UsageError, match="no room"):
        labelled.check_label(Size(32, 32))
    labelled.check_label(Size(64, 64))
    FrameWork([], Finder(), Content(), RecordingSink(), StageClock(), halt_on_error=False).check_label(Size(1, 1))
