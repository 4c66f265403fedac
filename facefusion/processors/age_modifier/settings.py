"""Options of the age modifier."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group


@settings_group(section="processors", awaited=True)
class AgeModifierSettings:
    """How faces are made younger or older."""

    age_modifier_model: str = option(
        AUTO,
        "model that changes the age of faces",
        **model_names("age_modifier"),
        facefusion_default="fran",
        former_defaults=("styleganex_age",),
    )
    age_modifier_direction: int = option(
        0, "how much younger (below 0) or older (above 0) faces become", minimum=-100, maximum=100
    )
