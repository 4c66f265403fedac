from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import UsageError
from facefusion.jobs.ids import LONGEST, check_id, file_stems, timed_ids


@pytest.mark.parametrize(
    "job_id",
    ["demo", "my job!", "a_b.c", "film-2", "Übung", "ジョブ", "-x", "a" * LONGEST, "console", "com10", "#1 (new)"],
)
def test_ids_that_name_a_file_on_every_system(job_id):
    assert check_id(job_id) == job_id
    assert file_stems(job_id)[0] == job_id


@pytest.mark.parametrize(
    ("job_id", "reason"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        (" a", "begins or ends with a space or a dot"),
        ("a ", "begins or ends with a space or a dot"),
        (".a", "begins or ends with a space or a dot"),
        ("..", "begins or ends with a space or a dot"),
        ("a.", "begins or ends with a space or a dot"),
        ("a/b", "holds what a file's name cannot hold everywhere: '/'"),
        ("../a", "begins or ends with a space or a dot"),
        ("a\\b", "holds what a file's name cannot hold everywhere: '\\\\'"),
        ("C:a?", "holds what a file's name cannot hold everywhere: ':' '?'"),
        ("a\nb", "holds what a file's name cannot hold everywhere: '\\n'"),
        ("a\0", "holds what a file's name cannot hold everywhere: '\\x00'"),
        ("a\udce9", "holds what a file's name cannot hold everywhere: '\\udce9'"),
        ("NUL", "is the name of a device on Windows"),
        ("com1.mp4", "is the name of a device on Windows"),
        ("a" * (LONGEST + 1), "is longer than 100 bytes"),
        ("é" * 51, "is longer than 100 bytes"),
    ],
)
def test_ids_that_do_not_are_refused_with_the_reason(job_id, reason):
    with pytest.raises(UsageError) as caught:
        check_id(job_id)
    assert str(caught.value) == f"the job id {job_id!r} {reason}. Use letters, digits, hyphens and the like."


@given(st.text(max_size=120))
def test_no_id_leads_out_of_its_folder(tmp_path_factory, job_id):
    folder = tmp_path_factory.getbasetemp()
    for stem in file_stems(job_id):
        assert (folder / f"{stem}.json").resolve().parent == folder.resolve()
        assert len(f"{stem}.json".encode()) <= LONGEST + 5


def test_a_file_of_facefusion_has_the_hash_of_an_id_that_is_more_than_letters_digits_and_hyphens():
    assert file_stems("demo-1") == ("demo-1",)
    assert file_stems("my job!") == ("my job!", "a5a8ee3152c4dd86a0f6e784a392eeff0ba4f0ab")
    assert file_stems("a/b") == ("3ec69c85a4ff96830024afeef2d4e512181c8f7b",)


def test_timed_ids_tell_the_local_time_and_differ():
    ids = timed_ids("headless", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC))
    assert list(islice(ids, 3)) == [
        "headless-2026-03-04-05-06-07",
        "headless-2026-03-04-05-06-07-2",
        "headless-2026-03-04-05-06-07-3",
    ]
