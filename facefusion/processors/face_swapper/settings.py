"""Options of the face swapper."""

from __future__ import annotations

from facefusion.catalogue.names import model_choices
from facefusion.config.option import option, settings_group


@settings_group(section="processors")
class FaceSwapperSettings:
    """How the source's face is put in place of the target's."""

    face_swapper_model: str = option("auto", "model that swaps faces", choices=model_choices("face_swapper"))
    face_swapper_weight: float = option(
        0.5,
        "how much of the source comes through, from 0 (the target's own proportions) over 0.5 (balanced) to 1 (the "
        "source's proportions, lips and gaze)",
        minimum=0.0,
        maximum=1.0,
    )
