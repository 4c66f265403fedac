"""Options of the face enhancer."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group


@settings_group(section="processors")
class FaceEnhancerSettings:
    """How faces are made clearer."""

    face_enhancer_model: str = option(
        AUTO, "model that enhances faces", **model_names("face_enhancer"), facefusion_default="gfpgan_1.4"
    )
    face_enhancer_blend: int = option(
        80, "share of the enhanced face in the result, in percent", minimum=0, maximum=100
    )
    face_enhancer_weight: float = option(
        0.5,
        "how far the model may go from the face as it is: 0 clearest, 1 most faithful; only models made for it heed it",
        minimum=0.0,
        maximum=1.0,
        former_defaults=("1.0",),
    )
