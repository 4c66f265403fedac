"""Looks for known vulnerabilities of the pinned packages: ``python -m scripts.audit_packages``.

Asks an index of advisories through pip-audit. Where none can be reached, or it knows none of the packages, that is said
and nothing fails: a machine without a network can still make its checks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.supply.pins import RUNTIME, Pin, pins

SECONDS = 3
"""For which one answer of the index is waited."""
WALL_SECONDS = 60
"""For all of it: an index that answers this slowly counts as away."""


def asked(packages: Sequence[Pin]) -> tuple[int, str, str]:
    """Exit code, output and words of pip-audit."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "requirements.txt"
        # Without markers: what is vulnerable elsewhere is to be known here.
        listed.write_text("".join(f"{line}\n" for line in sorted({f"{pin.key}=={pin.version}" for pin in packages})))
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(listed), "--no-deps", "--disable-pip"]
        command += ["--format", "json", "--progress-spinner", "off", "--timeout", str(SECONDS)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=WALL_SECONDS, env={**os.environ}
            )
        except subprocess.TimeoutExpired:
            return 1, "", f"no answer within {WALL_SECONDS} s"
    return done.returncode, done.stdout, done.stderr


def verdict(code: int, output: str, words: str) -> tuple[int, str]:
    """What an answer of pip-audit means: the exit code, and what to say."""
    try:
        table: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, LookupError, TypeError):
        reason = (words.strip().splitlines() or [f"exit code {code}"])[-1]
        return 0, f"SKIPPED: no index of advisories can be reached, so no package was looked up ({reason})"
    known = [row for row in table if "skip_reason" not in row]
    if not known:
        return 0, f"SKIPPED: the index of advisories that was asked knows none of the {len(table)} packages"
    lines = [f"{row['name']} {row['version']}: {each['id']}{_mended(each)}" for row in known for each in row["vulns"]]
    strangers = sorted(row["name"] for row in table if "skip_reason" in row)
    told = f"{len(known)} packages looked up, {len(lines)} advisories"
    told += f"; not known there: {', '.join(strangers)}" if strangers else ""
    return (1 if lines else 0), "\n".join((*lines, told))


def _mended(advisory: dict[str, Any]) -> str:
    versions = advisory.get("fix_versions") or []
    return f", mended in {', '.join(versions)}" if versions else ""


def main() -> int:
    """Ask, and say what came out; 1 where a package has a known vulnerability."""
    code, words = verdict(*asked([pin for name in RUNTIME for pin in pins(name)]))
    (sys.stderr if code else sys.stdout).write(f"advisories: {words}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
