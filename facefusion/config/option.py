"""The one declaration of an option.

A settings group is a frozen dataclass whose fields are made with :func:`option`; it lives beside the code that owns
it. The command line, the ini file, job files, the API's schema and the reference page are all derived from it.

Example::

    @settings_group(section="face_selector")
    class FaceSelectorSettings:
        face_selector_mode: str = option("reference", "which faces to work on", choices=("many", "one", "reference"))
        reference_face_distance: float = option(0.3, "how far ...", minimum=0.0, maximum=1.0)
        reference_face_position: int = option(0, "...")

The field's name with ``_`` as ``-`` is the long flag, and is the ini key as it stands. The annotation is the type:
``str``, ``int``, ``float``, ``bool``, ``Path``, each of these or ``None`` (``int | None``), or a ``tuple`` of them
(``tuple[str, ...]``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, dataclass_transform

GroupT = TypeVar("GroupT")


class Scope(Enum):
    """Where a value belongs."""

    STEP = "step"
    """Part of what is asked for; frozen into a job file."""
    JOB = "job"
    """How this machine does it; taken from the command that runs the job."""
    RUN = "run"
    """Used by one command only."""


@dataclass(frozen=True, slots=True)
class Depends:
    """Allowed values that hang on the value of another option."""

    option: str
    """The other option's name."""
    choices: Callable[[str], Sequence[str] | None]
    """From its value to the values that are allowed with it; none where all are."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a text has to be written."""

    pattern: str
    """Regular expression that all of it matches."""
    text: str
    """The same for people: ``WIDTHxHEIGHT``."""


@dataclass(frozen=True, slots=True)
class Option:
    """Everything about an option that its field's name, type and default do not say."""

    help: str
    short: str | None = None
    choices: Sequence[str] | Callable[[], Sequence[str]] | None = None
    """Allowed values; a function where they are known at run time only (models, processors)."""
    minimum: float | None = None
    maximum: float | None = None
    lengths: tuple[int, int] | None = None
    """Least and greatest number of values of a list."""
    scope: Scope = Scope.STEP
    section: str | None = None
    """Ini section, where it differs from the group's."""
    aliases: tuple[str, ...] = ()
    """Other names of the option (older releases), without dashes, ``_`` inside."""
    ini_aliases: tuple[tuple[str, str], ...] = ()
    """Other places of the value in the ini file: pairs of section and key."""
    value_aliases: dict[str, str] = dataclasses.field(default_factory=dict)
    """Other spellings of a value and the value they mean. Upper and lower case of a choice never matter."""
    awaited: Sequence[str] | Callable[[], Sequence[str]] = ()
    """Values that users know and this version cannot serve yet. Those that are no choices are refused at once, the
    others where they are needed."""
    retired_values: tuple[str, ...] = ()
    """Items of a list that FaceFusion had in earlier releases: they are passed over, with a warning."""
    form: Form | None = None
    """How a text has to be written."""
    metavar: str | None = None
    commands: tuple[str, ...] | None = None
    """Commands that take it, where that differs from the group's."""
    in_ini: bool = True
    own: bool = False
    """FaceFusion 3.8 does not have it."""
    facefusion_default: str | None = None
    """FaceFusion 3.8's default, as text, where ours differs. It stands in every job file that FaceFusion wrote."""
    former_defaults: tuple[str, ...] = ()
    """Defaults that FaceFusion 3.0 to 3.7 had, as text, where they differ from 3.8's."""
    pending: str = ""
    """Why the option has no effect yet, as the end of a sentence; empty for one that has."""
    depends: Depends | None = None


METADATA_KEY = "facefusion.option"


def option(default: Any, help: str, **about: Any) -> Any:  # noqa: A002, ANN401 - mirrors dataclasses.field
    """Declare an option as the default of a dataclass field; ``about`` are the fields of :class:`Option`."""
    return dataclasses.field(default=default, metadata={METADATA_KEY: Option(help=help, **about)})


GROUP_ATTRIBUTE = "__facefusion_group__"

RUN_COMMANDS = ("run", "headless-run")
"""Commands that process one target at once."""
JOB_STEP_COMMANDS = ("job-add-step", "job-remix-step", "job-insert-step")
"""Commands that put a step into a job file."""
JOB_RUN_COMMANDS = ("job-run", "job-run-all", "job-retry", "job-retry-all")
JOB_COMMANDS = (
    "job-list",
    "job-create",
    "job-submit",
    "job-submit-all",
    "job-delete",
    "job-delete-all",
    *JOB_STEP_COMMANDS,
    "job-remove-step",
    *JOB_RUN_COMMANDS,
)
PROCESSING_COMMANDS = (*RUN_COMMANDS, "batch-run", "benchmark")
"""Commands that are told on their own line what to make, and make it."""
SERVICE_COMMANDS = ("serve", "worker", "submit")
"""Commands of the service: one answers requests, one works for a fleet, one sends files to it."""
STEP_COMMANDS = (*PROCESSING_COMMANDS, *JOB_STEP_COMMANDS, "serve", "submit")
"""Commands that say what is to be made; for a server, where the client says nothing."""
EXECUTION_COMMANDS = (*PROCESSING_COMMANDS, *JOB_RUN_COMMANDS, "serve", "worker")
"""Commands that process media."""
EVERY_COMMAND = (
    *PROCESSING_COMMANDS,
    "force-download",
    "models",
    *JOB_COMMANDS,
    *SERVICE_COMMANDS,
    "detect",
    "verify",
    "trust",
    "doctor",
    "clean",
    "config",
    "completion",
)

# The doctor is asked about a run in the words of the run.
_COMMANDS_OF_SCOPE = {Scope.STEP: (*STEP_COMMANDS, "doctor"), Scope.JOB: (*EXECUTION_COMMANDS, "doctor")}


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """What a settings group says about all of its options."""

    section: str
    commands: tuple[str, ...] | None
    awaited: bool
    """Whether the code that its options are for is still to come."""

    def commands_of(self, about: Option) -> tuple[str, ...]:
        """Commands that take an option of the group: those it names, or the group, or else those of its scope.

        Raises:
            TypeError: nothing says which.
        """
        commands = about.commands or self.commands or _COMMANDS_OF_SCOPE.get(about.scope)
        if commands is None:
            raise TypeError(f"an option of scope {about.scope.value} in [{self.section}] names no command")
        return commands


# Not `field_specifiers=(option,)`: type checkers would then look for a keyword `default` and take every option,
# whose default comes first, for one without.
@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings_group(
    *, section: str, commands: tuple[str, ...] | None = None, awaited: bool = False
) -> Callable[[type[GroupT]], type[GroupT]]:
    """Make a class a settings group: a frozen, keyword-only dataclass that knows its ini section and commands.

    Where no commands are named, each option's scope says them.
    """

    def decorate(cls: type[GroupT]) -> type[GroupT]:
        made = dataclass(frozen=True, kw_only=True)(cls)
        setattr(made, GROUP_ATTRIBUTE, GroupInfo(section=section, commands=commands, awaited=awaited))
        return made

    return decorate


def group_info(group: type) -> GroupInfo:
    """What a settings group says about its options.

    Raises:
        TypeError: it is none.
    """
    info = getattr(group, GROUP_ATTRIBUTE, None)
    if not isinstance(info, GroupInfo):
        raise TypeError(f"{group.__name__} is no settings group; decorate it with settings_group")
    return info
