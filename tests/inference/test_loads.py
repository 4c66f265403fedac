from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.inference.execution import Device
from facefusion.inference.loads import DeviceLoads
from facefusion.inference.session import ModelFile

SMALL, LARGE, NEW = (ModelFile(name, Path(name)) for name in ("small", "large", "new"))


def loads(*ids):
    return DeviceLoads([Device(number) for number in ids])


def test_runs_that_weigh_the_same_go_round_the_lowest_number_first():
    busy = loads(2, 0, 1)
    assert [busy.begin(SMALL).id for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    busy.end(SMALL, Device(1))
    busy.end(SMALL, Device(1))
    assert [busy.begin(SMALL).id for _ in range(2)] == [1, 1]


def test_a_run_weighs_what_runs_of_its_graph_have_taken():
    busy = loads(0, 1)
    busy.took(SMALL, 0.001)
    busy.took(LARGE, 0.008)
    busy.took(LARGE, 0.002)  # five times as much as a small one
    assert busy.begin(LARGE).id == 0
    assert [busy.begin(SMALL).id for _ in range(6)] == [1, 1, 1, 1, 1, 0]
    busy.end(LARGE, Device(0))
    assert [busy.begin(SMALL).id for _ in range(5)] == [0, 0, 0, 0, 0]


def test_a_graph_that_has_not_run_weighs_the_mean_of_those_that_have():
    busy = loads(0, 1)
    busy.took(SMALL, 0.001)
    busy.took(LARGE, 0.005)
    assert busy.begin(NEW).id == 0  # counts as 3 ms
    assert [busy.begin(SMALL).id for _ in range(4)] == [1, 1, 1, 0]


@pytest.mark.parametrize("count", [1, 3])
def test_the_same_runs_always_go_to_the_same_devices(count):
    def choices():
        busy = loads(*range(count))
        chosen = []
        for step in range(40):
            model = (SMALL, LARGE, NEW)[step * 7 % 3]
            device = busy.begin(model)
            busy.took(model, 0.001 * (1 + step % 4))
            if step % 3:
                busy.end(model, device)
            chosen.append(device.id)
        return chosen

    assert choices() == choices()
