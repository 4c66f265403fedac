"""Options of the content filter."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group


@settings_group(section="content_analyser")
class ContentAnalyserSettings:
    """How targets are checked for sexual content."""

    content_analyser_model: str = option(
        AUTO, "model that judges the target's content", **model_names("content_analyser"), own=True
    )
