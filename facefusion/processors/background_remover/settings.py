"""Options of the background remover."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group


@settings_group(section="processors", awaited=True)
class BackgroundRemoverSettings:
    """How the background is taken away, and what takes its place."""

    background_remover_model: str = option(
        AUTO,
        "model that tells people from the background",
        **model_names("background_remover"),
        facefusion_default="modnet",
        former_defaults=("rmbg_2.0",),
    )
    background_remover_fill_color: tuple[int, ...] = option(
        (0, 0, 0, 0),
        "colour behind the people: red, green, blue, opacity; one number is an opaque grey, three are opaque",
        minimum=0,
        maximum=255,
        lengths=(1, 4),
        aliases=("background_remover_color",),
    )
    background_remover_despill_color: tuple[int, ...] = option(
        (0, 0, 0, 0),
        "colour of the screen to take off people's edges: red, green, blue, opacity, or fewer as above",
        minimum=0,
        maximum=255,
        lengths=(1, 4),
    )
