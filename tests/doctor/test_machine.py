from __future__ import annotations

import pytest

from facefusion.doctor.finding import Level
from facefusion.doctor.machine import Hardware, machine_findings
from tests.doctor.machines import GIB, machine

WHOLE = Hardware(16, 64 * GIB)


def told(seen, limit=0.0, hardware=WHOLE):
    return [(one.level, one.text) for one in machine_findings(seen, hardware, limit)]


def test_a_machine_that_is_all_ours_is_one_line():
    ((level, text),) = told(machine(16, 64, 48))
    assert level is Level.OK
    assert text.endswith("16 processors, 69 GB of memory, 52 GB free")


def test_what_a_container_leaves_is_said():
    assert told(machine(1.5, 8, 6))[1:] == [
        (Level.NOTE, "a container or an affinity leaves 1.5 of 16 processors"),
        (Level.NOTE, "a container leaves 8.6 GB of 69 GB of memory"),
    ]


def test_little_free_memory_is_a_warning():
    assert told(machine(16, 64, 1))[1:] == [(Level.WARNING, "only 1.1 GB of memory are free")]


@pytest.mark.parametrize(
    ("limit", "level", "text"),
    [
        (100, Level.WARNING, "system_memory_limit = 100 is more than the 69 GB there are"),
        (8, Level.NOTE, "system_memory_limit = 8 keeps runs within 8.6 GB"),
    ],
)
def test_a_limit_is_held_against_what_there_is(limit, level, text):
    assert told(machine(16, 64, 48), limit)[1:] == [(level, text)]
