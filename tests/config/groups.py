"""Settings groups that show every kind of option."""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import option, settings_group
from facefusion.config.schema import Schema


@settings_group(section="paths")
class SamplePaths:
    config_path: Path = option(Path("facefusion.ini"), "ini file", in_ini=False)
    source_paths: tuple[Path, ...] = option((), "sources", short="-s")
    target_path: Path | None = option(None, "target", short="-t")


@settings_group(section="face_detector")
class SampleDetector:
    face_detector_score: float = option(0.5, "least score", minimum=0.0, maximum=1.0)
    face_detector_margin: tuple[int, ...] = option((0,), "margin", minimum=0, maximum=100, lengths=(1, 4))
    face_detector_angles: tuple[int, ...] = option((0,), "angles", choices=("0", "90", "180", "270"))


@settings_group(section="face_selector")
class SampleSelector:
    face_selector_mode: str = option("reference", "which faces", choices=("many", "one", "reference"))
    reference_face_position: int = option(0, "which one")
    trim_frame_end: int | None = option(None, "last frame", minimum=0, section="frame_extraction")


@settings_group(section="execution")
class SampleExecution:
    execution_device_ids: tuple[int, ...] = option((0,), "devices", aliases=("execution_device_id",), minimum=0)
    execution_providers: tuple[str, ...] = option(("cpu",), "providers", choices=lambda: ("cuda", "cpu"))


@settings_group(section="misc")
class SampleMisc:
    log_level: str = option(
        "info",
        "how much to say",
        choices=("error", "warn", "info", "debug"),
        value_aliases={"warning": "warn"},
        ini_aliases=(("logging", "log_level"),),
    )
    halt_on_error: bool = option(False, "stop at once")


GROUPS = (SamplePaths, SampleDetector, SampleSelector, SampleExecution, SampleMisc)
SCHEMA = Schema.of(GROUPS)
