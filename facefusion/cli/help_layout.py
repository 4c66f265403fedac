"""How help is set: options with one name for their value, no word broken at its hyphens."""

from __future__ import annotations

import argparse
import textwrap


class HelpLayout(argparse.HelpFormatter):
    """``-s, --source-paths FILE [FILE ...]``, and names such as ``face-landmark-5/68`` in one piece.

    Of several long names of an option the first is shown; the others are those of older releases.
    """

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        short = [name for name in action.option_strings if not name.startswith("--")]
        long = [name for name in action.option_strings if name.startswith("--")]
        names = ", ".join([*short, *long[:1]])
        return names if action.nargs == 0 else f"{names} {self._format_args(action, action.dest.upper())}"

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False, break_long_words=False)
