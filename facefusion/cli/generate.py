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


def stale_files(schema: Schema, root: Path) -> list[Path]:
    """Derived files under ``root`` that are not there or differ by a byte from what they should be."""
    return [
        path
        for path, text in generated_files(schema).items()
        if not (root / path).is_file() or (root / path).read_bytes() != text.encode()
    ]


def write_files(schema: Schema, root: Path) -> None:
    """Write every derived file under ``root``."""
    for path, text in generated_files(schema).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


def main(words: Sequence[str]) -> int:
    """Write the files; with ``--check`` change nothing and return 1 if one of them is out of date."""
    schema = program_schema(load_application())
    if "--check" not in words:
        write_files(schema, ROOT)
        return 0
    stale = stale_files(schema, ROOT)
    for path in stale:
        sys.stderr.write(f"{path} is out of date; run: python -m facefusion.cli.generate\n")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
