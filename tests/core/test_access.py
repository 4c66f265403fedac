"""What is said where the system refuses even to look at a file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from facefusion.core.access import looking
from facefusion.core.errors import InputError


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x" * 300, os.strerror(errno.ENAMETOOLONG)),
        ("x/" * 3000, os.strerror(errno.ENAMETOOLONG)),
        ("a\0b", "no file can have that name"),
        ("a\ud800b", "no file can have that name"),
    ],
)
def test_a_name_that_cannot_be_looked_at_is_an_error_of_the_kind_asked_for(name, reason):
    with pytest.raises(InputError) as refused, looking(InputError, "target a", "Name another."):
        Path(name).stat()
    assert str(refused.value) == f"target a: {reason}. Name another."


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError), looking(InputError, "target a", ""):
        1 / 0  # noqa: B018 - for its error
