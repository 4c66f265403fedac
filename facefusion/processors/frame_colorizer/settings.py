"""Options of the frame colorizer."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group


@settings_group(section="processors", awaited=True)
class FrameColorizerSettings:
    """How frames without colour get one."""

    frame_colorizer_model: str = option(
        AUTO, "model that colours frames", **model_names("frame_colorizer"), facefusion_default="ddcolor"
    )
    frame_colorizer_size: str = option(
        "256x256",
        "size to which a frame is shrunk for the model",
        choices=("192x192", "256x256", "384x384", "512x512"),
    )
    frame_colorizer_blend: int = option(
        100, "share of the coloured frame in the result, in percent", minimum=0, maximum=100
    )
