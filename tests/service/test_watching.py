"""What Prometheus, Alertmanager and Grafana are given loads as it is, and names what the code tells."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from facefusion.service.metrics import open_metrics
from facefusion.service.records import Priority
from tests.service.test_metrics import apart, samples

pytestmark = pytest.mark.service

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
RULES_TEST = ROOT / "tests/service/alerts.test.yml"
DASHBOARD = DEPLOY / "grafana/dashboards/facefusion.json"

FROM_PROMETHEUS = {"up"}
"""Series that Prometheus makes itself."""
FUNCTIONS = {
    "and",
    "by",
    "max",
    "max_over_time",
    "min",
    "or",
    "printf",
    "rate",
    "sum",
    "increase",
    "histogram_quantile",
}


def run(tool, *words):
    path = shutil.which(tool)
    assert path is not None, f"{tool} is not on the path (Debian: prometheus, prometheus-alertmanager)"
    done = subprocess.run([path, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def rules():
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    inner = [panel for row in panels for panel in (row, *row.get("panels", ()))]
    shown = [target["expr"] for panel in inner for target in panel.get("targets", ())]
    return {"alerts": [rule["expr"] for rule in rules()], "dashboard": shown}


def metrics_of(expression):
    """Names of series in an expression: words that are no label, function or string."""
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|on|without)\s*\([^)]*\)", " ", bare)
    return set(re.findall(r"[a-z_][a-z0-9_]*", bare)) - FUNCTIONS


class _Queue:
    def waiting(self):
        return dict.fromkeys(Priority, 1)

    def oldest_waiting(self):
        return None

    def workers(self):
        return 1

    def ended(self):
        return {}

    def retries(self):
        return 0


def _tell_all(folder):
    """Everything that the code tells, once."""
    from facefusion.observability.events import ModelLoaded
    from facefusion.service.gauges import MachineGauges, QueueGauges
    from facefusion.service.gpu_gauges import GpuGauges
    from tests.service.test_gauges import BUSY, Nvml
    from tests.service.test_metrics import JOB, REPORT

    metrics = open_metrics(folder)
    metrics.watch(MachineGauges({"temp": folder}))
    metrics.watch(GpuGauges(Nvml(BUSY)))
    metrics.watch(QueueGauges(_Queue()))
    metrics.emit(ModelLoaded("blaze", "cpu", 0.1))
    metrics.run_done(REPORT)
    metrics.run_done(REPORT)
    for _ in range(3):
        metrics.job_ended(JOB, "gpu0")
    metrics.request_answered("GET", "/v1/jobs", 200, 0.1)
    return metrics.exposition()[0]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    text = apart(_tell_all, tmp_path_factory.mktemp("metrics"))
    return {name.partition("{")[0] for name in samples(text)}


@pytest.mark.parametrize("where", ["alerts", "dashboard"])
def test_every_metric_that_is_asked_for_is_told(told, where):
    found = set().union(*map(metrics_of, expressions()[where]))
    assert found
    assert found - told - FROM_PROMETHEUS == set()


def test_what_is_told_is_shown_or_watched(told):
    """A metric that nobody looks at is a series for nothing."""
    asked = set().union(*(metrics_of(one) for some in expressions().values() for one in some))
    families = {re.sub(r"_(?:bucket|sum|count)$", "", name) for name in told}
    unseen = {family for family in families if not any(name.startswith(family) for name in asked)}
    assert unseen == {
        "facefusion_disk_free_mb",
        "facefusion_http_request_seconds",
        "facefusion_model_load_seconds_total",
    }


def test_prometheus_takes_its_configuration():
    status, said = run("promtool", "check", "config", DEPLOY / "prometheus.yml")
    assert status == 0, said
    assert f"{len(rules())} rules found" in said


def test_a_fault_in_a_rule_is_found(tmp_path):
    (tmp_path / "alerts.yml").write_text((DEPLOY / "alerts.yml").read_text().replace("> 90", "> > 90"))
    assert run("promtool", "check", "rules", tmp_path / "alerts.yml")[0] != 0


def test_every_rule_speaks_and_is_silent_when_it_should():
    status, said = run("promtool", "test", "rules", RULES_TEST)
    assert status == 0, said
    cases = [case for group in yaml.safe_load(RULES_TEST.read_text())["tests"] for case in group["alert_rule_test"]]
    names = {rule["alert"] for rule in rules()}
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == names
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == names


@pytest.mark.parametrize(
    ("before", "after"),
    [("> 90", "> 96"), ("for: 5m", "for: 15m"), ("> 85", ">= 85"), ("> 300", "> 299"), ("< 10", "<= 10")],
)
def test_a_rule_that_is_changed_fails_its_test(tmp_path, before, after):
    rules_text = (DEPLOY / "alerts.yml").read_text()
    assert before in rules_text
    (tmp_path / "alerts.yml").write_text(rules_text.replace(before, after, 1))
    (tmp_path / "test.yml").write_text(RULES_TEST.read_text().replace("../../deploy/alerts.yml", "alerts.yml"))
    assert run("promtool", "test", "rules", tmp_path / "test.yml")[0] != 0


def test_every_rule_says_what_to_do():
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description", "action"}, rule["alert"]


def test_alertmanager_takes_its_configuration():
    status, said = run("amtool", "check-config", DEPLOY / "alertmanager.yml")
    assert status == 0, said


def test_every_action_has_its_way():
    actions = {rule["labels"]["action"] for rule in rules()}
    assert actions == {"scale-out", "mail", "restart"}
    for action in actions:
        words = (
            "config",
            "routes",
            "test",
            f"--config.file={DEPLOY / 'alertmanager.yml'}",
            f"--verify.receivers={action}",
        )
        status, said = run("amtool", *words, f"action={action}", "severity=warning")
        assert status == 0, said
    wrong = ("config", "routes", "test", f"--config.file={DEPLOY / 'alertmanager.yml'}", "--verify.receivers=restart")
    assert run("amtool", *wrong, "action=mail")[0] != 0


def test_whoever_acts_is_told_by_mail_too():
    receivers = yaml.safe_load((DEPLOY / "alertmanager.yml").read_text())["receivers"]
    assert all(receiver["email_configs"][0]["to"] for receiver in receivers)
    hooked = {
        receiver["name"]: receiver["webhook_configs"][0]["url"] for receiver in receivers if receiver["name"] != "mail"
    }
    assert hooked == {
        "scale-out": "http://automation:9095/scale-out",
        "restart": "http://automation:9095/restart",
    }


def test_the_dashboard_is_what_its_script_gives():
    done = subprocess.run(
        [sys.executable, "scripts/make_dashboard.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_grafana_finds_dashboard_and_source():
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"][0]
    text = DASHBOARD.read_text()
    assert set(re.findall(r'"uid": "([^"]+)"', text)) == {source["uid"], "facefusion"}
    panels = [panel for panel in json.loads(text)["panels"] if panel["type"] != "row"]
    assert len({panel["title"] for panel in panels}) == len(panels) == 18
    numbers = [panel["id"] for panel in json.loads(text)["panels"]]
    assert numbers == list(range(1, len(numbers) + 1))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)


def test_every_metric_is_explained_and_none_that_is_not_there(told):
    table = re.findall(r"^\| `([a-z_]+)[`{]", (ROOT / "docs/monitoring.md").read_text(), re.MULTILINE)
    families = {re.sub(r"(?<=seconds)_(?:bucket|sum|count)$", "", name) for name in told}
    assert sorted(table) == sorted(families)
