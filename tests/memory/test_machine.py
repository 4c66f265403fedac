from __future__ import annotations

import platform

import psutil
import pytest

from facefusion.memory import machine as machine_module
from facefusion.memory.machine import read_machine

GIB = 1 << 30


@pytest.fixture(autouse=True)
def eight_cores_64_gib(monkeypatch):
    class Ram:
        total = 64 * GIB
        available = 48 * GIB

    monkeypatch.setattr(psutil, "virtual_memory", lambda: Ram)
    monkeypatch.setattr(machine_module, "_usable_processors", lambda: 8)
    monkeypatch.setattr(platform, "system", lambda: "Linux")


def tree(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_a_machine_without_control_groups_is_what_the_system_says(tmp_path):
    found = read_machine(tmp_path)
    assert (found.cores, found.memory, found.available, found.system) == (8.0, 64 * GIB, 48 * GIB, "Linux")


def test_version_2_limits_of_a_container(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
            "sys/fs/cgroup/memory.current": f"{3 * GIB}\n",
            "sys/fs/cgroup/memory.stat": f"anon 7\ninactive_file {GIB}\n",
        },
    )
    found = read_machine(root)
    assert found.cores == 1.5
    assert found.memory == 4 * GIB
    assert found.available == 2 * GIB


def test_a_container_that_is_slowed_down_above_a_limit_has_no_more_than_that(tmp_path):
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": f"{8 * GIB}\n"}
    for high, memory in (("max", 8 * GIB), (str(6 * GIB), 6 * GIB), (str(9 * GIB), 8 * GIB)):
        assert read_machine(tree(tmp_path, files | {"sys/fs/cgroup/memory.high": high})).memory == memory


def test_version_2_without_limits_leaves_the_machine_whole(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "max 100000\n",
            "sys/fs/cgroup/memory.max": "max\n",
            "sys/fs/cgroup/memory.current": "12345\n",
        },
    )
    found = read_machine(root)
    assert (found.cores, found.memory, found.available) == (8.0, 64 * GIB, 48 * GIB)


def test_the_tightest_group_on_the_way_up_counts(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/work.slice/job.scope\n",
            "sys/fs/cgroup/work.slice/cpu.max": "200000 100000\n",
            "sys/fs/cgroup/work.slice/memory.max": f"{8 * GIB}\n",
            "sys/fs/cgroup/work.slice/job.scope/cpu.max": "max 100000\n",
            "sys/fs/cgroup/work.slice/job.scope/memory.max": f"{16 * GIB}\n",
        },
    )
    found = read_machine(root)
    assert (found.cores, found.memory) == (2.0, 8 * GIB)


def test_version_1_limits_where_the_container_sees_only_its_own_folder(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/ab12\n4:memory:/docker/ab12\n1:name=systemd:/docker/ab12\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * GIB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
            "sys/fs/cgroup/memory/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB // 2}\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
    )
    found = read_machine(root)
    assert found.cores == 0.5
    assert found.memory == 2 * GIB
    assert found.available == 3 * GIB // 2


def test_version_1_without_limits(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:cpu:/\n4:memory:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    found = read_machine(root)
    assert (found.cores, found.memory) == (8.0, 64 * GIB)


def test_a_group_that_is_used_up_leaves_nothing_available(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": f"{GIB}\n",
            "sys/fs/cgroup/memory.current": f"{GIB + 4096}\n",
        },
    )
    assert read_machine(root).available == 0
