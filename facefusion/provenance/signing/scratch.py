"""Where the library puts the copies that it makes of large files."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VARIABLE = "TMP" if os.name == "nt" else "TMPDIR"
_lock = threading.Lock()


@contextmanager
def scratch_in(folder: Path) -> Iterator[None]:
    """Have native code make its temporary files in a folder, one caller at a time.

    It takes the system's otherwise, which in a container may be smaller than a video, or lie in memory. There is no
    setting for it but the process's environment.
    """
    with _lock:
        tempfile.gettempdir()  # Python asks once, and is to keep the answer that it would have got
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = str(folder)
        try:
            yield
        finally:
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before
