"""What earlier steps of the process saw in files, with an analysis made from the same models and settings."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from facefusion.core.remembered import Remembered

SeenT = TypeVar("SeenT")


@dataclass(frozen=True, slots=True)
class Recollection:
    """Of one step."""

    remembered: Remembered
    recipe: Hashable
    """All that the analysis is made from."""

    def of(
        self,
        paths: Sequence[Path],
        what: Hashable,
        look: Callable[[], SeenT],
        weigh: Callable[[SeenT], int],
    ) -> SeenT:
        """What was seen in files as they are now, or is seen now.

        Args:
            paths: of the files.
            what: all that it depends on beside the files and the analysis.
            look: looks at them. What it raises is raised here, and nothing is remembered.
            weigh: tells about how many bytes it takes to remember that.
        """
        return self.remembered.of((self.recipe, what, tuple((path, _state(path)) for path in paths)), look, weigh)


def _state(path: Path) -> tuple[int, ...] | None:
    """What changes when the file does; none where there is no file, as reading it says best."""
    with contextlib.suppress(OSError):
        status = path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return None
