from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import UsageError
from facefusion.jobs.ids import FORBIDDEN, LONGEST, check_id, file_stems, new_stem, timed_ids


@pytest.mark.parametrize(
    "job_id",
    ["demo", "my job!", "a_b.c", "film-2", "Übung", "ジョブ", "-x", "a" * LONGEST, "console", "com10", "#1 (new)"],
)
def test_ids_that_name_a_file_on_every_system(job_id):
    assert new_stem(job_id) == job_id
    assert file_stems(job_id)[0] == job_id


@pytest.mark.parametrize(
    "job_id",
    [
        "2024-01-01 12:30",
        "wedding: part 1",
        "im.",
        " a",
        "a ",
        ".a",
        "a?",
        "a\u200bb",
        "NUL",
        "com1.mp4",
        "a" * (LONGEST + 1),
        "a" * 1000,
        "é" * 51,
    ],
)
def test_ids_that_do_not_are_given_the_hash_that_facefusion_gave_them(job_id):
    stem = new_stem(job_id)
    assert stem == hashlib.sha1(job_id.encode()).hexdigest()
    assert file_stems(job_id)[-1] == stem


@pytest.mark.parametrize(
    ("job_id", "reason"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        (".", "is a part of a path"),
        ("..", "is a part of a path"),
        ("a/b", "holds what no id may hold: '/'"),
        ("../a", "holds what no id may hold: '/'"),
        ("a\\b/", "holds what no id may hold: '/' '\\\\'"),
        ("a\nb", "holds what no id may hold: '\\n'"),
        ("a\0", "holds what no id may hold: '\\x00'"),
        ("a\u2028b", "holds what no id may hold: '\\u2028'"),
        ("a\udce9", "holds what no id may hold: '\\udce9'"),
    ],
)
def test_parts_of_paths_and_what_cannot_be_shown_are_no_ids(job_id, reason):
    for refuse in (check_id, new_stem):
        with pytest.raises(UsageError) as caught:
            refuse(job_id)
        assert str(caught.value) == f"the job id {job_id!r} {reason}. Use letters, digits, hyphens and the like."


@given(st.text(max_size=60))
def test_no_id_leads_out_of_its_folder(tmp_path_factory, job_id):
    folder = tmp_path_factory.getbasetemp()
    for stem in file_stems(job_id):
        assert (folder / f"{stem}.json").resolve().parent == folder.resolve()


@given(st.text(max_size=200))
def test_a_new_file_is_found_under_its_id_and_fits_everywhere(job_id):
    try:
        stem = new_stem(job_id)
    except UsageError:
        return
    assert stem in file_stems(job_id)
    assert len(stem.encode()) <= LONGEST
    assert FORBIDDEN.isdisjoint(stem)


def test_a_file_of_facefusion_has_the_hash_of_an_id_that_is_more_than_letters_digits_and_hyphens():
    assert file_stems("demo-1") == ("demo-1",)
    assert file_stems("my job!") == ("my job!", "a5a8ee3152c4dd86a0f6e784a392eeff0ba4f0ab")
    assert file_stems("a/b") == ("3ec69c85a4ff96830024afeef2d4e512181c8f7b",)


def test_a_file_that_is_there_is_looked_for_under_the_id_however_long():
    assert file_stems("a" * 150)[0] == "a" * 150


def test_timed_ids_tell_the_local_time_and_differ():
    ids = timed_ids("headless", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC))
    assert list(islice(ids, 3)) == [
        "headless-2026-03-04-05-06-07",
        "headless-2026-03-04-05-06-07-2",
        "headless-2026-03-04-05-06-07-3",
    ]
