"""Options of the face enhancer."""

from __future__ import annotations

from facefusion.catalogue.names import model_choices
from facefusion.config.option import option, settings_group


@settings_group(section="processors")
class FaceEnhancerSettings:
    """How faces are made clearer."""

    face_enhancer_model: str = option("auto", "model that enhances faces", choices=model_choices("face_enhancer"))
    face_enhancer_blend: int = option(
        80, "share of the enhanced face in the result, in percent", minimum=0, maximum=100
    )
