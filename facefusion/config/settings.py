"""Settings groups that belong to no package in particular: paths, the list of processors, conduct."""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import (
    EVERY_COMMAND,
    EXECUTION_COMMANDS,
    JOB_COMMANDS,
    JOB_STEP_COMMANDS,
    RUN_COMMANDS,
    SERVICE_COMMANDS,
    Scope,
    option,
    settings_group,
)

CLEAN_COMMAND = "clean"
TARGET_COMMANDS = (*RUN_COMMANDS, *JOB_STEP_COMMANDS)
"""Commands that name one target."""
JOBS_FOLDER_COMMANDS = (*RUN_COMMANDS, "batch-run", *JOB_COMMANDS)
MANY_JOBS_COMMANDS = ("job-submit-all", "job-delete-all")
OUTCOME_COMMANDS = tuple(name for name in EXECUTION_COMMANDS if name not in ("benchmark", *SERVICE_COMMANDS))
"""Commands that end with what became of the files they were given."""


@settings_group(section="paths")
class PathsSettings:
    """Where things lie."""

    config_path: Path = option(
        Path("facefusion.ini"),
        "ini file to read settings from",
        scope=Scope.JOB,
        commands=EVERY_COMMAND,
        in_ini=False,
        metavar="FILE",
    )
    temp_path: Path | None = option(
        None,
        "folder for temporary files; the system's where empty",
        scope=Scope.JOB,
        commands=(*EXECUTION_COMMANDS, "doctor", CLEAN_COMMAND),
        metavar="FOLDER",
    )
    jobs_path: Path = option(
        Path(".jobs"),
        "folder of job files, one folder in it for each status",
        scope=Scope.JOB,
        commands=(*JOBS_FOLDER_COMMANDS, "doctor"),
        metavar="FOLDER",
    )
    source_paths: tuple[Path, ...] = option(
        (),
        "images that show the source's face (several are merged), and sound that takes the place of the target's",
        short="-s",
        commands=(*TARGET_COMMANDS, "doctor"),
        metavar="FILE",
    )
    target_path: Path | None = option(
        None,
        "image or video to change",
        short="-t",
        commands=(*(name for name in TARGET_COMMANDS if name != "job-remix-step"), "doctor"),
        metavar="FILE",
    )
    output_path: Path | None = option(
        None,
        "file to write, or a folder to write a file of the target's name in",
        short="-o",
        commands=(*TARGET_COMMANDS, "doctor", CLEAN_COMMAND),
        metavar="FILE",
    )
    models_path: Path | None = option(
        None,
        "folder of models, looked in first; new ones go there",
        scope=Scope.JOB,
        commands=(*EXECUTION_COMMANDS, *JOB_STEP_COMMANDS, "force-download", "models", "doctor"),
        metavar="FOLDER",
        own=True,
    )


@settings_group(section="patterns", commands=("batch-run", "submit"))
class PatternsSettings:
    """Which files a batch takes, and what it calls the results."""

    source_pattern: str | None = option(
        None, "pattern of the source files, such as 'faces/*.jpg'", scope=Scope.JOB, short="-s", metavar="PATTERN"
    )
    target_pattern: str | None = option(
        None, "pattern of the target files, such as 'clips/*.mp4'", scope=Scope.JOB, short="-t", metavar="PATTERN"
    )
    output_pattern: str | None = option(
        None,
        "name of each result, made of {index}, {source_name}, {target_name} and {target_extension}, such as "
        "'results/{source_name}-{target_name}{target_extension}'",
        scope=Scope.JOB,
        short="-o",
        metavar="TEMPLATE",
    )


@settings_group(section="processors")
class ProcessorsSettings:
    """What is done to each frame. The allowed names are given by the composition root, which knows the processors."""

    processors: tuple[str, ...] = option(
        ("face_swapper",),
        "what to do to each frame, in this order",
    )


@settings_group(section="misc")
class MiscSettings:
    """How the program conducts itself."""

    log_level: str = option(
        "info",
        "how much to say",
        choices=("error", "warn", "info", "debug"),
        value_aliases={"warning": "warn", "critical": "error"},
        ini_aliases=(("logging", "log_level"),),
        scope=Scope.JOB,
        commands=EVERY_COMMAND,
    )
    halt_on_error: bool = option(
        False,
        "stop at the first frame, step or job that fails; without it such a frame is passed through unchanged, and the "
        "other steps and jobs go on",
        scope=Scope.JOB,
        commands=(*EXECUTION_COMMANDS, *MANY_JOBS_COMMANDS),
    )
    fail_on_held_frames: bool = option(
        False,
        "end with status 1 if any frame was passed through unchanged",
        scope=Scope.JOB,
        commands=OUTCOME_COMMANDS,
        own=True,
    )
    report: Path | None = option(
        None,
        "file to write a report of the run to, as JSON; see docs/report.md",
        scope=Scope.RUN,
        commands=RUN_COMMANDS,
        metavar="FILE",
        own=True,
    )
    no_resume: bool = option(
        False,
        "begin from the first frame, also where an earlier run of the same step did not come to its end",
        scope=Scope.JOB,
        commands=OUTCOME_COMMANDS,
        own=True,
    )


@settings_group(section="clean", commands=(CLEAN_COMMAND,))
class CleanSettings:
    """What ``clean`` removes."""

    max_age_hours: float = option(
        2.0,
        "hours without a change after which temporary files may go",
        minimum=0.0,
        scope=Scope.RUN,
        in_ini=False,
        own=True,
    )
    resumable: bool = option(False, "remove what a run could go on from too", scope=Scope.RUN, in_ini=False, own=True)


GENERAL_GROUPS: tuple[type, ...] = (PathsSettings, PatternsSettings, ProcessorsSettings, MiscSettings, CleanSettings)
