"""Options of the imperceptible watermark."""

from __future__ import annotations

from facefusion.config.option import option, settings_group


@settings_group(section="trust")
class WatermarkSettings:
    """What results carry that nobody sees."""

    watermark: bool = option(
        False,
        "have every frame carry an imperceptible watermark; needs requirements-watermark.txt, see docs/trust.md",
        own=True,
    )
