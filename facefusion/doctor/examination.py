"""What the parts of an examination share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.inference.settings import ExecutionSettings

if TYPE_CHECKING:
    from facefusion.doctor.advice import Advice
    from facefusion.doctor.look import Look

NEEDED_TO_LOOK = ("numpy", "onnx", "onnxruntime", "psutil")
"""Modules without which nothing can be said of what graphs run on."""
NEEDED_TO_READ = ("av", "cv2", "numpy", "PIL")
"""Modules without which no media can be read."""


class Examination:
    """One examination of this machine.

    Args:
        snapshot: the settings that a run would have.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.broken: set[str] = set()
        """Modules that cannot be imported; whoever imports one all the same may end the process."""

    def lacking(self, modules: Iterable[str]) -> str:
        """Which of these modules cannot be imported, in words; empty where all can."""
        return " and ".join(name for name in modules if name in self.broken)

    @cached_property
    def look(self) -> Look:
        """What graphs could run on. The first look takes seconds, since devices are woken and tried.

        Raises:
            ImportError: a module that is needed for it cannot be imported.
        """
        if lacking := self.lacking(NEEDED_TO_LOOK):
            raise ImportError(f"{lacking} cannot be imported")
        from facefusion.doctor.look import look_around  # noqa: PLC0415 - the rest works without ONNX Runtime

        return look_around(self.snapshot)

    @property
    def advice(self) -> Advice:
        """The settings that suit this machine.

        Raises:
            ImportError: a module that is needed to look at it cannot be imported.
        """
        from facefusion.doctor.advice import advise  # noqa: PLC0415 - as above

        asked = self.snapshot.get(ExecutionSettings)
        return advise(self.look.facts.within(asked.execution_providers, asked.execution_device_ids))

    @property
    def target_lines(self) -> int | None:
        """The shorter side of the target in pixels, where it is a video that can be read."""
        if self.lacking(NEEDED_TO_READ):
            return None
        from facefusion.doctor.request import target_lines  # noqa: PLC0415 - as above

        return target_lines(self.snapshot.get(PathsSettings))
