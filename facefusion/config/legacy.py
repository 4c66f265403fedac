"""What FaceFusion took in earlier releases of 3.x and takes no more.

A name that only changed is an alias of the option; see :class:`facefusion.config.option.Option`. What is listed here
has no option any more: where another one does the same it is set instead, and otherwise the name is passed over. Either
way the user is told once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retired:
    """A switch that is gone."""

    sections: tuple[str, ...]
    """Where the ini files of its time had it."""
    release: str
    """Of FaceFusion, in which it went."""
    advice: str
    """What holds instead, as a sentence."""
    option: str | None = None
    """The option that does the same."""
    words: tuple[str, ...] = ()
    """What the option is set to where the switch was on."""

    def warning(self, label: str) -> str:
        """What to tell the user who wrote ``label``."""
        return f"{label} went with FaceFusion {self.release}. {self.advice}"


RETIRED: dict[str, Retired] = {
    "skip_audio": Retired(
        ("output_creation",), "3.2", "Taken as --output-audio-volume 0.", "output_audio_volume", ("0",)
    ),
    "skip_download": Retired(
        ("download", "misc"), "3.1", "It has no effect: models are fetched only where they are missing."
    ),
}
"""By name, with ``_`` inside."""

OFF = ("", "0", "no", "false", "off", "null", "none")


def successor(name: str, words: Sequence[str]) -> Retired | None:
    """What became of an option that is gone; none where FaceFusion never had it.

    Args:
        name: of the option, with ``_`` inside.
        words: its value; where it was off, nothing takes its place.
    """
    retired = RETIRED.get(name)
    if retired is None or (words and words[-1].lower() not in OFF):
        return retired
    return Retired(retired.sections, retired.release, "It was off, so nothing changes.")


def is_retired_key(section: str, key: str) -> bool:
    """Whether an ini file of FaceFusion 3 may have this key in this section."""
    return key in RETIRED and section in RETIRED[key].sections
