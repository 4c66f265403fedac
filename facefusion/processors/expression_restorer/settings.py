"""Options of the expression restorer."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group

AREAS = ("upper-face", "lower-face")


@settings_group(section="processors", awaited=True)
class ExpressionRestorerSettings:
    """How the target's expression is brought back after a swap."""

    expression_restorer_model: str = option(
        AUTO,
        "model that restores expressions",
        **model_names("expression_restorer"),
        facefusion_default="live_portrait",
    )
    expression_restorer_factor: int = option(
        80, "how much of the target's expression comes back", minimum=0, maximum=100
    )
    expression_restorer_areas: tuple[str, ...] = option(
        AREAS, "parts of the face to restore", choices=AREAS, lengths=(1, 2)
    )
