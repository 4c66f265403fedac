"""Options of the frame enhancer."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group


@settings_group(section="processors")
class FrameEnhancerSettings:
    """How frames are enlarged."""

    frame_enhancer_model: str = option(
        AUTO,
        "model that enlarges frames",
        **model_names("frame_enhancer"),
        facefusion_default="span_kendata_x4",
    )
    frame_enhancer_blend: int = option(
        80, "share of the enhanced frame in the result, in percent", minimum=0, maximum=100
    )
