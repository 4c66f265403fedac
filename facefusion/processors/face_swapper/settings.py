"""Options of the face swapper."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, entry_of, model_names
from facefusion.config.option import Depends, option, settings_group

SIZES = ("128x128", "256x256", "384x384", "512x512", "768x768", "1024x1024")


def sizes_of(model: str) -> tuple[str, ...] | None:
    """The sizes that a model can swap at: whole multiples of its own; none where it says no size of its own.

    FaceFusion also offered 384 for a model of 256 and 768 for one of 512, and failed on them.
    """
    card = entry_of("face_swapper", model)
    if card is None or "input_size" not in card.numbers:
        return None
    side = int(card.number("input_size"))
    return tuple(size for size in SIZES if int(size.partition("x")[0]) % side == 0)


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
        depends=Depends("face_swapper_model", sizes_of),
        facefusion_default="256x256",
        former_defaults=("128x128",),
    )
    face_swapper_weight: float = option(
        0.5,
        "how much of the source comes through, from 0 over 0.5 (balanced) to 1: its proportions, lips and gaze with "
        "'mesh', its identity with networks that get that as numbers; those that get a picture know no weight",
        minimum=0.0,
        maximum=1.0,
    )
