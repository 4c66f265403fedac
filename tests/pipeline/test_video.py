"""A whole video through the pipeline: segments, interruptions, another rate. The processor is a stand-in."""

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

from facefusion.core.errors import ContentRefusedError, MediaError, OutputError
from facefusion.observability.events import FrameHeld
from facefusion.pipeline.video_plan import Trim
from facefusion.pipeline.window import WindowPlan
from facefusion.pipeline.work_folder import WorkFolder
from facefusion.provenance.label import Label
from tests.media.cards import FakeCard
from tests.media.clips import decode, packets_of, planes_of, times_of
from tests.pipeline.stage import FRAMES, BrokenError, Content, Stage

REPOSITORY = Path(__file__).parents[2]


def levels(path: Path) -> list[float]:
    """Mean luma of each frame where the stand-in paints."""
    return [float(planes_of(frame)[0][:16, :16].mean()) for frame in decode(path)]


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
    stage.run(window=WindowPlan(window=2, workers=1))
    assert stage.digest == digest


def test_a_label_is_the_same_on_all_frames_whatever_the_threads_and_stops(tmp_path: Path) -> None:
    label = Label("AI", "bottom", 15.0)
    stage = Stage(tmp_path)
    stage.run()
    plain = [planes_of(frame)[0].astype(int) for frame in decode(stage.output)]
    stage.run(label=label, window=WindowPlan(window=6, workers=3))
    digest = stage.digest
    labelled = [planes_of(frame)[0].astype(int) for frame in decode(stage.output)]
    height, width = plain[0].shape
    rows = slice(height - 16, height - 4)
    assert len(labelled) == FRAMES
    for without, with_label in zip(plain, labelled, strict=True):
        assert np.abs(with_label - without)[rows, width // 2 - 8 : width // 2 + 8].mean() > 20
        assert np.abs(with_label - without)[: height // 2].mean() < 5
    stage.run(label=label, window=WindowPlan(window=2, workers=1))
    assert stage.digest == digest
    with pytest.raises(BrokenError):
        stage.run({40: BrokenError()}, label=label)
    stage.run(label=label)
    assert stage.digest == digest


@pytest.mark.parametrize("first_on_card", [True, False])
def test_where_frames_are_decoded_does_not_show_in_a_byte(tmp_path: Path, first_on_card: bool) -> None:
    stage = Stage(tmp_path, options={"bf": "2", "g": "25"})
    stage.run()
    digest = stage.digest
    card = FakeCard()
    stage.run(card=card)
    assert (stage.digest, card.decoded, stage.told) == (digest, FRAMES, [])
    with pytest.raises(BrokenError):
        stage.run({40: BrokenError()}, card=FakeCard() if first_on_card else None)
    stage.output.unlink()
    stage.run(card=None if first_on_card else FakeCard())
    assert stage.digest == digest


def test_a_card_that_fails_in_the_midst_of_a_run_is_told_of_and_the_result_is_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, options={"bf": "2", "g": "25"})
    stage.run()
    digest = stage.digest
    outcome, _ = stage.run(card=FakeCard(fails_at=33))
    assert (outcome.frames, stage.digest, len(stage.told)) == (FRAMES, digest, 1)


@pytest.mark.parametrize("together", [2, 3, 16, 64])
def test_frames_that_are_worked_on_together_depend_on_the_plan_alone(tmp_path: Path, together: int) -> None:
    """Neither on the threads, nor on where an earlier run broke; the stand-in shows who was read with whom."""
    stage = Stage(tmp_path)
    outcome, _ = stage.run(together=together)
    digest, shown = stage.digest, levels(stage.output)
    assert (outcome.frames, outcome.faces, stage.progress) == (FRAMES, FRAMES, FRAMES)
    assert times_of(stage.output) == times_of(stage.source)
    stage.run(together=together, window=WindowPlan(window=2, workers=1))
    assert stage.digest == digest
    with pytest.raises(BrokenError):
        stage.run({40: BrokenError()}, together=together)
    stage.output.unlink()
    stage.run(together=together, window=WindowPlan(window=9, workers=4))
    assert stage.digest == digest
    stage.run()
    assert max(abs(a - b) for a, b in zip(shown, levels(stage.output), strict=True)) > 3


def test_one_bad_frame_of_many_is_held_and_its_neighbours_are_not(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    bad = {5: ValueError("no luck"), 19: ValueError("none either")}
    outcome, _ = stage.run(bad, together=4, halt=False, unreadable={33: ValueError("dark")})
    assert outcome.held_frames == [5, 19, 33]
    assert (outcome.frames, outcome.faces) == (FRAMES, FRAMES - 3)
    held = [event for event in stage.sink.events if isinstance(event, FrameHeld)]
    assert sorted((event.index, event.reason) for event in held) == [
        (5, "ValueError: no luck"),
        (19, "ValueError: none either"),
        (33, "ValueError: dark"),
    ]
    shown, untouched = levels(stage.output), levels(stage.source)
    stage.run(together=4)
    whole = levels(stage.output)
    assert [shown[number] for number in (5, 19, 33)] == pytest.approx(
        [untouched[number] for number in (5, 19, 33)], abs=2
    )
    beside = (4, 6, 7, 16, 17, 18, 31)
    assert [shown[number] for number in beside] == pytest.approx([whole[number] for number in beside], abs=2)
    assert max(abs(shown[number] - untouched[number]) for number in beside) > 20


def test_dropped_frames_leave_the_groups_as_they_are(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    rate = Fraction(12)
    outcome, _ = stage.run(together=4, rate=rate)
    digest = stage.digest
    assert outcome.dropped_frames > 0
    with pytest.raises(BrokenError):
        stage.run({40: BrokenError(), 41: BrokenError(), 42: BrokenError()}, together=4, rate=rate)
    stage.output.unlink()
    stage.run(together=4, rate=rate)
    assert stage.digest == digest


@pytest.mark.parametrize("broken", [3, 15, 16, 17, 31, 40, 63, 64, 69])
def test_a_run_that_broke_goes_on_and_ends_with_the_same_bytes(tmp_path: Path, broken: int) -> None:
    stage = Stage(tmp_path)
    stage.run()
    digest = stage.digest
    stage.output.unlink()
    with pytest.raises(BrokenError):
        stage.run({broken: BrokenError()})
    assert not stage.output.exists()
    content = Content()
    outcome, _ = stage.run(content=content)
    assert stage.digest == digest
    assert (outcome.frames, stage.progress, content.seen) == (FRAMES, FRAMES, FRAMES)


def test_only_what_is_missing_is_made_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(BrokenError):
        stage.run({50: BrokenError()})
    done = {path.name: path.stat().st_mtime_ns for path in stage.root.rglob("*.mkv")}
    assert len(done) == 3
    # Were a finished segment made again, this would break again.
    stage.run({number: BrokenError() for number in range(48)})
    assert stage.progress == FRAMES


def test_everything_is_there_but_the_last_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path)
    stage.run()
    digest = stage.digest
    stage.output.unlink()

    def fail(*_: object) -> None:
        raise BrokenError

    with monkeypatch.context() as patch, pytest.raises(BrokenError):
        patch.setattr("facefusion.pipeline.joining.assemble", fail)
        stage.run()
    stage.run({number: BrokenError() for number in range(FRAMES)})
    assert stage.digest == digest


def test_other_settings_start_afresh_and_say_so(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(BrokenError):
        stage.run({50: BrokenError()})
    _, folder = stage.run(fingerprint={"seed": "2"})
    assert any("seed" in notice for notice in folder.notices)
    assert stage.progress == FRAMES
    with pytest.raises(BrokenError):
        stage.run({50: BrokenError()})
    with pytest.raises(BrokenError):
        stage.run({2: BrokenError()}, resume=False)


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
    with pytest.raises(BrokenError):
        stage.run({number: BrokenError() for number in (44, 45, 46)}, rate=rate)
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
    with pytest.raises(BrokenError):
        stage.run({50: BrokenError()}, trim=Trim(13, 58))
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


def test_a_container_of_constant_rate_has_a_place_for_every_frame(tmp_path: Path) -> None:
    """25 frames a second, of which bursts are missing: on average there are fewer."""
    ticks = [number for number in range(90) if number % 7 < 5 or number % 11 == 0]
    greys = [np.full((64, 96), 20 + 2 * tick, np.uint8) for tick in ticks]
    neutral = [np.full((32, 48), 128, np.uint8)] * 2
    stage = Stage(
        tmp_path, output="out.avi", stamps=[512 * tick for tick in ticks], pictures=[[grey, *neutral] for grey in greys]
    )
    outcome, _ = stage.run()
    assert outcome.dropped_frames == 0
    assert outcome.repeated_frames == ticks[-1] + 1 - len(ticks)
    shown = [planes_of(frame)[0][40:, 40:].mean() for frame in decode(stage.output)]
    held = [max(tick for tick in ticks if tick <= number) for number in range(ticks[-1] + 1)]
    assert np.abs(np.array(shown) - [20 + 2 * tick for tick in held]).max() < 1


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(BrokenError):
        stage.run({50: BrokenError()})
    with WorkFolder.open(stage.root, "0123456789abcdef", {"seed": "1"}, resume=True) as held:
        assert len(held.records) == 3
        stage.run()
        assert stage.progress == FRAMES
        assert held.path.is_dir()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
def test_killed_at_any_moment_the_next_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.pipeline.stage", str(tmp_path))
    stage = Stage(tmp_path)
    begun = time.monotonic()
    subprocess.run(command, cwd=REPOSITORY, check=True)
    seconds = time.monotonic() - begun
    digest = stage.digest
    chance = random.Random(11)
    for _ in range(3):
        stage.output.unlink(missing_ok=True)
        with subprocess.Popen(command, cwd=REPOSITORY) as process:
            time.sleep(seconds * chance.uniform(0.5, 1.0))
            process.kill()
        stage.run()
        assert stage.digest == digest
        assert stage.folders == []
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4", "out.mp4"]
