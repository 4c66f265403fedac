"""Options of the benchmark."""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import Scope, option, settings_group

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
    benchmark_record_path: Path | None = option(
        None,
        "file to which one line of JSON is added per clip, so that runs can be compared",
        scope=Scope.RUN,
        metavar="FILE",
        own=True,
    )
