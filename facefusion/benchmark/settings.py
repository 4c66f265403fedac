"""Options of the benchmark."""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import Scope, option, settings_group

LAST = "last"
"""Names the newest record of all."""

RESOLUTIONS = ("240p", "360p", "540p", "720p", "1080p", "1440p", "2160p")


@settings_group(section="benchmark", commands=("run", "benchmark"))
class BenchmarkSettings:
    """What is measured."""

    benchmark_mode: str = option(
        "warm",
        "warm runs each clip once untimed before it is measured; cold unloads all models before every cycle",
        choices=("warm", "cold"),
        scope=Scope.RUN,
    )
    benchmark_resolutions: tuple[str, ...] = option(
        ("240p",), "sample clips to run", choices=RESOLUTIONS, value_aliases={"4k": "2160p"}, scope=Scope.RUN
    )
    benchmark_cycle_count: int = option(5, "timed cycles per clip", minimum=1, maximum=100, scope=Scope.RUN)
    benchmark_seconds: float = option(
        0.0,
        "seconds that the floor of a cycle lasts: each clip is played over and over for so long; 0 plays it once",
        minimum=0.0,
        maximum=600.0,
        scope=Scope.RUN,
        own=True,
    )
    benchmark_record_path: Path | None = option(
        None,
        "file to which one line of JSON is added per clip, so that runs can be compared",
        scope=Scope.RUN,
        metavar="FILE",
        own=True,
    )
    benchmark_name: str = option(
        "", "what the records of this measurement are called", scope=Scope.RUN, metavar="NAME", own=True
    )
    benchmark_baseline: str = option(
        LAST,
        "name of the records in the same file that this measurement is compared with; 'last' takes the newest",
        scope=Scope.RUN,
        metavar="NAME",
        own=True,
    )
    benchmark_chart_path: Path | None = option(
        None,
        "SVG file to which a chart of the speed and of where the time goes is written",
        scope=Scope.RUN,
        metavar="FILE",
        own=True,
    )
