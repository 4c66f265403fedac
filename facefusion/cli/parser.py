"""Reads a command line. The flags are derived from the option declarations; values are left as words.

What a value may be is checked where all sources of values meet, in :mod:`facefusion.config.sources`, so that a mistake
reads the same wherever it was made.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Never

from facefusion.cli.command import COMMANDS, Command, Positional, find_command
from facefusion.cli.flags import HELP, CommandFlags, GlobalFlags, flags_of, in_full, negated, retired_of
from facefusion.cli.help_layout import HelpLayout
from facefusion.config.legacy import RETIRED
from facefusion.config.render import help_text
from facefusion.config.schema import OptionSpec, Schema, flag_of
from facefusion.config.settings import PatternsSettings
from facefusion.core.errors import UsageError
from facefusion.core.wording import shown

PROGRAM = "facefusion"

DASHED_VALUE = re.compile(r"-[^-]")
"""A word that is a value, not an option, where no option of one letter begins like it."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command with what was written behind it."""

    command: Command
    arguments: dict[str, tuple[str, ...]]
    """Words of each option given, by the option's name."""
    words: tuple[str, ...]


class HelpRequested(Exception):  # noqa: N818 - a request, not an error
    """The text that the user asked for is to be shown instead of running anything."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Never:
        see = f"See: {self.prog} --help"
        if "expected" in message:
            see = f"A value that begins with a dash is written --option=-value. {see}"
        raise UsageError(message, see)


class _ShowText(argparse.Action):
    def __init__(self, option_strings: Sequence[str], text: str | None = None, **about: str) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help=about["help"])
        self._text = text

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> Never:
        raise HelpRequested(self._text or parser.format_help())


def split_command(words: Sequence[str], version: str) -> tuple[Command, tuple[str, ...]]:
    """The command and the words behind it.

    Raises:
        HelpRequested: help or version is asked for, or there is no command.
        UsageError: there is no such command or global switch.
    """
    at = next((index for index, word in enumerate(words) if not word.startswith("-")), len(words))
    root = _root_parser(version)
    root.parse_args(in_full(words[:at], GlobalFlags(PROGRAM, (HELP, "--version"))))
    if at == len(words):
        raise HelpRequested(root.format_help())
    command = find_command(words[at])
    if command is None:
        raise _unknown_command(words[at])
    return command, tuple(words[at + 1 :])


def parse_command(command: Command, words: Sequence[str], schema: Schema) -> Invocation:
    """What was written behind a command.

    Raises:
        HelpRequested: the command's help is asked for.
        UsageError: an option is unknown or ambiguous, or lacks its value.
    """
    specs = schema.of_command(command.name)
    parser = command_parser(command, specs)
    found, rest = parser.parse_known_args(in_full(words, CommandFlags(PROGRAM, command.name, schema)))
    if rest:
        takes_patterns = any(spec.group is PatternsSettings for spec in specs)
        quote = "A pattern is put in quotes, so that the shell leaves it alone. " if takes_patterns else ""
        see = f"{quote}See: {parser.prog} --help"
        what = "is no option of this command" if rest[0].startswith("-") else "is one word too many"
        raise UsageError(f"{command.name}: {shown(rest[0])} {what}", see)
    names = (*(spec.name for spec in specs), *RETIRED)
    given = {name: getattr(found, name) for name in names if hasattr(found, name)}
    positionals = [word for one in command.positionals for word in _words(getattr(found, _place(one), ()))]
    return Invocation(command, {name: _words(value) for name, value in given.items()}, tuple(positionals))


def command_parser(command: Command, specs: Sequence[OptionSpec]) -> argparse.ArgumentParser:
    """The parser of one command."""
    parser = _Parser(
        prog=f"{PROGRAM} {command.name}",
        description=command.help,
        formatter_class=HelpLayout,
        add_help=False,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
        usage=" ".join([PROGRAM, command.name, *map(_usage, command.positionals), "[options]"]),
    )
    # Argparse takes values like -5 for what they are; so are names of files like -holiday.mp4.
    parser._negative_number_matcher = DASHED_VALUE
    for one in command.positionals:
        text = f"{one.help}; one of {', '.join(one.choices)}" if one.choices else one.help
        parser.add_argument(
            _place(one), nargs="*" if one.many else None, metavar=one.name, help=text, type=_check_of(one)
        )
    parser.add_argument("-h", "--help", action=_ShowText, help="show this help and end")
    for section in dict.fromkeys(spec.section for spec in specs):
        group = parser.add_argument_group(section.replace("_", " "))
        for spec in specs:
            if spec.section == section:
                _add_option(group, spec)
    for name in retired_of(command.name):
        parser.add_argument(flag_of(name), dest=name, action="store_const", const="true", help=argparse.SUPPRESS)
    return parser


def _place(positional: Positional) -> str:
    """Where argparse keeps it; no option can be named like that."""
    return f".{positional.name}"


def _usage(positional: Positional) -> str:
    return f"[{positional.name} ...]" if positional.many else positional.name


def _check_of(positional: Positional) -> Callable[[str], str]:
    def check(word: str) -> str:
        if positional.is_number and not re.fullmatch(r"[+-]?[0-9]+", word):
            raise argparse.ArgumentTypeError(f"{shown(word)!r} must be a whole number")
        if positional.choices and word not in positional.choices:
            raise argparse.ArgumentTypeError(f"{shown(word)!r} must be one of {', '.join(positional.choices)}")
        return word

    return check


def _add_option(group: argparse._ArgumentGroup, spec: OptionSpec) -> None:
    about = spec.about
    names = [*([about.short] if about.short else []), *flags_of(spec)]
    text = help_text(spec).replace("%", "%%")
    if spec.type.is_flag:
        group.add_argument(*names, dest=spec.name, action="store_const", const="true", help=text)
        group.add_argument(negated(spec), dest=spec.name, action="store_const", const="false", help=argparse.SUPPRESS)
        return
    metavar = about.metavar or {int: "N", float: "X"}.get(spec.type.scalar, "NAME")
    group.add_argument(*names, dest=spec.name, nargs="+" if spec.type.is_list else None, metavar=metavar, help=text)


def _root_parser(version: str) -> argparse.ArgumentParser:
    width = max(len(command.name) for command in COMMANDS)
    commands = "\n".join(f"  {command.name.ljust(width)}  {command.help}" for command in COMMANDS)
    root = _Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [-h] [-v] COMMAND [options]",
        description=f"Swap and enhance faces in images and videos.\n\ncommands:\n{commands}",
        epilog=f"See the options of a command with: {PROGRAM} COMMAND --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    root.add_argument("-h", "--help", action=_ShowText, help="show this help and end")
    root.add_argument(
        "-v", "--version", action=_ShowText, text=f"FaceFusion {version}\n", help="show the version and end"
    )
    return root


def _words(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _unknown_command(word: str) -> UsageError:
    names = [command.name for command in COMMANDS]
    near = get_close_matches(word, names, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Commands are: {', '.join(names)}."
    return UsageError(f"there is no command {shown(word)!r}", hint)
