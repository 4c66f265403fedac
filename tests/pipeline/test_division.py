"""A video whose segments are made apart and joined. The processor is a stand-in."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from facefusion.content.analyse import ContentAnalyser
from facefusion.content.aside import at_once
from facefusion.content.base import Judge, Thumbnail
from facefusion.core.errors import ContentRefusedError, MediaError, OutputError, SegmentError, Stopped
from facefusion.core.stop import StopToken
from facefusion.core.values import Frame, Picture, Size
from facefusion.media.frames import checksum
from facefusion.memory.meter import MemoryMeter
from facefusion.observability.events import Notice, StageFinished, StageStarted
from facefusion.pipeline.division import DividedVideo
from facefusion.pipeline.manifest import Manifest
from facefusion.pipeline.outcome import Processed
from facefusion.pipeline.outline import Outline, outline_video
from facefusion.pipeline.segment_files import put_segment, segment_path, take_segment
from facefusion.pipeline.video_plan import Trim
from facefusion.pipeline.window import WindowPlan
from tests.media.clips import make_clip
from tests.media.odd_clips import damaged_copy
from tests.pipeline.rendered_apart import PLAN, TOKEN
from tests.pipeline.stage import FRAMES, LENGTH, BrokenError, Content, Stage
from tests.pipeline.test_animated import make_animation

REPOSITORY = Path(__file__).parents[2]
SEGMENTS = 5
Record = Mapping[str, object]


def outlined(stage: Stage, **choices: Any) -> Outline:
    """The outline, as it comes out of JSON."""
    info, plan, work = stage.parts(**choices)
    outline = outline_video(info, plan, work, stage.sink, StopToken())
    again = Outline.from_json(json.loads(json.dumps(outline.to_json())))
    assert again == outline
    return again


def render(stage: Stage, outline: Outline, number: int, folder: Path, **choices: Any) -> Record:
    """One segment, by somebody who knows nothing of the others."""
    info, plan, work = stage.parts(**choices)
    path = segment_path(folder, number, TOKEN)
    with MemoryMeter(1 << 40) as meter:
        made = DividedVideo(info, plan, outline).render(number, path, work, meter, stage.sink, StopToken())
    record = put_segment(folder, number, TOKEN, PLAN, made, {})
    assert json.loads(path.with_suffix(".json").read_text()) == record
    return record


def join(stage: Stage, outline: Outline, manifests: list[Manifest], **choices: Any) -> Processed:
    info, plan, work = stage.parts(**choices)
    return DividedVideo(info, plan, outline).join(manifests, work, stage.sink, StopToken())


def divided(stage: Stage, folder: Path, **choices: Any) -> Processed:
    """The whole way, the segments in an order of chance."""
    outline = outlined(stage, **choices)
    numbers = list(range(len(outline.frames)))
    random.Random(len(choices)).shuffle(numbers)
    records = {number: render(stage, outline, number, folder, **choices) for number in numbers}
    manifests = [take_segment(folder, number, PLAN, records[number]) for number in sorted(numbers)]
    return join(stage, outline, manifests, **choices)


def warned(stage: Stage) -> list[str]:
    return [event.message for event in stage.sink.events if isinstance(event, Notice)]


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"together": 3},
        {"trim": Trim(5, 60)},
        {"trim": Trim(33, None)},
        {"rate": Fraction(10)},
        {"rate": Fraction(1)},
        {"rate": Fraction(60)},
    ],
    ids=str,
)
def test_segments_made_in_any_order_join_to_what_one_run_makes(tmp_path: Path, choices: dict[str, Any]) -> None:
    stage = Stage(tmp_path, options={"bf": "2", "g": "25"})
    outcome, _ = stage.run(**choices)
    digest, notices = stage.digest, stage.notices
    stage.output.unlink()
    processed = divided(stage, tmp_path, window=WindowPlan(window=3, workers=1), **choices)
    assert (processed.outcome, processed.notices, stage.digest) == (outcome, notices, digest)


def test_segments_made_in_several_processes_join_to_what_one_run_makes(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.run()
    digest = stage.digest
    stage.output.unlink()
    outline = outlined(stage)
    (tmp_path / "outline.json").write_text(json.dumps(outline.to_json()))
    command = (sys.executable, "-m", "tests.pipeline.rendered_apart", str(tmp_path))
    processes = [subprocess.Popen((*command, *numbers), cwd=REPOSITORY) for numbers in (("3", "0", "4"), ("2", "1"))]
    assert [process.wait() for process in processes] == [0, 0]
    manifests = []
    for number in range(SEGMENTS):
        record = json.loads(segment_path(tmp_path, number, TOKEN).with_suffix(".json").read_text())
        manifests.append(take_segment(tmp_path, number, PLAN, record))
    join(stage, outline, manifests)
    assert stage.digest == digest


def test_a_file_that_breaks_off_is_divided_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = tmp_path / "whole.mkv"
    make_clip(whole, stamps=range(0, FRAMES * 512, 512), options={"g": "12"})
    data = whole.read_bytes()
    (tmp_path / "in.mkv").write_bytes(data[: len(data) * 7 // 10])
    stage = Stage(tmp_path, source="in.mkv")
    outcome, _ = stage.run()
    assert LENGTH < outcome.frames < FRAMES
    digest = stage.digest
    warnings = warned(stage)
    assert len(warnings) == 1
    assert "the file breaks off at frame" in warnings[0]
    processed = divided(stage, tmp_path)
    assert (processed.outcome, stage.digest) == (outcome, digest)
    assert warned(stage) == warnings


@pytest.mark.parametrize("name", ["in.mp4", "in.mkv", "in.avi", "in.ts"])
def test_a_damaged_file_is_divided_as_one_run_reads_it(tmp_path: Path, name: str) -> None:
    options = {"g": "12", "bf": "0" if name == "in.avi" else "2"}
    make_clip(tmp_path / f"whole_{name}", stamps=range(0, FRAMES * 512, 512), options=options)
    damaged_copy(tmp_path / f"whole_{name}", tmp_path / name, places=6)
    stage = Stage(tmp_path, source=name)
    outcome, _ = stage.run()
    digest, warnings = stage.digest, warned(stage)
    processed = divided(stage, tmp_path)
    assert (processed.outcome, stage.digest) == (outcome, digest)
    assert processed.damage.notice is not None
    assert warned(stage) == warnings == [f"{stage.source}: {processed.damage.notice}."]


@pytest.mark.parametrize(("source", "output"), [("in.gif", "out.webp"), ("in.webp", "out.gif"), ("in.png", "out.mp4")])
def test_an_animated_image_is_divided_like_a_video(tmp_path: Path, source: str, output: str) -> None:
    make_animation(tmp_path / source)
    stage = Stage(tmp_path, source, output)
    outcome, _ = stage.run()
    digest = stage.digest
    assert (divided(stage, tmp_path).outcome, stage.digest) == (outcome, digest)


class Network:
    """Scores pictures by their number, counted from the first one it sees."""

    def __init__(self, scores: Sequence[float] = ()) -> None:
        self.seen: list[int] = []
        self._scores = dict(enumerate(scores))

    def thumbnail(self, picture: Picture) -> Thumbnail:
        self.seen.append(checksum(picture))
        return picture.thumbnail(Size(8, 8))

    def score(self, thumbnail: Thumbnail) -> float:
        return self._scores.get(len(self.seen) - 1, 0.0)


def filtered(network: Network, duration: float | None = 70 / 25) -> dict[str, Any]:
    return {"content": ContentAnalyser(Judge("network", network, 0.8), at_once, "in.mp4", duration)}


def test_the_filter_looks_at_the_frames_that_it_looks_at_in_one_run(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    single, planner = Network(), Network()
    stage.run(**filtered(single, None))
    outline = outlined(stage, **filtered(planner, None))
    assert planner.seen == single.seen
    assert len(single.seen) == 3
    renderers = [Network() for _ in range(SEGMENTS)]
    for number in reversed(range(SEGMENTS)):
        render(stage, outline, number, tmp_path, **filtered(renderers[number], None))
    assert [judge.seen for judge in renderers] == [single.seen[:1], single.seen[1:2], [], single.seen[2:], []]


@pytest.mark.parametrize("scores", [(0.9,), (0.0, 0.9), (0.0, 0.0, 0.9)])
def test_a_refused_target_is_refused_while_it_is_planned(tmp_path: Path, scores: Sequence[float]) -> None:
    stage = Stage(tmp_path)
    faults = []
    for work in (stage.run, partial(outlined, stage)):
        with pytest.raises(ContentRefusedError) as refused:
            work(**filtered(Network(scores)))
        faults.append(refused.value.fault)
    assert faults[0] == faults[1]
    assert not stage.output.exists()


def test_an_outline_tells_the_frames_of_each_segment_and_what_the_filter_saw(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outline = outlined(stage)
    assert outline.frames == (16, 16, 16, 16, 6)
    assert [one.content for one in outline.checkpoints] == [{"seen": seen} for seen in (16, 32, 48, 64, 70)]
    assert [one.anchor and one.anchor.index for one in outline.checkpoints] == [4, 20, 36, 52, None]
    assert stage.sink.events[0] == StageStarted("plan", FRAMES)
    assert stage.progress == FRAMES
    assert stage.sink.events[-1] == StageFinished(complete=True)


def test_rendering_tells_of_its_own_frames(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outline = outlined(stage)
    content = Content()
    render(stage, outline, 4, tmp_path, content=content)
    assert stage.sink.events[0] == StageStarted("process", 6)
    assert stage.progress == 6
    assert content.seen == FRAMES


def test_what_the_filter_refuses_has_no_outline(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(ContentRefusedError):
        outlined(stage, content=Content(refuse=True))
    assert stage.sink.events[-1] == StageFinished(complete=False)


def test_the_filter_has_the_last_word_when_segments_are_joined(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outline = outlined(stage)
    manifests = [take_segment(tmp_path, n, PLAN, render(stage, outline, n, tmp_path)) for n in range(SEGMENTS)]
    content = Content(refuse=True)
    with pytest.raises(ContentRefusedError):
        join(stage, outline, manifests, content=content)
    assert content.seen == FRAMES
    assert not stage.output.exists()


def test_a_video_no_frame_of_which_could_be_worked_on_is_no_result(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outline = outlined(stage)
    broken: dict[str, Any] = {"unreadable": dict.fromkeys(range(FRAMES), BrokenError("no")), "halt": False}
    manifests = [
        take_segment(tmp_path, n, PLAN, render(stage, outline, n, tmp_path, **broken)) for n in range(SEGMENTS)
    ]
    with pytest.raises(OutputError, match="working on every single frame failed"):
        join(stage, outline, manifests)
    assert not stage.output.exists()


def test_a_segment_that_fails_leaves_no_file(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outline = outlined(stage)
    with pytest.raises(BrokenError):
        render(stage, outline, 1, tmp_path, trouble={25: BrokenError()})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4"]


class Impatient(Content):
    """Asks to stop after some frames."""

    def __init__(self, frames: int, stop: StopToken) -> None:
        super().__init__()
        self._frames = frames
        self._stop = stop

    def observe(self, frame: Frame) -> None:
        super().observe(frame)
        if self.seen >= self._frames:
            self._stop.request("enough")


def test_whoever_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outline = outlined(stage)
    stop = StopToken()
    info, plan, work = stage.parts(content=Impatient(10, stop))
    with pytest.raises(Stopped):
        outline_video(info, plan, work, stage.sink, stop)
    assert stage.progress < FRAMES
    stop = StopToken()
    info, plan, work = stage.parts(content=Impatient(LENGTH + 10, stop))
    with pytest.raises(Stopped), MemoryMeter(1 << 40) as meter:
        DividedVideo(info, plan, outline).render(1, tmp_path / "segment.mkv", work, meter, stage.sink, stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4"]


def test_a_target_that_is_another_by_now_is_refused(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outline = outlined(stage)
    make_clip(stage.source, stamps=range(0, FRAMES * 256, 256), audio=("aac",))
    with pytest.raises(MediaError) as refused:
        render(stage, outline, 1, tmp_path)
    assert refused.value.fault == f"segment 1 of {stage.source} decodes otherwise than when it was planned"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4"]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Of segment 1, whose file lies in the folder."""
    stage = Stage(tmp_path)
    return render(stage, outlined(stage), 1, tmp_path)


