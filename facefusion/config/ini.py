"""Reads the ini file: what is written where. Knows no option.

The format is the one that FaceFusion's users have: sections in square brackets, ``key = value`` or ``key: value``,
whole-line comments with ``#`` or ``;``, deeper indented lines continue a value. Keys are case-insensitive, sections are
not. ``%%`` reads as ``%``, and so does a single one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from facefusion.core.errors import OptionError, UsageError
from facefusion.core.wording import shown

SECTION = re.compile(r"\[(?P<name>[^\]]+)\]\s*")
ENTRY = re.compile(r"(?P<key>[^=:\s][^=:]*?)\s*[=:]\s*(?P<value>.*)")


@dataclass(frozen=True, slots=True)
class IniEntry:
    """One key with its value."""

    section: str
    key: str
    value: str
    """Without the white space round it; lines that continue it are joined with line breaks."""
    place: str
    """``file:line`` of the key."""


def read_ini(path: Path) -> tuple[IniEntry, ...]:
    """Read an ini file in UTF-8, with or without a byte order mark.

    Raises:
        UsageError: it cannot be read.
        OptionError: a line cannot be understood; the message names it.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"cannot read the ini file {path}: {reason}", "Give another one with --config-path."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the ini file {path} is not in UTF-8", "Save it in UTF-8.") from error
    return parse_ini(text, str(path))


def parse_ini(text: str, name: str) -> tuple[IniEntry, ...]:
    """The entries of an ini file's text; ``name`` is the file's, for messages.

    Raises:
        OptionError: a line cannot be understood, or a section or key is there twice.
    """
    entries: dict[tuple[str, str], _Entry] = {}
    sections: dict[str, str] = {}
    section = ""
    indent = 0
    last: tuple[str, str] | None = None
    for place, line in _lines(text, name):
        depth = len(line) - len(line.lstrip())
        content = line.strip()
        if last is not None and depth > indent:
            entries[last].lines.append(content)
            continue
        indent = depth
        if heading := SECTION.fullmatch(content):
            section, last = heading["name"], None
            if section in sections:
                raise OptionError(
                    f"{place}: section [{shown(section)}] is there twice, first at {sections[section]}", "Join the two."
                )
            sections[section] = place
            continue
        match = ENTRY.fullmatch(content)
        if match is None:
            raise OptionError(
                f"{place}: {shown(repr(content))} is neither a section nor a key", "Write it as: key = value."
            )
        if not section:
            raise OptionError(
                f"{place}: key {shown(match['key'])} stands before the first section", "Put it below its [section]."
            )
        last = (section, match["key"].lower())
        if last in entries:
            first = entries[last].place
            raise OptionError(
                f"{place}: key {shown(last[1])} is there twice in [{shown(section)}], first at {first}", "Keep one."
            )
        entries[last] = _Entry(place, [match["value"]])
    return tuple(
        IniEntry(section, key, _percent("\n".join(entry.lines).strip()), entry.place)
        for (section, key), entry in entries.items()
    )


class _Entry(NamedTuple):
    """One key while its lines are read."""

    place: str
    lines: list[str]


def _lines(text: str, name: str) -> Iterator[tuple[str, str]]:
    """The lines that say something, with their place."""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        content = line.strip()
        if content and content[0] not in "#;":
            yield f"{name}:{number}", line


def _percent(text: str) -> str:
    return text.replace("%%", "%")
