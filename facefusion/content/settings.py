"""Options of the content filter."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_choices, model_names
from facefusion.config.option import option, settings_group

NONE = "none"
EITHER, BOTH = "either", "both"


def _second_choices() -> tuple[str, ...]:
    """``none`` and the names of all models that judge content."""
    return (NONE, *(name for name in model_choices("content_analyser")() if name != AUTO))


@settings_group(section="content_analyser")
class ContentAnalyserSettings:
    """How targets are checked for sexual content."""

    content_analyser_model: str = option(
        AUTO, "model that judges the target's content", **model_names("content_analyser"), own=True
    )
    content_analyser_second: str = option(
        NONE, "second model that judges every picture that the first one does", choices=_second_choices, own=True
    )
    content_analyser_vote: str = option(
        EITHER,
        "whether a picture counts where either of the two models says so, or only where both do",
        choices=(EITHER, BOTH),
        own=True,
    )

    @property
    def second(self) -> str | None:
        """Name of the second model, where there is one."""
        return None if self.content_analyser_second == NONE else self.content_analyser_second

    @property
    def needed(self) -> int:
        """How many of two models have to count a picture."""
        return 2 if self.content_analyser_vote == BOTH else 1