def refusal(folder: Path, number: int, plan: str, record: Record) -> str:
    with pytest.raises(SegmentError) as refused:
        take_segment(folder, number, plan, record)
    assert refused.value.number == number
    return refused.value.fault


def test_a_segment_of_another_plan_is_refused(tmp_path: Path, record: Record) -> None:
    said = "segment 1 was rendered for another plan, or by another program or kind of machine"
    assert refusal(tmp_path, 1, "1" * 64, record) == said
    assert refusal(tmp_path, 2, PLAN, record) == "what is given for segment 2 is no record of it"
    assert refusal(tmp_path, 1, PLAN, {}) == "what is given for segment 1 is no record of it"


def test_a_damaged_or_missing_file_is_told(tmp_path: Path, record: Record) -> None:
    path = segment_path(tmp_path, 1, TOKEN)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert refusal(tmp_path, 1, PLAN, record) == f"the file of segment 1 is damaged: {path}"
    path.write_bytes(data[:-1])
    assert refusal(tmp_path, 1, PLAN, record) == f"the file of segment 1 is damaged: {path}"
    path.unlink()
    assert refusal(tmp_path, 1, PLAN, record) == f"the file of segment 1 is missing: {path}"


@pytest.mark.parametrize("change", [{"manifest": {}}, {"token": "../x"}, {"token": None}, {"file": 3}])
def test_a_damaged_record_is_told(tmp_path: Path, record: Record, change: dict[str, object]) -> None:
    assert "of segment 1 is damaged: " in refusal(tmp_path, 1, PLAN, {**record, **change})


@pytest.mark.parametrize("token", ["", "../up", "a/b", "a.b", "x" * 65])
def test_a_token_can_be_no_path(tmp_path: Path, token: str) -> None:
    with pytest.raises(ValueError, match="is no token"):
        segment_path(tmp_path, 0, token)


def test_a_file_that_does_not_read_back_is_not_put(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outline = outlined(stage)
    info, plan, work = stage.parts()
    path = segment_path(tmp_path, 0, TOKEN)
    with MemoryMeter(1 << 40) as meter:
        made = DividedVideo(info, plan, outline).render(0, path, work, meter, stage.sink, StopToken())
    assert made.segment is not None
    short = replace(made, segment=replace(made.segment, stamps=(*made.segment.stamps, 1 << 20)))
    with pytest.raises(OutputError, match="does not read back as it was written"):
        put_segment(tmp_path, 0, TOKEN, PLAN, short, {})
    assert not path.with_suffix(".json").exists()
