from __future__ import annotations

import json

import pytest

from facefusion.doctor.graphics import Unit, find_units
from tests.doctor.machines import sysfs


def test_linux_lists_units_of_known_makers_and_tells_intels_own_graphics(tmp_path):
    root = sysfs(
        tmp_path,
        d00_02_0=("0x8086", "0x030000"),
        d00_1f_0=("0x8086", "0x060100"),
        d01_00_0=("0x10de", "0x030200"),
        d03_00_0=("0x1002", "0x038000"),
        d04_00_0=("0x8086", "0x030000"),
        d05_00_0=("0x19e5", "0x120000"),
        d06_00_0=("0x1234", "0x030000"),
    )
    assert find_units("Linux", root) == [
        Unit("Intel", is_integrated=True),
        Unit("NVIDIA"),
        Unit("AMD"),
        Unit("Intel"),
        Unit("Huawei"),
    ]


def test_a_container_without_a_bus_and_a_device_without_numbers_are_no_units(tmp_path):
    assert find_units("Linux", tmp_path) == []
    root = sysfs(tmp_path, d01_00_0=("", "0x030000"))
    assert find_units("Linux", root) == []


ARC = {"Name": "Intel(R) Arc(TM) A770 Graphics", "PNPDeviceID": "PCI\\VEN_8086&DEV_56A0&SUBSYS_1"}
UHD = {"Name": "Intel(R) UHD Graphics 770", "PNPDeviceID": "PCI\\VEN_8086&DEV_4680&SUBSYS_1"}
RADEON = {"Name": "AMD Radeon RX 7800 XT", "PNPDeviceID": "PCI\\ven_1002&DEV_747E"}
REMOTE = {"Name": "Microsoft Remote Display Adapter", "PNPDeviceID": "SWD\\REMOTEDISPLAYENUM"}


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ([UHD, RADEON, REMOTE], [Unit("Intel", UHD["Name"], is_integrated=True), Unit("AMD", RADEON["Name"])]),
        (ARC, [Unit("Intel", ARC["Name"])]),
        ({"Name": None, "PNPDeviceID": None}, []),
    ],
)
def test_windows_answers_with_one_unit_or_a_list(answer, found):
    assert find_units("Windows", ask=lambda: json.dumps(answer)) == found


def test_windows_without_an_answer_has_no_units():
    assert find_units("Windows", ask=lambda: "") == []
    assert find_units("Windows", ask=lambda: "Get-CimInstance : Access denied") == []
