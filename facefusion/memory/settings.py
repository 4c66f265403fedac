"""Options that bound memory."""

from __future__ import annotations

from facefusion.config.option import EXECUTION_COMMANDS, Scope, option, settings_group


@settings_group(section="memory", commands=(*EXECUTION_COMMANDS, "doctor"))
class MemorySettings:
    """How much memory a run may take and how long models stay loaded."""

    system_memory_limit: float = option(
        0.0,
        "limit of system memory in GB that a run keeps within, such as 1.5 (0 = what this machine or container has "
        "free)",
        minimum=0,
        maximum=4096,
        scope=Scope.JOB,
        own=True,
    )
    video_memory_strategy: str = option(
        "balanced",
        "when models are loaded and released: aggressive loads all at the start and keeps them, balanced loads on "
        "demand, conservative releases what no coming stage needs",
        choices=("conservative", "balanced", "aggressive"),
        value_aliases={"strict": "conservative", "moderate": "balanced", "tolerant": "aggressive"},
        scope=Scope.JOB,
    )
