"""Long flags in full: the beginning of one will do, and so will the name that it had in an earlier release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Protocol

from facefusion.config.legacy import RETIRED
from facefusion.config.option import EXECUTION_COMMANDS, JOB_STEP_COMMANDS
from facefusion.config.schema import OptionSpec, Schema, flag_of
from facefusion.core.errors import UsageError
from facefusion.core.wording import shown

HELP = "--help"
NAMED = 3
"""Commands named in a message; more are left out."""


class LongFlags(Protocol):
    """Knows the long flags of a command line."""

    def full(self, name: str) -> str:
        """The flag that a word means.

        Raises:
            UsageError: none, or more than one, begins like that.
        """


class GlobalFlags:
    """The flags before the command.

    Args:
        program: the program's name, for messages.
        flags: all of them.
    """

    def __init__(self, program: str, flags: Sequence[str]) -> None:
        self._program = program
        self._flags = flags

    def full(self, name: str) -> str:
        """See :class:`LongFlags`."""
        starting = [flag for flag in self._flags if flag.startswith(name)]
        if len(starting) == 1:
            return starting[0]
        near = get_close_matches(name, self._flags, n=1)
        raise UsageError(
            f"{shown(name)} is no global switch", f"Did you mean {near[0]}?" if near else f"See: {self._program} {HELP}"
        )


class CommandFlags:
    """The flags of a command.

    Where a word is the beginning of several, and FaceFusion has one of them only, that one is meant: scripts that
    were written for it go on to work, whatever options are added here.

    Args:
        program: the program's name, for messages.
        command: the command's name.
        schema: all options of the program.
    """

    def __init__(self, program: str, command: str, schema: Schema) -> None:
        self._program = program
        self._command = command
        self._schema = schema
        self._meanings = {HELP: HELP} | {flag_of(name): flag_of(name) for name in retired_of(command)}
        self._known = {HELP}
        for spec in schema.of_command(command):
            self._meanings |= dict.fromkeys(flags_of(spec), spec.flag)
            if spec.type.is_flag:
                self._meanings[negated(spec)] = negated(spec)
            if not spec.about.own:
                self._known.add(spec.flag)

    def full(self, name: str) -> str:
        """See :class:`LongFlags`."""
        if name in self._meanings:
            return self._meanings[name]
        starting = {meaning for flag, meaning in self._meanings.items() if flag.startswith(name)}
        chosen = starting if len(starting) < 2 else starting & self._known
        if len(chosen) == 1:
            return chosen.pop()
        if HELP in starting:
            return HELP
        if starting:
            raise UsageError(
                f"{self._command}: {name} is ambiguous: it may mean {', '.join(sorted(starting))}", "Write it in full."
            )
        raise UsageError(f"{self._command}: {shown(name)} is no option of this command", self._hint(name))

    def _hint(self, name: str) -> str:
        spec = self._schema.get(name.removeprefix("--").replace("-", "_"))
        if spec is not None:
            more = ", ..." if len(spec.commands) > NAMED else ""
            return f"It is one of {', '.join(spec.commands[:NAMED])}{more}."
        near = get_close_matches(name, self._meanings, n=1)
        return f"Did you mean {near[0]}?" if near else f"See: {self._program} {self._command} {HELP}"


def in_full(words: Iterable[str], flags: LongFlags) -> list[str]:
    """The words with every long flag in full.

    Raises:
        UsageError: see :class:`LongFlags`.
    """
    full: list[str] = []
    pending = iter(words)
    for word in pending:
        if word == "--":
            return [*full, word, *pending]
        name, equals, value = word.partition("=")
        full.append(flags.full(name) + equals + value if word.startswith("--") else word)
    return full


def flags_of(spec: OptionSpec) -> tuple[str, ...]:
    """The option's long flag, and those that it had in earlier releases."""
    return tuple(flag_of(name) for name in (spec.name, *spec.about.aliases))


def negated(spec: OptionSpec) -> str:
    """The long flag that turns a switch off."""
    return flag_of(f"no_{spec.name}")


def retired_of(command: str) -> tuple[str, ...]:
    """Switches of earlier releases that scripts still give to a command."""
    return tuple(RETIRED) if command in EXECUTION_COMMANDS + JOB_STEP_COMMANDS else ()
