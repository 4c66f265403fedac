"""What docker-compose.yml promises."""

from __future__ import annotations

import re

import yaml

from tests.deploy.files import MACHINES, OVERRIDE, compose, filled_in, own_services, text


def test_every_image_is_pinned_by_a_version():
    for name, it in compose()["services"].items():
        if "build" not in it:
            assert re.search(r":v?\d+\.\d+\.\d+", it["image"]), name


def test_nothing_runs_with_more_rights_than_it_needs():
    for name, it in compose()["services"].items():
        assert it["read_only"] is True, name
        assert it["cap_drop"] == ["ALL"], name
        assert it["security_opt"] == ["no-new-privileges:true"], name
        assert it["restart"] == ("no" if name == "cli" else "unless-stopped"), name
        assert "privileged" not in it, name


def test_each_worker_has_a_card_of_its_own():
    cards = {}
    for name, it in own_services().items():
        for device in it.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices", ()):
            assert device["driver"] == "nvidia"
            assert device["capabilities"] == ["gpu"]
            assert device["device_ids"] == [it["environment"]["NVIDIA_VISIBLE_DEVICES"]]
            cards[name] = device["device_ids"]
    assert cards == {"worker-0": ["0"], "worker-1": ["1"], "worker-2": ["2"]}


def test_so_many_cards_have_so_many_workers():
    for count in (1, 2, 3):
        started = {name for name, it in own_services().items() if f"gpus-{count}" in it.get("profiles", ())}
        assert started == {f"worker-{index}" for index in range(count)}


def test_only_gateway_and_proxy_are_reached_from_other_machines():
    published = {
        (name, port.rpartition(":")[0].rpartition(":")[0])
        for name, it in compose()["services"].items()
        for port in it.get("ports", ())
    }
    assert {name for name, address in published if address != "127.0.0.1"} == {"proxy"}
    assert {name for name, _ in published} == {"gateway", "proxy", "prometheus", "alertmanager", "grafana"}


def test_redis_and_workers_are_on_a_network_without_a_way_out():
    loaded = compose()
    assert loaded["networks"]["back"] == {"internal": True}
    assert loaded["services"]["redis"]["networks"] == ["back"]
    assert set(loaded["services"]["worker-0"]["networks"]) == {"back"}
    assert loaded["services"]["gateway"]["networks"] == ["front"], "who is outside does not get to Redis"


def test_a_worker_has_the_time_to_finish_its_segment():
    for name, it in own_services().items():
        if name.startswith("worker"):
            assert it["stop_grace_period"] == "120s"


def test_redis_keeps_all_and_knows_its_password():
    settings = text("deploy/redis/redis.conf")
    assert {"appendonly yes", "appendfsync everysec", "maxmemory-policy noeviction"} <= set(settings.splitlines())
    service = compose()["services"]["redis"]
    assert service["command"][-1].endswith('--requirepass "$$REDIS_PASSWORD"')
    (mebibytes,) = re.findall(r"^maxmemory (\d+)gb$", settings, re.MULTILINE)
    # Rewriting the append-only file forks, and what changes meanwhile is there twice.
    assert service["deploy"]["resources"]["limits"]["memory"] == f"{2 * int(mebibytes)}g"
    urls = {it["environment"]["REDIS_URL"] for it in own_services().values()}
    assert urls == {"redis://:some-redis_password@redis:6379/0"}


def test_a_worker_keeps_within_its_container():
    # The container's limit is the program's too, as long as the ini names no other.
    assert re.search(r"^system_memory_limit =$", text("deploy/facefusion.ini"), re.MULTILINE)
    for name, it in own_services().items():
        if name.startswith("worker"):
            limits, reserved = (it["deploy"]["resources"][part]["memory"] for part in ("limits", "reservations"))
            assert int(reserved.removesuffix("g")) < int(limits.removesuffix("g")) == 16, name


def test_temporary_files_may_lie_in_memory():
    loaded = yaml.safe_load(filled_in(OVERRIDE.read_text(encoding="utf-8")))
    workers = {name for name in own_services() if name.startswith("worker")}
    assert set(loaded["services"]) == workers
    for it in loaded["services"].values():
        (volume,) = it["volumes"]
        assert (volume["type"], volume["target"]) == ("tmpfs", "/app/temp")
        assert int(volume["tmpfs"]["size"]) == 32 << 30
        assert volume["tmpfs"]["mode"] == 0o1777


def test_the_address_that_the_gateway_speaks_for_is_believed_from_its_network_alone():
    loaded = compose()
    (front,) = loaded["networks"]["front"]["ipam"]["config"]
    assert loaded["services"]["api"]["environment"]["FACEFUSION_TRUSTED_PROXIES"] == front["subnet"]
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text("deploy/nginx/api.conf")


def test_workers_of_other_machines_get_to_the_queue():
    loaded = yaml.safe_load(filled_in(MACHINES.read_text(encoding="utf-8")))["services"]
    assert set(loaded) == {"redis"} | {name for name in own_services() if name.startswith("worker")}
    assert loaded["redis"]["ports"] == ["127.0.0.1:6379:6379"], "to other machines only where that is asked for"
    for name, it in loaded.items():
        # The network of the others has no way out.
        assert "front" in it["networks"], name
        assert "REDIS_URL" in it.get("environment", {}) or name == "redis"
