"""Letters as ink: which can be drawn, and how."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.vision.lettering import lettering, undrawable

LATIN_1 = "".join(chr(code) for code in (*range(0x20, 0x7F), *range(0xA1, 0x100)) if code != 0xAD)


def test_latin_is_drawn_whole():
    assert undrawable(LATIN_1) == ""


@pytest.mark.parametrize("text", ["ŁŐŞĞŽč", "“AI” — € …", "Изменено ИИ", "αλλαγή", "由AI生成", "人工知能", "인공지능"])
def test_so_are_others_that_run_from_left_to_right(text):
    assert undrawable(text) == ""


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("a\tb\nc", "\t\n"),
        ("zero\u200bwidth", "\u200b"),
        ("e\u0301", "\u0301"),
        ("हिन्दी", "हिन्दी"),
        ("עברית", "עברית"),
        ("ذكاء", "ذكاء"),
        ("\U0001f389 yes?", "\U0001f389"),
        ("half \ud800", "\ud800"),
        ("\u202eback", "\u202e"),
    ],
)
def test_what_would_come_out_as_something_else_is_named(text, missing):
    assert set(undrawable(text)) == set(missing)


def test_a_line_has_one_height_whatever_stands_in_it():
    assert {lettering(text, 40).shape[0] for text in ("A", "g", "...", "Ävg|", "no tail")} == {
        lettering("x", 40).shape[0]
    }


@pytest.mark.parametrize("letter", ["W", "j", "Ấ", "ķ", "Ǻ", "_"])
def test_no_letter_is_cut_off(letter):
    alone, framed = lettering(letter, 60), lettering(f"|{letter}|", 60)
    bar = lettering("|", 60)
    assert alone.sum() == pytest.approx(framed.sum() - 2 * bar.sum(), rel=0.03)


def test_letters_grow_with_their_size():
    small, large = lettering("Altered", 20), lettering("Altered", 80)
    assert np.array(large.shape) / small.shape == pytest.approx((4, 4), rel=0.05)
    assert large.mean() == pytest.approx(small.mean(), rel=0.05)
    assert (large.min(), large.max()) == (0, 1)


@pytest.mark.parametrize("size", [8, 12, 40])
def test_words_stand_apart_at_every_size(size):
    ink = lettering("ab ab", size)
    gaps = [len(run) for run in "".join(" x"[int(column.any())] for column in (ink > 0.1).T).split("x") if run]
    assert max(gaps) >= 0.15 * size


def test_the_same_is_drawn_every_time():
    assert np.array_equal(lettering("Wie gehabt", 33), lettering("Wie gehabt", 33))
