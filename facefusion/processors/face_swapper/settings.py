"""Options of the face swapper."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import Depends, option, settings_group

SIZES = ("128x128", "256x256", "384x384", "512x512", "768x768", "1024x1024")
FROM_256 = ("256x256", "512x512", "768x768", "1024x1024")
SIZES_OF_MODELS = {
    "inswapper_128": SIZES,
    "inswapper_128_fp16": SIZES,
    **dict.fromkeys(
        (
            "blendswap_256",
            "ghost_1_256",
            "ghost_2_256",
            "ghost_3_256",
            "hififace_unofficial_256",
            "hyperswap_1a_256",
            "hyperswap_1b_256",
            "hyperswap_1c_256",
            "simswap_256",
            "uniface_256",
        ),
        FROM_256,
    ),
    "simswap_unofficial_512": ("512x512", "1024x1024"),
}
"""Multiples of each model's own size. FaceFusion also offered 384 for blendswap and 768 for simswap_unofficial, which
are none, and failed on them."""


@settings_group(section="processors")
class FaceSwapperSettings:
    """How the source's face is put in place of the target's."""

    face_swapper_model: str = option(
        AUTO,
        "model that swaps faces",
        **model_names("face_swapper"),
        facefusion_default="hyperswap_1a_256",
        former_defaults=("inswapper_128_fp16",),
    )
    face_swapper_pixel_boost: str | None = option(
        None,
        "size at which a face is swapped, in several passes of the model; the model's own where empty; 'mesh' always "
        "works at the size in the frame",
        choices=SIZES,
        depends=Depends("face_swapper_model", SIZES_OF_MODELS),
        facefusion_default="256x256",
        former_defaults=("128x128",),
    )
    face_swapper_weight: float = option(
        0.5,
        "how much of the source comes through, from 0 over 0.5 (balanced) to 1: its proportions, lips and gaze with "
        "'mesh', its identity with the others; 'blendswap' and 'uniface' models know no weight",
        minimum=0.0,
        maximum=1.0,
    )
