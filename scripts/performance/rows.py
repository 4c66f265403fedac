"""What is measured: each row a function that gives lines of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from facefusion.benchmark.cases import ASSETS
from facefusion.benchmark.measure import CaseResult
from facefusion.core.report import RunReport
from facefusion.memory.machine import read_machine
from scripts.performance.bare import bare_peak
from scripts.performance.clips import tiled
from scripts.performance.table import Growth, Line
from scripts.performance.task import (
    Task,
    first_run,
    in_own_process,
    measure_task,
    run_task,
    starts,
    whole_command,
    with_options,
)

MEBIBYTE = 1 << 20
GIGABYTE = 1 << 30
SMALL_TO_LARGE = ("240p", "360p", "540p", "720p", "1080p", "1440p", "2160p")
MANY = {"face_selector_mode": "many"}
LENGTHS = (150, 300, 600)
REAL_FRAMES = 10
"""Of a short run with networks of real size, of which each takes about a second."""

MEMORY_FRAMES = 90
"""Of a run whose memory is looked at: enough that decoder and encoder hold all that they ever will."""


@dataclass(frozen=True)
class Bench:
    """What rows are measured with."""

    cycles: int
    """Runs of which a median is taken."""
    seconds: float
    """How long a floor is."""
    growth_seconds: float
    """The same where only growth is looked at."""
    folder: Path
    """For clips."""
    thin: Path | None
    """Folder of networks that cost next to nothing; none where there are none."""
    real: Path | None
    """Folder of networks of real size."""
    resolutions: Sequence[str] = SMALL_TO_LARGE
    """To measure, of those that a row asks for."""

    def clips(self, *resolutions: str) -> Iterator[tuple[str, Path]]:
        """Those of the sample clips that are to be measured."""
        for resolution in resolutions:
            if resolution in self.resolutions:
                yield resolution, ASSETS / f"target-{resolution}.mp4"

    def faces(self, count: int) -> Path:
        """A clip of 1920x1080 with so many faces, made where it is not there yet."""
        path = self.folder / f"faces-{count}.mp4"
        if not path.is_file():
            part = path.with_suffix(".part.mp4")
            tiled(ASSETS / "target-540p.mp4", count, part)
            part.replace(path)
        return path


def real_networks(bench: Bench) -> Iterator[Line]:
    """Networks of real size over their floor, and their memory beside a bare process's."""
    for resolution, clip in bench.clips("360p", "720p", "1080p"):
        task = Task(clip, bench.real, frames=REAL_FRAMES)
        yield _over_floor(f"{resolution}, real networks", task, bench, 1.05)
        peak, graphs = in_own_process(first_run, task)
        bare = in_own_process(bare_peak, graphs)
        share = peak / bare
        figures = f"{share:.2f} ({_mebibytes(peak)} over {_mebibytes(bare)})"
        yield Line(f"{resolution}, real networks, memory over a bare process's", figures, "1.2", share <= 1.2)


def thin_networks(bench: Bench) -> Iterator[Line]:
    """Thin networks over their floor."""
    for resolution, clip in bench.clips("360p", "720p", "1080p", "2160p"):
        yield _over_floor(f"{resolution}, thin networks", Task(clip, bench.thin), bench, 1.15)
    for resolution, clip in bench.clips("2160p"):
        yield _memory(f"{resolution}, thin networks", Task(clip, bench.thin))


def mesh(bench: Bench) -> Iterator[Line]:
    """The embedded models over their floor."""
    hoped = {"720p": 30, "1080p": 18, "2160p": 7}
    for resolution, clip in bench.clips(*hoped):
        result = in_own_process(measure_task, Task(clip), bench.cycles, bench.seconds)
        yield _ratio(f"{resolution}, mesh swapper", result, 1.15)
        yield Line(f"{resolution}, mesh swapper, frames/s", _spread(result.rates, ".1f"), f"about {hoped[resolution]}")
    for resolution, clip in bench.clips("2160p"):
        yield _memory(f"{resolution}, mesh swapper", Task(clip))


def faces(bench: Bench) -> Iterator[Line]:
    """Four faces in a frame, over the floor of four faces."""
    for name, models in _networks(bench):
        task = Task(bench.faces(4), models, MANY)
        yield _over_floor(f"1080p, four faces, {name}", task, bench, 1.1)


def length(bench: Bench) -> Iterator[Line]:
    """A long clip against a short one."""
    for name, models in _networks(bench):
        task = Task(ASSETS / "target-360p.mp4", models)
        short, long = in_own_process(run_task, task, (LENGTHS[0], LENGTHS[-1]), bench.cycles)
        time, memory = _per_frame(long) / _per_frame(short) - 1, _peak(long) / _peak(short) - 1
        yield Line(f"600 frames against 150, 360p, {name}, time", f"{time:+.1%}", "3 % apart", abs(time) <= 0.03)
        yield Line(f"600 frames against 150, 360p, {name}, memory", f"{memory:+.1%}", "5 % apart", abs(memory) <= 0.05)


def cores(bench: Bench) -> Iterator[Line]:
    """What more cores gain, beside what they gain for the floor."""
    most = round(read_machine().cores)
    for resolution, clip in bench.clips("720p", "1080p"):
        one, all_of_them = (
            in_own_process(measure_task, Task(clip, bench.thin), bench.cycles, bench.growth_seconds, cores=count)
            for count in (1, most)
        )
        gained, floor = _frame_time(one) / _frame_time(all_of_them), _floor_time(one) / _floor_time(all_of_them)
        share = gained / floor
        figures = f"{share:.2f} ({gained:.2f} times as fast, the floor {floor:.2f})"
        yield Line(
            f"{resolution}, thin networks, {most} cores against one", figures, "0.95 of the floor's", share >= 0.95
        )


