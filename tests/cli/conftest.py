"""What the tests of commands share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from facefusion.observability.records import PACKAGE


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command sets logging up for the whole process; other tests listen to it too."""
    root, package = logging.getLogger(), logging.getLogger(PACKAGE)
    handlers, level = root.handlers[:], package.level
    yield
    root.handlers[:] = handlers
    package.setLevel(level)
