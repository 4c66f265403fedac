"""Options of the lip syncer."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group


@settings_group(section="processors", awaited=True)
class LipSyncerSettings:
    """How lips are made to follow a voice."""

    lip_syncer_model: str = option(
        AUTO, "model that moves lips", **model_names("lip_syncer"), facefusion_default="wav2lip_gan_96"
    )
    lip_syncer_weight: float = option(0.5, "how strongly lips move", minimum=0.0, maximum=1.0)


@settings_group(section="voice_extractor", awaited=True)
class VoiceExtractorSettings:
    """How the voice is taken out of the sound that lips follow."""

    voice_extractor_model: str = option(
        AUTO,
        "model that separates a voice from other sound",
        **model_names("voice_extractor"),
        facefusion_default="kim_vocal_2",
    )
