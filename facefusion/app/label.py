"""What a step lays over frames at last: a watermark that nobody sees, and a label that everybody does."""

from __future__ import annotations

from collections.abc import Sequence

from facefusion.config.state import Snapshot
from facefusion.core.values import Picture, Size
from facefusion.pipeline.frames import FrameLabel
from facefusion.provenance.label import Label
from facefusion.provenance.label_settings import LabelSettings
from facefusion.provenance.watermark import Watermark, open_watermarker
from facefusion.provenance.watermark_settings import WatermarkSettings


def label_of(snapshot: Snapshot) -> Label | None:
    """The label that is asked for, if any.

    Raises:
        OptionError: its text cannot be drawn.
    """
    settings = snapshot.get(LabelSettings)
    if not settings.label:
        return None
    return Label(settings.label, settings.label_position, settings.label_size)


def labels_of(snapshot: Snapshot) -> FrameLabel | None:
    """All that is asked for, the label over the watermark; none where nothing is.

    Raises:
        OptionError: the text of the label cannot be drawn.
        SetupError: what writes watermarks is not installed.
    """
    label = label_of(snapshot)
    mark = Watermark(open_watermarker()) if snapshot.get(WatermarkSettings).watermark else None
    layers = [layer for layer in (mark, label) if layer is not None]
    return _Layers(layers) if layers else None


class _Layers:
    """Several, one over the other."""

    def __init__(self, layers: Sequence[FrameLabel]) -> None:
        self._layers = layers

    def check(self, size: Size) -> None:
        for layer in self._layers:
            layer.check(size)

    def over(self, picture: Picture) -> Picture:
        for layer in self._layers:
            picture = layer.over(picture)
        return picture
