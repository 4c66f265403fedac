"""Settings groups that belong to no package in particular: paths, the list of processors, conduct."""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import PROCESSING_COMMANDS, Scope, option, settings_group

STEP_COMMANDS = ("run", "headless-run")
"""Commands that process what the user names."""
CLEAN_COMMAND = "clean"
EVERY_COMMAND = (*PROCESSING_COMMANDS, "force-download", CLEAN_COMMAND, "config")


@settings_group(section="paths", commands=EVERY_COMMAND)
class PathsSettings:
    """Where things lie."""

    config_path: Path = option(
        Path("facefusion.ini"), "ini file to read settings from", scope=Scope.JOB, in_ini=False, metavar="FILE"
    )
    source_paths: tuple[Path, ...] = option(
        (), "images that show the source's face; several are merged", short="-s", commands=STEP_COMMANDS, metavar="FILE"
    )
    target_path: Path | None = option(
        None, "image or video to change", short="-t", commands=STEP_COMMANDS, metavar="FILE"
    )
    output_path: Path | None = option(
        None,
        "file to write, or a folder to write a file of the target's name in",
        short="-o",
        commands=(*STEP_COMMANDS, CLEAN_COMMAND),
        metavar="FILE",
    )
    temp_path: Path | None = option(
        None,
        "folder for temporary files; the system's where empty",
        scope=Scope.JOB,
        commands=(*PROCESSING_COMMANDS, CLEAN_COMMAND),
        metavar="FOLDER",
    )
    models_path: Path | None = option(
        None, "folder of models, looked in first; new ones go there", scope=Scope.JOB, metavar="FOLDER"
    )


@settings_group(section="processors")
class ProcessorsSettings:
    """What is done to each frame. The allowed names are given by the composition root, which knows the processors."""

    processors: tuple[str, ...] = option(("face_swapper",), "what to do to each frame, in this order", metavar="NAME")


@settings_group(section="misc", commands=EVERY_COMMAND)
class MiscSettings:
    """How the program conducts itself."""

    log_level: str = option(
        "info",
        "how much to say",
        choices=("error", "warn", "info", "debug"),
        value_aliases={"warning": "warn", "critical": "error"},
        ini_aliases=(("logging", "log_level"),),
        scope=Scope.JOB,
    )
    halt_on_error: bool = option(
        False,
        "stop at the first frame that cannot be worked on, where it would be passed through unchanged",
        scope=Scope.JOB,
        commands=PROCESSING_COMMANDS,
    )
    fail_on_held_frames: bool = option(
        False, "end with status 1 if any frame was passed through unchanged", scope=Scope.JOB, commands=STEP_COMMANDS
    )
    report: Path | None = option(
        None,
        "file to write a report of the run to, as JSON; see docs/report.md",
        scope=Scope.RUN,
        commands=STEP_COMMANDS,
        metavar="FILE",
    )
    no_resume: bool = option(
        False,
        "begin from the first frame, also where an earlier run of the same step did not come to its end",
        scope=Scope.JOB,
        commands=STEP_COMMANDS,
    )


@settings_group(section="clean", commands=(CLEAN_COMMAND,))
class CleanSettings:
    """What ``clean`` removes."""

    max_age_hours: float = option(
        2.0, "hours without a change after which temporary files may go", minimum=0.0, scope=Scope.RUN, in_ini=False
    )
    resumable: bool = option(
        False,
        "remove what a run could go on from too",
        scope=Scope.RUN,
        in_ini=False,
    )


GENERAL_GROUPS: tuple[type, ...] = (PathsSettings, ProcessorsSettings, MiscSettings, CleanSettings)
