"""What FaceFusion took in earlier releases of 3.x and takes no more.

A name that only changed is an alias of the option; see :class:`facefusion.config.option.Option`. What is listed here
has no option any more: where another one does the same it is set instead, and otherwise the name is passed over. Either
way the user is told once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from facefusion.config.schema import OptionSpec
from facefusion.config.values import text_of


@dataclass(frozen=True, slots=True)
class Retired:
    """A switch that is gone."""

    sections: tuple[str, ...]
    """Where the ini files of its time had it."""
    release: str
    """Of FaceFusion, in which it was removed."""
    advice: str
    """What holds instead, as a sentence."""
    option: str | None = None
    """The option that does the same."""
    words: tuple[str, ...] = ()
    """What the option is set to where the switch was on."""

    def warning(self, label: str) -> str:
        """What to tell the user who wrote ``label``."""
        return f"{label} was removed in FaceFusion {self.release}. {self.advice}"


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


def successor(name: str, value: str) -> Retired:
    """What became of an option that is gone.

    Args:
        name: a key of :data:`RETIRED`.
        value: what it was set to; where it was off, nothing takes its place.
    """
    retired = RETIRED[name]
    if value.strip().lower() not in OFF:
        return retired
    return Retired(retired.sections, retired.release, "It was off, so nothing changes.")


@dataclass(frozen=True, slots=True)
class Age:
    """Which FaceFusion wrote the settings of a step, as far as it matters to what they mean."""

    is_of_today: bool
    """3.8."""
    has_short_distances: bool
    """3.2 or later: the distance of two faces is half of what it was before."""

    @classmethod
    def of(cls, args: Mapping[str, object]) -> Age:
        """Read it off the keys that there are."""
        return cls("workflow_mode" in args, "output_audio_volume" in args)

    def is_default(self, spec: OptionSpec, value: object) -> bool:
        """Whether a value is what FaceFusion wrote where nothing was chosen."""
        about, text = spec.about, text_of(value)
        today = text_of(spec.default) if about.facefusion_default is None else about.facefusion_default
        return text == today or (not self.is_of_today and text in about.former_defaults)

    def on_todays_scale(self, key: str, value: object) -> object:
        """A value that was chosen, as it is written today."""
        if key == "reference_face_distance" and isinstance(value, int | float) and not self.has_short_distances:
            return value / 2
        return value


def is_retired_key(section: str, key: str) -> bool:
    """Whether an ini file of FaceFusion 3 may have this key in this section."""
    return key in RETIRED and section in RETIRED[key].sections
