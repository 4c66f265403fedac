"""Options of the visible label."""

from __future__ import annotations

from facefusion.config.option import option, settings_group

POSITIONS = ("top-left", "top", "top-right", "bottom-left", "bottom", "bottom-right")


@settings_group(section="trust")
class LabelSettings:
    """What results say for everybody to see."""

    label: str | None = option(
        None,
        "text that is burnt into every frame, such as 'altered by AI'; none where empty",
        metavar="TEXT",
        own=True,
    )
    label_position: str = option("bottom-right", "where the label stands", choices=POSITIONS, own=True)
    label_size: float = option(
        4.0,
        "size of the label's letters, in hundredths of the frame's shorter side; smaller where the text would be wider "
        "than the frame",
        minimum=1.0,
        maximum=20.0,
        own=True,
    )