def start(bench: Bench) -> Iterator[Line]:
    """From the call to the first frame: the first time, the second, and after another model."""
    task = Task(ASSETS / "target-720p.mp4", frames=1)
    other = {"processors": ("face_enhancer",)}
    rounds = [
        in_own_process(starts, task, ({}, {}, other, {"processors": ("face_swapper",)})) for _ in range(bench.cycles)
    ]
    cold, second, _, back = (median(seconds) for seconds in zip(*rounds, strict=True))
    yield Line("cold start to the first frame, embedded models", f"{cold:.2f} s", "1.5 s", cold <= 1.5)
    command = median(whole_command(task) for _ in range(bench.cycles))
    yield Line("the same as a whole command", f"{command:.2f} s")
    yield _share("second run in one process, start", second, cold)
    yield _share("back to the first model, start", back, cold)
    if bench.thin is not None:
        wanted = [{"face_swapper_model": name} for name in ("hyperswap_1a_256", "inswapper_128", "hyperswap_1a_256")]
        first, _, again = in_own_process(starts, Task(task.target, bench.thin, frames=1), tuple(wanted))
        yield _share("back to the first swapper, thin networks, start", again, first)


def sizes(bench: Bench) -> Iterator[Growth]:
    """How cost grows with the size of frames."""
    for name, models in _networks(bench):
        for resolution, clip in bench.clips(*SMALL_TO_LARGE):
            yield _grown(f"{resolution}, one face, {name}", Task(clip, models), bench)


def more_faces(bench: Bench) -> Iterator[Growth]:
    """How cost grows with faces."""
    for name, models in _networks(bench):
        for count in (1, 2, 4):
            yield _grown(f"1080p, faces: {count}, {name}", Task(bench.faces(count), models, MANY), bench)


def more_frames(bench: Bench) -> Iterator[Growth]:
    """How cost grows with length."""
    for name, models in _networks(bench):
        found = in_own_process(run_task, Task(ASSETS / "target-360p.mp4", models), LENGTHS, 1)
        for count, reports in zip(LENGTHS, found, strict=True):
            yield Growth(f"360p, frames: {count}, {name}", 1000 * _per_frame(reports), None, _peak(reports))


def more_workers(bench: Bench) -> Iterator[Growth]:
    """How cost grows with worker threads."""
    most = round(read_machine().cores)
    for name, models in _networks(bench):
        for count in dict.fromkeys((1, 2, most, 2 * most)):
            task = with_options(Task(ASSETS / "target-720p.mp4", models), execution_thread_count=count)
            yield _grown(f"720p, workers: {count}, {name}", task, bench)


Row = Callable[[Bench], Iterator[Line | Growth]]

ROWS: Mapping[str, Row] = {
    "real": real_networks,
    "thin": thin_networks,
    "mesh": mesh,
    "faces": faces,
    "length": length,
    "cores": cores,
    "start": start,
    "growth-size": sizes,
    "growth-faces": more_faces,
    "growth-length": more_frames,
    "growth-workers": more_workers,
}
"""By name, in the order in which they are measured."""

NEEDS: Mapping[str, str] = {"real": "real", "thin": "thin", "cores": "thin"}
"""Rows that cannot be measured without a folder of networks, and the option that names it."""


def _networks(bench: Bench) -> Iterator[tuple[str, Path | None]]:
    if bench.thin is not None:
        yield "thin networks", bench.thin
    yield "mesh swapper", None


def _over_floor(case: str, task: Task, bench: Bench, most: float) -> Line:
    return _ratio(case, in_own_process(measure_task, task, bench.cycles, bench.seconds), most)


def _ratio(case: str, result: CaseResult, most: float) -> Line:
    floor = f"floor {result.floor.seconds:.1f} s, {result.last.frames} frames"
    return Line(case, f"{_spread(result.ratios, '.2f')}; {floor}", f"{most:.2f}", result.over_floor <= most)


def _grown(case: str, task: Task, bench: Bench) -> Growth:
    result = in_own_process(measure_task, task, 1, bench.growth_seconds)
    return Growth(case, 1000 * _frame_time(result), result.over_floor, result.peak_memory)


def _memory(case: str, task: Task) -> Line:
    peak, _ = in_own_process(first_run, replace(task, frames=MEMORY_FRAMES))
    return Line(f"{case}, memory", _mebibytes(peak), "1 GB", peak <= GIGABYTE)


def _share(case: str, seconds: float, cold: float) -> Line:
    share = seconds / cold
    return Line(case, f"{share:.0%} ({seconds:.2f} s of {cold:.2f} s)", "30 % of the cold one", share <= 0.3)


def _spread(values: Sequence[float], form: str) -> str:
    low, middle, high = (format(value, form) for value in (min(values), median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def _frame_time(result: CaseResult) -> float:
    return 1 / result.frames_per_second


def _floor_time(result: CaseResult) -> float:
    return median(cycle.floor.seconds / cycle.report.frames for cycle in result.cycles)


def _per_frame(reports: Sequence[RunReport]) -> float:
    return median(report.seconds / report.frames for report in reports)


def _peak(reports: Sequence[RunReport]) -> float:
    return median(report.peak_memory for report in reports)


def _mebibytes(amount: float) -> str:
    return f"{amount / MEBIBYTE:.0f} MiB"
