"""Options of the doctor, and of what it does to a run."""

from __future__ import annotations

from facefusion.config.option import EXECUTION_COMMANDS, Scope, option, settings_group

TEXT = "text"
JSON = "json"

SCALE = "output_video_scale"
"""The option by which larger videos are made smaller."""


@settings_group(section="execution", commands=EXECUTION_COMMANDS)
class AutoTuneSettings:
    """Whether a run chooses its own settings."""

    auto_tune: bool = option(
        False,
        "look at this machine first and set what 'doctor' recommends, wherever nothing else is asked for; measure once "
        "how models make best use of the processor's cores",
        scope=Scope.JOB,
        own=True,
    )


@settings_group(section="doctor", commands=("doctor",))
class DoctorSettings:
    """How the doctor reports."""

    doctor_format: str = option(
        TEXT,
        "how to report: lines for people, or one JSON document for programs",
        choices=(TEXT, JSON),
        scope=Scope.RUN,
        in_ini=False,
        own=True,
    )
