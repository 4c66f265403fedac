"""The names of a batch's results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter

from facefusion.core.errors import OptionError
from facefusion.core.wording import shown

PLACEHOLDERS = ("index", "source_name", "target_name", "target_extension")
LONGEST_NAME = 255
"""Bytes, or more on some systems characters, that the name of a file may have."""
DEEPEST = 2
"""Braces within each other that :meth:`str.format` understands."""


class OutputTemplate:
    """A path with placeholders in braces, in the syntax of :meth:`str.format`.

    ``{index}`` is the step's number, counted from 0; ``{source_name}`` and ``{target_name}`` are file names without
    extension; ``{target_extension}`` is that of the target, in lower case and with its dot. A doubled brace is a brace.

    Args:
        text: the template.
        has_sources: whether every step has a source to name.

    Raises:
        OptionError: the braces do not match, a placeholder is unknown, or its format does not fit its value.
    """

    def __init__(self, text: str, *, has_sources: bool = True) -> None:
        self._text = text
        self._known = [name for name in PLACEHOLDERS if has_sources or name != "source_name"]
        samples: dict[str, object] = {name: 0 if name == "index" else "name" for name in self._known}
        fields = list(self._fields(text))
        for field, _, _ in fields:
            self._check_placeholder(field, has_sources=has_sources)
        for field, conversion, spec in fields:
            self._check_format(field, conversion, spec, samples)

    def path(self, index: int, source: Path | None, target: Path) -> Path:
        """The path for one step."""
        values: dict[str, object] = {
            "index": index,
            "target_name": target.stem,
            "target_extension": target.suffix.lower(),
        }
        if source is not None:
            values["source_name"] = source.stem
        return Path(self._text.format_map(values))

    def _fields(self, text: str, depth: int = 1) -> Iterator[tuple[str, str | None, str]]:
        """Name, conversion and format of each placeholder, of those within formats too."""
        try:
            parsed = list(Formatter().parse(text))
        except ValueError:
            raise self._refusal(
                "its braces do not match", f"Write {{{{ and }}}} for braces of the name itself. {self._usable()}"
            ) from None
        for _, field, spec, conversion in parsed:
            if field is not None:
                yield field, conversion, spec or ""
                if depth < DEEPEST:
                    yield from self._fields(spec or "", depth + 1)

    def _check_placeholder(self, field: str, *, has_sources: bool) -> None:
        if field in self._known:
            return
        if field == "":
            raise self._refusal("empty braces name nothing", self._usable())
        if field == "source_name" and not has_sources:
            raise self._refusal("{source_name} has no value without sources", "Give --source-pattern, or leave it out.")
        raise self._refusal(f"there is no placeholder {{{shown(field)}}}", self._usable())

    def _check_format(self, field: str, conversion: str | None, spec: str, samples: Mapping[str, object]) -> None:
        written = f"{{{field}{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}}}"
        if any(int(digits[:4]) > LONGEST_NAME for digits in re.findall("[1-9][0-9]*", spec)):
            raise self._refusal(
                f"{shown(written)} would be too long for a name", f"It may have {LONGEST_NAME} characters at most."
            )
        try:
            fits = "\0" not in written.format_map(samples)
        except (ValueError, OverflowError):
            fits = False
        if not fits:
            noun = "a number, such as {index:04d}" if field == "index" else "text"
            raise self._refusal(f"the format of {shown(written)} does not fit", f"{{{field}}} is {noun}.")

    def _usable(self) -> str:
        *most, last = [f"{{{name}}}" for name in self._known]
        return f"Placeholders are {', '.join(most)} and {last}."

    def _refusal(self, fault: str, remedy: str) -> OptionError:
        return OptionError(f"--output-pattern {shown(self._text)}: {fault}", remedy)
