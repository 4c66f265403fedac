"""From text to a checked value, and back. Every source of values passes through here."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from facefusion.config.origin import Origin, Source
from facefusion.config.schema import OptionSpec
from facefusion.core.errors import OptionError
from facefusion.core.wording import shown

TRUE_WORDS = ("1", "yes", "true", "on")
FALSE_WORDS = ("0", "no", "false", "off")
LONGEST_NUMBER = 18
"""Digits of a whole number; so it fits wherever libraries keep one."""
CHOICES_SHOWN = 16
"""A list of choices longer than this is cut in a message."""

QUOTED = r""""(?:[^"]|"")*"|'(?:[^']|'')*'"""
WORD = re.compile(rf"(?:{QUOTED})(?!\S)|\S+")


@dataclass(frozen=True, slots=True)
class RawValue:
    """A value as it was written."""

    words: tuple[str, ...]
    label: str
    """How the user wrote it, for messages: ``--face-detector-score 1.5``."""
    origin: Origin


def split_words(text: str) -> tuple[str, ...]:
    """Split at white space; quotes round a whole word group it, and a doubled quote inside them is one quote."""
    return tuple(_unquote(word) for word in WORD.findall(text))


def join_words(words: Sequence[str]) -> str:
    """The text that :func:`split_words` splits into ``words``."""
    return " ".join(_quote(word) for word in words)


def words_of(spec: OptionSpec, text: str) -> tuple[str, ...]:
    """The words of a value that is one text, as the ini file and the environment hold it.

    Quotes group words of a list; elsewhere they are what they are, as in FaceFusion.
    """
    return split_words(text) if spec.type.is_list else (text.strip(),)


def parse(spec: OptionSpec, raw: RawValue) -> Any:  # noqa: ANN401 - of the type that the option declares
    """The value that was written, in the type of the option.

    Raises:
        OptionError: it is not allowed; the message says why and where it was written.
    """
    words = [word for word in raw.words if word.lower() not in spec.about.retired_values]
    if not words:
        return spec.default
    values = tuple(_check(spec, raw, word, _parse_scalar(spec, raw, word)) for word in words)
    if not spec.type.is_list:
        return values[-1]
    _check_length(spec, raw, len(values))
    return values


def doubts(spec: OptionSpec, value: object, raw: RawValue) -> Iterator[str]:
    """Warnings about a value that is allowed: what of it does nothing."""
    if spec.about.pending and value != spec.default and text_of(value) != spec.about.facefusion_default:
        yield f"{shown(raw.label)} has no effect: {spec.about.pending} ({raw.origin})"
    for word in raw.words:
        if word.lower() in spec.about.retired_values:
            yield f"{shown(raw.label)}: {word} is passed over, an earlier FaceFusion removed it ({raw.origin})"


def check(spec: OptionSpec, value: Any, origin: Origin) -> Any:  # noqa: ANN401 - as in parse
    """A value that a program gives, checked like one that was written.

    Raises:
        OptionError: it is not allowed.
    """
    if value is None and spec.type.optional:
        return None
    words = tuple(text_of(one) for one in value) if spec.type.is_list else (text_of(value),)
    if not words:
        return ()
    return parse(spec, RawValue(words, f"{spec.name} = {format_value(spec, value)}", origin))


def format_value(spec: OptionSpec, value: Any) -> str:  # noqa: ANN401 - as in parse
    """The text of a value, as the ini file holds it; empty for an option that is not set."""
    if value is None:
        return ""
    if spec.type.is_list:
        return join_words([text_of(item) for item in value])
    return text_of(value)


