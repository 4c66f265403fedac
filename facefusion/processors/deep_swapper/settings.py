"""Options of the deep swapper."""

from __future__ import annotations

from facefusion.config.option import Form, option, settings_group


@settings_group(section="processors")
class DeepSwapperSettings:
    """How a face is replaced by the one that a model was trained on."""

    deep_swapper_model: str = option(
        "iperov/elon_musk_224",
        "model of one person's face; 'custom/NAME' is the file NAME.dfm in the folder custom of a folder of models",
        form=Form(r"[^/\\\s]+/[^/\\]+", "COLLECTION/NAME"),
        metavar="MODEL",
    )
    deep_swapper_morph: int = option(
        100,
        "how far from the target's face towards the model's, in percent",
        minimum=0,
        maximum=100,
        former_defaults=("80",),
    )
