"""Options of the face debugger."""

from __future__ import annotations

from facefusion.config.option import option, settings_group

DEBUGGER_ITEMS = (
    "bounding-box",
    "face-landmark-5",
    "face-landmark-5/68",
    "face-landmark-68",
    "face-landmark-68/5",
    "face-mask",
)


@settings_group(section="processors")
class FaceDebuggerSettings:
    """What is drawn."""

    face_debugger_items: tuple[str, ...] = option(
        ("face-landmark-5/68", "face-mask"),
        "what to draw on each face",
        choices=DEBUGGER_ITEMS,
        lengths=(1, 6),
        retired_values=("age", "gender", "race", "face-detector-score", "face-landmarker-score"),
    )