def text_of(value: object) -> str:
    """The text of one value, or of the values of a list with spaces between."""
    if isinstance(value, list | tuple):
        return " ".join(text_of(one) for one in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def choice_text(choices: Sequence[str]) -> str:
    """A list of choices for people, cut where it is long."""
    if len(choices) <= CHOICES_SHOWN:
        return ", ".join(choices)
    return f"{', '.join(choices[:CHOICES_SHOWN])}, ... ({len(choices)} in all)"


def range_text(minimum: float | None, maximum: float | None) -> str:
    """The range of a number for people: ``between 0 and 1``; empty where there is none."""
    if minimum is not None and maximum is not None:
        return f"between {minimum:g} and {maximum:g}"
    if minimum is not None:
        return f"at least {minimum:g}"
    return f"at most {maximum:g}" if maximum is not None else ""


def count_text(lengths: tuple[int, int]) -> str:
    """The allowed number of values for people: ``1 to 4``."""
    least, greatest = lengths
    return f"{least}" if least == greatest else f"{least} to {greatest}"


def _quote(word: str) -> str:
    if word and not re.search(r"\s", word) and word[0] not in "'\"":
        return word
    return '"' + word.replace('"', '""') + '"'


def _unquote(word: str) -> str:
    if re.fullmatch(QUOTED, word):
        mark = word[0]
        return word[1:-1].replace(mark * 2, mark)
    return word


def _parse_scalar(spec: OptionSpec, raw: RawValue, word: str) -> Any:  # noqa: ANN401 - as in parse
    scalar = spec.type.scalar
    if scalar is bool:
        return _parse_flag(spec, raw, word)
    if scalar is int:
        if not re.fullmatch(r"[+-]?[0-9]+", word):
            raise _refusal(spec, raw, word, "must be a whole number")
        if len(word.lstrip("+-")) > LONGEST_NUMBER:
            raise _refusal(spec, raw, word, f"must have no more than {LONGEST_NUMBER} digits")
        return int(word)
    if scalar is float:
        return _parse_float(spec, raw, word)
    if not word:
        raise _refusal(spec, raw, word, "must not be empty")
    if "\0" in word:
        raise _refusal(spec, raw, word.replace("\0", "\\0"), "must not hold a null character")
    return _path(spec, raw, word) if scalar is Path else word


def _path(spec: OptionSpec, raw: RawValue, word: str) -> Path:
    try:
        os.fsencode(word)
    except UnicodeEncodeError:  # halves of surrogate pairs, as JSON can hold them
        raise _refusal(spec, raw, word, "holds what no file's name can hold") from None
    return Path(word)


def _parse_flag(spec: OptionSpec, raw: RawValue, word: str) -> bool:
    if word.lower() in TRUE_WORDS:
        return True
    if word.lower() in FALSE_WORDS:
        return False
    raise _refusal(spec, raw, word, f"must be one of {', '.join((*TRUE_WORDS, *FALSE_WORDS))}")


def _parse_float(spec: OptionSpec, raw: RawValue, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise _refusal(spec, raw, word, "must be a number") from None
    if not math.isfinite(value):
        raise _refusal(spec, raw, word, "must be a finite number")
    return value


def _check(spec: OptionSpec, raw: RawValue, word: str, value: Any) -> Any:  # noqa: ANN401 - as in parse
    about = spec.about
    if isinstance(value, int | float) and not isinstance(value, bool):
        too_low = about.minimum is not None and value < about.minimum
        if too_low or (about.maximum is not None and value > about.maximum):
            raise _refusal(spec, raw, word, f"must be {range_text(about.minimum, about.maximum)}")
    if about.form is not None and not re.fullmatch(about.form.pattern, word):
        raise _refusal(spec, raw, word, f"must be written as {about.form.text}")
    if spec.choices is None:
        return value
    choices = tuple(spec.choices())
    chosen = _choose(str(value), choices, about.value_aliases)
    if chosen is None and word.lower() in spec.awaited():
        raise _refusal(spec, raw, word, "is not available in this version", f"Available are: {choice_text(choices)}.")
    if chosen is None:
        near = get_close_matches(word.lower(), [*choices, *about.value_aliases], n=1)
        hint = f"Did you mean {near[0]}?" if near else ""
        raise _refusal(spec, raw, word, f"must be one of {choice_text(choices)}", hint)
    return chosen if spec.type.scalar is str else value


def _choose(word: str, choices: Sequence[str], aliases: dict[str, str]) -> str | None:
    if word in choices:
        return word
    folded = word.casefold()
    matches = {choice for choice in choices if choice.casefold() == folded}
    matches |= {value for alias, value in aliases.items() if alias.casefold() == folded}
    return matches.pop() if len(matches) == 1 else None


def _check_length(spec: OptionSpec, raw: RawValue, length: int) -> None:
    if spec.about.lengths is None:
        return
    least, greatest = spec.about.lengths
    if not least <= length <= greatest:
        allowed = count_text(spec.about.lengths)
        raise OptionError(f"{shown(raw.label)}: takes {allowed} values, not {length} ({raw.origin})")


def _refusal(spec: OptionSpec, raw: RawValue, word: str, problem: str, hint: str = "") -> OptionError:
    if raw.origin.source is Source.INI and any(mark in " ".join(raw.words) for mark in (" ;", " #")):
        hint = "A comment has to stand on a line of its own."
    subject = f"{shown(word) or 'a value'} " if spec.type.is_list else ""
    return OptionError(f"{shown(raw.label)}: {subject}{problem} ({raw.origin})", hint)
