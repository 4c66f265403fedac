"""What the manifests promise."""

from __future__ import annotations

import re

import pytest
import yaml

from scripts.make_configmaps import document
from tests.deploy.files import DEPLOY, ROOT, compose, manifest, manifests, pods, text


def test_all_is_in_one_namespace_that_keeps_pods_restricted():
    for it in manifests():
        if it["kind"] != "Namespace":
            assert it["metadata"]["namespace"] == "facefusion", it["metadata"]["name"]
    labels = manifest("Namespace", "facefusion")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("name", ["api", "gateway", "worker", "redis"])
def test_a_pod_has_no_rights(name):
    specification = dict(pods())[name]
    assert specification["automountServiceAccountToken"] is False
    # Kubernetes would make variables of the names of Services, and those may look like options.
    assert specification["enableServiceLinks"] is False
    assert specification["securityContext"]["runAsNonRoot"] is True
    assert specification["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in specification["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]


def test_selectors_find_their_pods():
    labels = {
        it["metadata"]["name"]: it["spec"]["template"]["metadata"]["labels"]
        for it in manifests()
        if it["kind"] in ("Deployment", "StatefulSet")
    }
    for it in manifests():
        selector = it["spec"].get("selector", {}) if "spec" in it else {}
        selector = selector.get("matchLabels", selector)
        selector = selector or it.get("spec", {}).get("podSelector", {}).get("matchLabels", {})
        if selector:
            assert any(selector.items() <= found.items() for found in labels.values()), it["metadata"]
    assert {name for name, found in labels.items() if found.get("facefusion/scrape") == "true"} == {"api", "worker"}


def test_every_volume_is_claimed_and_every_mount_has_a_volume():
    claims = {it["metadata"]["name"] for it in manifests() if it["kind"] == "PersistentVolumeClaim"}
    maps = {it["metadata"]["name"] for it in manifests() if it["kind"] == "ConfigMap"}
    for name, specification in pods():
        volumes = {volume["name"]: volume for volume in specification["volumes"]}
        for volume in volumes.values():
            if claim := volume.get("persistentVolumeClaim"):
                assert claim["claimName"] in claims
            if found := volume.get("configMap"):
                assert found["name"] in maps
        for container in specification["containers"]:
            mounts = {mount["name"] for mount in container["volumeMounts"]}
            assert mounts - {"data"} == set(volumes) - {"data"}, name


def test_the_config_maps_are_the_files():
    assert manifest("ConfigMap", "facefusion")["data"] == {"facefusion.ini": text("deploy/facefusion.ini")}
    assert manifest("ConfigMap", "redis")["data"] == {"redis.conf": text("deploy/redis/redis.conf")}
    assert text("deploy/kubernetes/configmap.yaml") == document(), "run scripts/make_configmaps.py"
    gateway = manifest("ConfigMap", "gateway")["data"]
    assert "server api.facefusion.svc.cluster.local:7860 resolve" in gateway.pop("upstream.conf")
    assert gateway == {
        name: text(f"deploy/nginx/{name}") for name in ("main.conf", "http.conf", "api.conf", "tls.conf")
    }


def test_secrets_come_by_reference_and_the_guide_makes_them():
    keys = {
        (entry["valueFrom"]["secretKeyRef"]["name"], entry["valueFrom"]["secretKeyRef"]["key"])
        for _, specification in pods()
        for container in specification["containers"]
        for entry in container.get("env", ())
        if "valueFrom" in entry and not entry["valueFrom"]["secretKeyRef"].get("optional")
    }
    assert keys == {("facefusion", "API_TOKEN"), ("facefusion", "REDIS_PASSWORD")}
    page = text("docs/production.md")
    assert "create secret generic facefusion" in page
    assert all(f"--from-literal={key}=" in page for _, key in keys)


def test_what_scales_is_there_and_scales_by_what_is_counted():
    counted = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "facefusion" / "service").glob("*.py"))
    adapter = yaml.safe_load(text("deploy/prometheus-adapter.yml"))["rules"]
    told = {rule["seriesQuery"].partition("{")[0] for part in ("external", "custom") for rule in adapter[part]}
    scaled = set()
    for it in manifests():
        if it["kind"] != "HorizontalPodAutoscaler":
            continue
        target = it["spec"]["scaleTargetRef"]
        assert manifest(target["kind"], target["name"])["apiVersion"] == target["apiVersion"]
        scaled |= {
            metric[part]["metric"]["name"]
            for metric in it["spec"]["metrics"]
            for part in ("external", "pods")
            if part in metric
        }
        # The autoscaler's number is the only one: each `kubectl apply` would set another one back.
        if target["name"] == "worker":
            assert "replicas" not in manifest("Deployment", "worker")["spec"]
    assert scaled == told == {"facefusion_queue_depth", "gpu_utilization"}
    assert all(f'"{name}"' in counted for name in scaled)


def test_a_worker_owns_one_card_and_has_the_time_to_finish_its_segment():
    specification = dict(pods())["worker"]
    (container,) = specification["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert specification["terminationGracePeriodSeconds"] == 120


def test_the_probes_ask_what_is_answered():
    (api,) = dict(pods())["api"]["containers"]
    asked = {kind: api[kind]["httpGet"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert asked["livenessProbe"] == {"path": "/health/live", "port": "http"}
    assert asked["readinessProbe"] == {"path": "/health/ready", "port": "http"}
    (worker,) = dict(pods())["worker"]["containers"]
    asked = {kind: probe["httpGet"] for kind, probe in worker.items() if kind.endswith("Probe")}
    assert asked == {
        "startupProbe": {"path": "/health/live", "port": "metrics"},
        "livenessProbe": {"path": "/health/live", "port": "metrics"},
        "readinessProbe": {"path": "/health/ready", "port": "metrics"},
    }


def test_nobody_but_the_private_network_gets_to_port_7860():
    policy = manifest("NetworkPolicy", "api")["spec"]
    (way,) = [it for it in policy["ingress"] if it["ports"] == [{"protocol": "TCP", "port": 7860}]]
    assert way["from"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "gateway"}}}]
    (way,) = manifest("NetworkPolicy", "gateway")["spec"]["ingress"]
    assert way["from"] == [{"ipBlock": {"cidr": "10.0.0.0/8"}}]
    assert manifest("Service", "gateway")["spec"]["loadBalancerSourceRanges"] == ["10.0.0.0/8"]
    nothing = manifest("NetworkPolicy", "nothing")["spec"]
    assert nothing == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_images_of_others_are_those_of_compose():
    known = {it["image"] for it in compose()["services"].values()}
    for _, specification in pods():
        for container in specification["containers"]:
            if not container["image"].startswith("facefusion:"):
                assert container["image"] in known


def test_prometheus_in_the_cluster_has_the_same_rules():
    here, there = (
        yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
        for name in ("prometheus.yml", "prometheus-kubernetes.yml")
    )
    assert there["rule_files"] == here["rule_files"]
    assert [it["job_name"] for it in there["scrape_configs"]] == [it["job_name"] for it in here["scrape_configs"]]
    labels = {rule["source_labels"][0] for rule in there["scrape_configs"][0]["relabel_configs"]}
    assert "__meta_kubernetes_pod_label_facefusion_scrape" in labels
    (kept,) = re.findall(r"regex: (metrics)$", text("deploy/prometheus-kubernetes.yml"), re.MULTILINE)
    assert kept in {port["name"] for _, it in pods() for c in it["containers"] for port in c["ports"]}
