"""What a person who uses the program for the first time is told once: whose faces it may be used on."""

from __future__ import annotations

import contextlib
from pathlib import Path

from facefusion.observability.terminal import Terminal

TOLD = ".consent-told"
"""File in the program's own folder; where it lies, this was said."""

NOTE = (
    "Use faces only with the consent of the people they belong to. Who publishes what was made or altered like this "
    "has to say so: what the law asks, and what this program does for it, stands in docs/trust.md."
)


def tell_of_consent(terminal: Terminal, folder: Path) -> None:
    """Say it to a person at a terminal who was not told yet. Scripts and logs are left alone, and nothing is asked.

    Args:
        terminal: where a person may look.
        folder: keeps in mind that it was said. Where that cannot be written, it is said again the next time.
    """
    file = folder / TOLD
    if not terminal.draws_bars or file.exists():
        return
    terminal.line(NOTE)
    with contextlib.suppress(OSError):
        file.touch()
