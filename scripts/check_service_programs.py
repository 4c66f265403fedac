"""Say which Debian packages lack that the tests of the service need; ends with 1 where one does."""

from __future__ import annotations

import shutil
import sys

SYSTEM_PROGRAMS = "/usr/sbin"
"""Where servers lie, which is on the path of some users only."""
PROGRAMS = {
    "redis-server": "redis-server",
    "promtool": "prometheus",
    "amtool": "prometheus-alertmanager",
    "nginx": "nginx-light",
    "exiftool": "libimage-exiftool-perl",
}
"""Each program and the Debian package that has it."""


def _is_there(name: str) -> bool:
    return bool(shutil.which(name) or shutil.which(name, path=SYSTEM_PROGRAMS))


def main() -> int:
    """Look for the programs; the exit status."""
    missing = {name: package for name, package in PROGRAMS.items() if not _is_there(name)}
    if not missing:
        return 0
    packages = " ".join(dict.fromkeys(missing.values()))
    print(
        f"The tests of the service need {', '.join(missing)}: apt-get install --no-install-recommends {packages}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
