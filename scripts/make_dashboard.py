"""Writes the Grafana dashboard: ``python scripts/make_dashboard.py [--check]``.

Needs requirements-service-dev.txt. With ``--check`` nothing is written; the status is 1 where
the file is another one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders.common import VizLegendOptions
from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.timeseries import Panel
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef

PATH = Path(__file__).resolve().parents[1] / "deploy/grafana/dashboards/facefusion.json"
SOURCE = DataSourceRef(type_val="prometheus", uid="prometheus")
"""As deploy/grafana/provisioning/datasources names it."""

WIDTH, HEIGHT = 8, 8
"""Of a panel; a row has 24 columns."""

RATE = "$__rate_interval"


@dataclass(frozen=True, slots=True)
class Chart:
    """One panel."""

    title: str
    unit: str
    """As Grafana names it."""
    queries: tuple[tuple[str, str], ...]
    """Each an expression and the legend of its lines."""
    most: float | None = None
    """Upper end of the scale; none where it follows the values."""


JOB = 'job="facefusion"'


def _rate(name: str, by: str = "") -> str:
    return f"sum{f' by ({by})' if by else ''} (rate({name}{{{JOB}}}[{RATE}]))"


def _greatest_rate(name: str, by: str = "") -> str:
    """Of what every API tells alike."""
    return f"max{f' by ({by})' if by else ''} (rate({name}{{{JOB}}}[{RATE}]))"


def _quantile(share: float, name: str) -> str:
    return f"histogram_quantile({share}, sum by (le) (rate({name}_bucket{{{JOB}}}[{RATE}])))"


ROWS: tuple[tuple[str, tuple[Chart, ...]], ...] = (
    (
        "Jobs",
        (
            Chart(
                "Jobs that wait", "short", ((f"max by (priority) (facefusion_queue_depth{{{JOB}}})", "{{priority}}"),)
            ),
            Chart("The longest wait", "s", ((f"max(facefusion_queue_age_seconds{{{JOB}}})", "oldest job"),)),
            Chart("Workers", "short", ((f"max(facefusion_workers{{{JOB}}})", "workers"),)),
            Chart(
                "Jobs that ended, a second",
                "short",
                ((_greatest_rate("facefusion_jobs_total", "outcome"), "{{outcome}}"),),
            ),
            Chart(
                "How long jobs take",
                "s",
                (
                    (_quantile(0.5, "job_duration_seconds"), "half of them"),
                    (_quantile(0.95, "job_duration_seconds"), "95 %"),
                    (_quantile(0.95, "facefusion_job_wait_seconds"), "95 %, waiting before"),
                ),
            ),
            Chart(
                "The last job of each worker",
                "s",
                (
                    (f"job_processing_latency_seconds{{{JOB}}}", "{{instance}} {{worker}}"),
                    (
                        f"job_processing_latency_of_last_three_seconds{{{JOB}}}",
                        "{{instance}} {{worker}}, quickest of three",
                    ),
                ),
            ),
        ),
    ),
    (
        "Machines",
        (
            Chart("Load of cards", "percent", ((f"gpu_utilization{{{JOB}}}", "{{instance}} {{device}}"),), most=100),
            Chart(
                "Video memory",
                "mbytes",
                (
                    (f"gpu_memory_used_mb{{{JOB}}}", "{{instance}} {{device}}"),
                    (f"gpu_memory_total_mb{{{JOB}}}", "{{instance}} {{device}}, all"),
                ),
            ),
            Chart(
                "Temperature of cards", "celsius", ((f"gpu_temperature_celsius{{{JOB}}}", "{{instance}} {{device}}"),)
            ),
            Chart("Memory", "percent", ((f"memory_usage_percent{{{JOB}}}", "{{instance}}"),), most=100),
            Chart("Memory in use", "mbytes", ((f"memory_usage_mb{{{JOB}}}", "{{instance}}"),)),
            Chart(
                "Room on disks",
                "percent",
                ((f"facefusion_disk_free_percent{{{JOB}}}", "{{instance}} {{place}}"),),
                most=100,
            ),
        ),
    ),
    (
        "Work",
        (
            Chart(
                "Frames and faces a second",
                "short",
                (
                    (_rate("facefusion_frames_processed_total"), "frames"),
                    (_rate("facefusion_faces_processed_total"), "faces"),
                    (_rate("facefusion_frames_held_total"), "frames passed through"),
                ),
            ),
            Chart(
                "Seconds of stages, a second",
                "short",
                ((_rate("facefusion_stage_seconds_total", "stage"), "{{stage}}"),),
            ),
            Chart(
                "Segments a second",
                "short",
                (
                    (_rate("facefusion_segments_total"), "finished"),
                    (_greatest_rate("facefusion_segment_retries_total"), "begun again"),
                ),
            ),
            Chart("Models loaded, a second", "short", ((_rate("facefusion_model_loads_total", "model"), "{{model}}"),)),
            Chart(
                "Work that found its model loaded",
                "percentunit",
                (
                    (
                        f"{_rate('facefusion_model_cache_hits_total')} / "
                        f"({_rate('facefusion_model_cache_hits_total')} + {_rate('facefusion_model_loads_total')})",
                        "share",
                    ),
                ),
                most=1,
            ),
            Chart(
                "Requests to the API",
                "reqps",
                ((_rate("facefusion_http_requests_total", "status"), "{{status}}"),),
            ),
        ),
    ),
)


def dashboard() -> str:
    """The dashboard as JSON, as the file has it."""
    builder = (
        Dashboard("FaceFusion")
        .uid("facefusion")
        .tags(["facefusion"])
        .refresh("30s")
        .time("now-6h", "now")
        .timezone("browser")
        .readonly()
    )
    numbers = itertools.count(1)
    for name, charts in ROWS:
        builder.with_row(Row(name).id(next(numbers)))
        for chart in charts:
            builder.with_panel(_panel(chart).id(next(numbers)))
    return JSONEncoder(sort_keys=True, indent=2).encode(builder.build()) + "\n"


def _panel(chart: Chart) -> Panel:
    panel = (
        Panel()
        .title(chart.title)
        .datasource(SOURCE)
        .unit(chart.unit)
        .min(0)
        .span(WIDTH)
        .height(HEIGHT)
        .legend(
            VizLegendOptions().show_legend(True).display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
        )
    )
    if chart.most is not None:
        panel.max(chart.most)
    for number, (expression, legend) in enumerate(chart.queries):
        query = Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + number)).datasource(SOURCE)
        panel.with_target(query)
    return panel


def main() -> int:
    """Write the file, or look whether it is what it should be."""
    parser = argparse.ArgumentParser(description="Writes the Grafana dashboard.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where the file is not up to date")
    made = dashboard()
    if not parser.parse_args().check:
        PATH.write_text(made)
        return 0
    if PATH.is_file() and PATH.read_text() == made:
        return 0
    sys.stderr.write("The dashboard is not up to date; python scripts/make_dashboard.py writes it.\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
