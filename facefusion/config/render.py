"""Writes what is derived from the options for people: the ini template, the reference page, the texts of the help."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from facefusion.config.option import JOB_COMMANDS, JOB_RUN_COMMANDS, JOB_STEP_COMMANDS, PROCESSING_COMMANDS
from facefusion.config.schema import OptionSpec, Schema
from facefusion.config.state import Snapshot
from facefusion.config.values import choice_text, count_text, format_value, range_text
from facefusion.core.wording import printable

INI_WIDTH = 110
CONTINUED = "    "
"""What a line of an ini file begins with that goes on with a value."""

COMMAND_SETS = {
    "processing": PROCESSING_COMMANDS,
    "jobs": JOB_COMMANDS,
    "job steps": JOB_STEP_COMMANDS,
    "job runs": JOB_RUN_COMMANDS,
}
"""Commands that take much in common, as the reference page calls them. A larger set stands before its parts."""


def allowed_text(spec: OptionSpec) -> str:
    """What values an option takes, in words; empty where any text will do."""
    value = spec.type
    if value.is_flag:
        return "true or false"
    about = spec.about
    if spec.choices is not None:
        prefix = "any of" if value.is_list else "one of"
        awaited = tuple(spec.awaited())
        text = f"{prefix} {choice_text([choice for choice in spec.choices() if choice not in awaited])}"
        return f"{text} (not in this version yet: {choice_text(awaited)})" if awaited else text
    noun = {int: "whole number", float: "number"}.get(value.scalar, "")
    if value.is_list and noun:
        noun = f"{noun}s"
        if about.lengths is not None:
            noun = f"{count_text(about.lengths)} {noun}"
    return " ".join(part for part in (noun, range_text(about.minimum, about.maximum)) if part)


def default_text(spec: OptionSpec) -> str:
    """The default of an option, in words."""
    if spec.type.is_flag:
        return "on" if spec.default else "off"
    return format_value(spec, spec.default) or "none"


def help_text(spec: OptionSpec) -> str:
    """One sentence on an option: what it is for, what it takes, what it is otherwise.

    Where the default is that nothing is set, the option's own words say what happens then.
    """
    allowed = "" if spec.type.is_flag else allowed_text(spec)
    default = "" if spec.default is None or spec.default == () else f" (default: {default_text(spec)})"
    idle = "no effect yet" if spec.is_idle else ""
    return "; ".join(part for part in (spec.about.help, allowed, idle) if part) + default


def ini_template(schema: Schema) -> str:
    """The ini file with every value empty, which means that the default holds."""
    lines = [
        "# Settings of FaceFusion. An empty value means the default; the command line overrides what is set here.",
        "# Lists are separated by spaces; a value that contains one stands in quotes.",
    ]
    for section in schema.sections:
        lines += ["", f"[{section}]"]
        for spec in schema.of_section(section):
            lines += [f"# {line}" for line in textwrap.wrap(_ini_comment(spec), INI_WIDTH, break_on_hyphens=False)]
            lines.append(f"{spec.name} =")
    return "\n".join(lines) + "\n"


def _ini_comment(spec: OptionSpec) -> str:
    if spec.type.is_flag:
        idle = "; no effect yet" if spec.is_idle else ""
        return f"{spec.about.help}; true or false{idle} (default: {format_value(spec, spec.default)})"
    return help_text(spec)


def ini_of(snapshot: Snapshot) -> str:
    """An ini file that gives the values in force, each with its origin in a comment."""
    schema = snapshot.schema
    lines: list[str] = []
    for section in schema.sections:
        lines += [*([""] if lines else []), f"[{section}]"]
        for spec in schema.of_section(section):
            text = format_value(spec, snapshot.value(spec)).replace("%", "%%").replace("\n", f"\n{CONTINUED}")
            lines += [f"# {printable(str(snapshot.origin(spec.name)))}", f"{spec.name} = {text}".rstrip()]
    return "\n".join(lines) + "\n"


def reference_page(schema: Schema, commands: tuple[str, ...]) -> str:
    """The page that lists every option, in Markdown."""
    lines = [
        "# Options",
        "",
        "Generated from the declarations in the code by `python -m facefusion.cli.generate`; do not edit.",
        "",
        "Every option is a flag of the commands named with it, a key of `facefusion.ini` and an environment variable",
        "(`--log-level`, `log_level` in `[misc]`, `FACEFUSION_LOG_LEVEL`). The command line wins over the environment,",
        "the environment over the ini file, the ini file over the default. In the ini file an empty value means the",
        "default, `%%` means `%`, and quotes group an item of a list that contains spaces.",
        *_without_key(schema),
        "",
        "Commands that take an option are named with it, or by what they have in common:",
        "",
        *(f"- {name}: {_command_list(group)}" for name, group in COMMAND_SETS.items()),
    ]
    for section in dict.fromkeys(spec.section for spec in schema):
        lines += [
            "",
            f"## {section}",
            "",
            "| Option | Values | Default | Commands | Meaning |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(spec, commands) for spec in schema if spec.section == section]
    return "\n".join(lines) + "\n"


def _without_key(schema: Schema) -> Iterator[str]:
    flags = [f"`{spec.flag}`" for spec in schema if not spec.about.in_ini]
    if flags:
        yield f"These are no keys: {', '.join(flags)}."


def _row(spec: OptionSpec, commands: tuple[str, ...]) -> str:
    taken = "all" if set(commands) <= set(spec.commands) else _commands_text(spec.commands)
    default = default_text(spec)
    cells = (
        "<br>".join(f"`{name}`" for name in _spellings(spec)),
        allowed_text(spec) or "text",
        default if default in ("none", "on", "off") else f"`{default}`",
        taken,
        f"{spec.about.help}; no effect yet" if spec.is_idle else spec.about.help,
    )
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _commands_text(commands: Sequence[str]) -> str:
    """Names of commands, with sets of them by their own name where all of it is there."""
    left = list(commands)
    words = []
    for name, group in COMMAND_SETS.items():
        if set(group) <= set(left):
            words.append(name)
            left = [command for command in left if command not in group]
    return ", ".join([*words, *([_command_list(left)] if left else [])])


def _command_list(commands: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in commands)


def _spellings(spec: OptionSpec) -> Iterator[str]:
    if spec.about.short:
        yield spec.about.short
    yield spec.flag
    for alias in spec.about.aliases:
        yield "--" + alias.replace("_", "-")
