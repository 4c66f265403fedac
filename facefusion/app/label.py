"""The label that a step burns into frames."""

from __future__ import annotations

from facefusion.config.state import Snapshot
from facefusion.provenance.label import Label
from facefusion.provenance.label_settings import LabelSettings


def label_of(snapshot: Snapshot) -> Label | None:
    """The label that is asked for, if any.

    Raises:
        OptionError: its text cannot be drawn.
    """
    settings = snapshot.get(LabelSettings)
    if not settings.label:
        return None
    return Label(settings.label, settings.label_position, settings.label_size)
