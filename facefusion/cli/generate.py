"""Writes the files that are derived from the option declarations: ``python -m facefusion.cli.generate [--check]``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from facefusion.cli.application import load_application
from facefusion.cli.command import COMMANDS
from facefusion.cli.main import program_schema
from facefusion.config.render import ini_template, reference_page
from facefusion.config.schema import Schema

ROOT = Path(__file__).resolve().parents[2]


def generated_files(schema: Schema) -> dict[Path, str]:
    """Text of each derived file, by its path in the repository."""
    commands = tuple(command.name for command in COMMANDS)
    return {
        Path("facefusion.ini"): ini_template(schema),
        Path("docs/options.md"): reference_page(schema, commands),
    }


def main(words: Sequence[str]) -> int:
    """Write the files; with ``--check`` change nothing and return 1 if one of them is out of date."""
    check = "--check" in words
    stale = [
        path
        for path, text in generated_files(program_schema(load_application())).items()
        if not _bring_up_to_date(ROOT / path, text, check=check)
    ]
    for path in stale:
        sys.stderr.write(f"{path} is out of date; run: python -m facefusion.cli.generate\n")
    return 1 if stale else 0


def _bring_up_to_date(path: Path, text: str, *, check: bool) -> bool:
    wanted = text.encode()
    if check:
        return path.is_file() and path.read_bytes() == wanted
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(wanted)
    return True


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
