"""Texts that are not ours, as they are repeated to people."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.wording import SHOWN, printable, shown


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a b.jpg", "a b.jpg"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\nb\r\tc\x00\x7f\x9b", r"a\nb\r\tc\x00\x7f\x9b"),
        ("one\u2028two\u2029", r"one\u2028two\u2029"),
        ("photo\u202egpj.exe", r"photo\u202egpj.exe"),
        (r"C:\new", r"C:\new"),
        ("日本\u3000語 \U0001f468\u200d\U0001f469.jpg", "日本\u3000語 \U0001f468\u200d\U0001f469.jpg"),
        ("a\udcff", "a\udcff"),
        ("a\ud800", r"a\ud800"),
    ],
)
def test_what_would_do_something_to_a_terminal_is_written_out(text, written):
    assert printable(text) == written


@given(st.text())
def test_nothing_that_breaks_a_line_or_controls_a_terminal_is_left(text):
    written = printable(text)
    assert len(written.splitlines()) <= 1
    assert not any(unicodedata.category(character) == "Cc" for character in written)
    assert printable(written) == written


def test_a_long_text_is_cut_and_counted():
    assert shown("x" * SHOWN) == "x" * SHOWN
    assert shown("x" * 1_000_000) == f"{'x' * SHOWN}... (1000000 characters)"
