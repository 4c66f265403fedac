"""The script with which a shell completes the command line, made from the declared options."""

from __future__ import annotations

import argparse
from pathlib import Path

import shtab

from facefusion.cli.command import COMMANDS, Command
from facefusion.cli.parser import PROGRAM, command_parser
from facefusion.config.schema import OptionSpec, Schema, flag_of
from facefusion.core.errors import UsageError

FOLDER = "FOLDER"
"""What the value of an option is called where it is a folder."""

_SCRIPT = f"{PROGRAM}.py"
_FUNCTION = f"_shtab_{PROGRAM}"

# Where `python` is completed already, that stays as it is.
_BASH_SCRIPT = f"""
complete -o bashdefault -F {_FUNCTION} {_SCRIPT}
_{PROGRAM}_python() {{
  if [[ ${{COMP_CWORD}} -gt 1 && "${{COMP_WORDS[1]##*/}}" == {_SCRIPT} ]]; then
    COMP_WORDS=("${{COMP_WORDS[@]:1}}")
    COMP_CWORD=$((COMP_CWORD - 1))
    {_FUNCTION}
  fi
}}
for word in python python3; do
  complete -p "$word" >/dev/null 2>&1 || complete -o bashdefault -o default -F _{PROGRAM}_python "$word"
done
unset word
"""

_ZSH_SCRIPT = f"""
(( $+functions[compdef] )) && compdef {_FUNCTION} {_SCRIPT}
"""

_ADDITIONS = {"bash": _BASH_SCRIPT, "zsh": _ZSH_SCRIPT}
SHELLS = tuple(_ADDITIONS)


def completion_script(shell: str, schema: Schema) -> str:
    """A script for a shell to read that completes commands, options and their values.

    Args:
        shell: one of :data:`SHELLS`.
        schema: the options of the program.

    Raises:
        UsageError: the shell is another one.
    """
    if shell not in SHELLS:
        raise UsageError(f"there is no completion for the shell {shell!r}", f"Shells are: {', '.join(SHELLS)}.")
    return shtab.complete(_program_parser(schema), shell) + _ADDITIONS[shell]


def _program_parser(schema: Schema) -> argparse.ArgumentParser:
    """One parser that has all commands below it, as the shell sees the program."""
    root = argparse.ArgumentParser(prog=PROGRAM, add_help=False)
    root.add_argument("-h", "--help", action="help", help="show this help and end")
    root.add_argument("-v", "--version", action="version", help="show the version and end")
    commands = root.add_subparsers()
    for command in COMMANDS:
        parser = _completed(command, schema.of_command(command.name))
        commands.add_parser(command.name, parents=[parser], add_help=False, help=command.help, description=command.help)
    return root


def _completed(command: Command, specs: tuple[OptionSpec, ...]) -> argparse.ArgumentParser:
    """The parser of a command, its options with the values that they take."""
    parser = command_parser(command, specs)
    by_name = {spec.name: spec for spec in specs}
    by_name_of_word = {one.name: one for one in command.positionals}
    for action in parser._actions:
        if action.dest in by_name:
            _complete_option(action, by_name[action.dest])
        elif (word := by_name_of_word.get(action.dest.removeprefix("."))) is not None:
            action.choices = word.choices or None
    return parser


def _complete_option(action: argparse.Action, spec: OptionSpec) -> None:
    older = {flag_of(alias) for alias in spec.about.aliases}
    action.option_strings = [name for name in action.option_strings if name not in older]
    if spec.type.is_flag:
        return
    if spec.choices is not None:
        action.choices = tuple(spec.choices())
    elif spec.type.scalar is Path:
        kind = shtab.DIRECTORY if spec.about.metavar == FOLDER else shtab.FILE
        action.complete = kind  # type: ignore[attr-defined]  # where shtab looks for it
