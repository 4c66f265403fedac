"""Files of our own are told from those of others."""

from __future__ import annotations

import os
import re

import pytest

from facefusion.core.errors import UsageError
from facefusion.core.own_file import HEAD, OwnFile

KIND = OwnFile("a list of numbers", re.compile(rb"\d+,"), "Name another.")


def test_what_is_not_there_or_empty_or_of_its_kind_is_added_to(tmp_path):
    path = tmp_path / "numbers"
    for _ in range(2):
        KIND.check(path)
        with KIND.open_to_add(path) as file:
            file.write(b"12," * HEAD)
    assert path.read_bytes() == b"12," * HEAD * 2
    (tmp_path / "empty").touch()
    KIND.check(tmp_path / "empty")


def test_another_file_is_left_alone(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(b"text 12,")
    for refused in (KIND.check, KIND.open_to_add):
        with pytest.raises(UsageError) as caught:
            refused(path)
        assert str(caught.value) == (
            f"{path} is there already and is not a list of numbers. It stays as it is. Name another."
        )
    assert path.read_bytes() == b"text 12,"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_nobody_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for refused in (KIND.check, KIND.open_to_add):
        with pytest.raises(UsageError, match=r"pipe is no regular file\. Name another"):
            refused(tmp_path / "pipe")
