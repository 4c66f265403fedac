"""Commands, options, variables, ports and paths that the deployment names are those of the program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from facefusion.cli.application import load_application
from facefusion.cli.command import find_command
from facefusion.cli.main import program_schema
from facefusion.config.ini import parse_ini
from facefusion.config.schema import Schema
from facefusion.config.sources import from_entries, merge
from facefusion.config.values import parse
from facefusion.service.environment import VARIABLES
from facefusion.service.metrics import WORKER_PORT
from facefusion.service.settings import ServiceSettings
from tests.deploy.files import (
    COMPOSE,
    COMPOSE_FILES,
    DEPLOY,
    MANIFESTS,
    PLACEHOLDER,
    ROOT,
    compose,
    made_folders,
    manifest,
    manifests,
    of,
    own_services,
    pods,
    text,
    variables_of_image,
)

OF_OTHERS = {
    "LANG": "the C library",
    "PATH": "the shell",
    "TMPDIR": "Python, for temporary files",
    "TZ": "the C library",
    "PYTHONUNBUFFERED": "Python",
    "PYTHONDONTWRITEBYTECODE": "Python",
    "NVIDIA_VISIBLE_DEVICES": "NVIDIA's container runtime",
    "NVIDIA_DRIVER_CAPABILITIES": "NVIDIA's container runtime",
    "REDIS_PASSWORD": "Kubernetes, which puts it into REDIS_URL",
}
"""Who reads the variables that the program does not."""
TOOL_FLAGS = {"--help", "--version"}
DOCUMENTS = ("README.md", "docs/production.md", "docker-compose.yml", "deploy/.env.example")
API_PORT = ServiceSettings().listen_port


@pytest.fixture(scope="module")
def schema() -> Schema:
    return program_schema(load_application())


def variables() -> Iterator[tuple[str, str, str]]:
    """Place, name and value of each variable that a container of ours gets."""
    for name, value in variables_of_image().items():
        yield "Dockerfile", name, value
    for service, it in own_services().items():
        for name, value in it.get("environment", {}).items():
            yield service, name, str(value)
    for pod, specification in pods():
        for container in specification["containers"]:
            if container["image"].startswith("facefusion:"):
                for entry in container["env"]:
                    yield pod, entry["name"], entry.get("value", "")


def commands() -> Iterator[tuple[str, list[str]]]:
    """Place and words of each start of the program."""
    for service, it in own_services().items():
        yield service, it["command"]
    for pod, specification in pods():
        for container in specification["containers"]:
            if container["image"].startswith("facefusion:"):
                yield pod, container["args"]


def spoken() -> Iterator[tuple[str, list[str]]]:
    """Document and words of each command line of the program in text."""
    for name in DOCUMENTS:
        for match in re.finditer(r"(facefusion\.py|\bcli|\bfacefusion(?::cpu)?) ([a-z-][^`\n|#]*)", text(name)):
            words = match[2].split()
            # Elsewhere the name is a word of a sentence, or of another command.
            if match[1] == "facefusion.py" or find_command(words[0]) is not None:
                yield name, words


def test_every_variable_is_read_by_somebody(schema):
    known = {spec.variable for spec in schema} | {name + end for name in VARIABLES for end in ("", "_FILE")}
    assert {(place, name) for place, name, _ in variables() if name not in known | set(OF_OTHERS)} == set()


def test_every_value_of_an_option_is_allowed(schema):
    given = {name: value for _, name, value in variables() if name.startswith("FACEFUSION_")}
    assert {"FACEFUSION_LISTEN_HOST", "FACEFUSION_STORAGE_PATH"} <= set(given)
    merged = merge(schema, {}, {**given, "FACEFUSION_CONFIG_PATH": str(DEPLOY / "facefusion.ini")})
    assert merged.warnings == ()


def test_every_key_of_the_ini_is_one_and_every_value_allowed(schema):
    values, warnings = from_entries(schema, parse_ini(text("deploy/facefusion.ini"), "ini"))
    assert warnings == ()
    assert {"execution_providers", "metrics_address"} <= set(values)
    for key, raw in values.items():
        parse(schema[key], raw)


def test_every_command_is_one_and_takes_its_options(schema):
    started = list(commands())
    assert {words[0] for _, words in started} >= {"serve", "worker"}
    for place, words in [*started, *spoken()]:
        if words[0] in TOOL_FLAGS:
            continue
        command = find_command(words[0])
        assert command is not None, (place, words)
        flags = {spec.flag for spec in schema.of_command(command.name)} | TOOL_FLAGS
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in flags, (place, words)


def test_every_option_that_the_guide_names_is_one(schema):
    page = text("docs/production.md")
    keys = {spec.name for spec in schema}
    for name in re.findall(r"`(FACEFUSION_\w+)`", page):
        assert name in {spec.variable for spec in schema}, name
    for key in re.findall(r"`((?!test_)[a-z]+_[a-z_]+)`", page):
        assert key in keys or key in _metric_names() or key in OTHER_WORDS, key


OTHER_WORDS = {"client_max_body_size"}
"""Words of other programs' settings that the guide names."""


def _metric_names() -> set[str]:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "facefusion" / "service").glob("*.py"))
    plain = set(re.findall(r'"([a-z_]{6,})"', source))
    return plain | {f"{name}_total" for name in plain}


def test_all_agree_on_the_ports():
    assert of("EXPOSE") == [f"{API_PORT} {WORKER_PORT}"]
    services = compose()["services"]
    assert services["gateway"]["ports"] == [f"127.0.0.1:{API_PORT}:{API_PORT}"]
    assert services["api"]["expose"] == [str(API_PORT), str(WORKER_PORT)]
    assert f"server api:{API_PORT} resolve" in text("deploy/nginx/upstream.conf")
    assert f"listen {API_PORT};" in text("deploy/nginx/gateway.conf")
    (published,) = services["proxy"]["ports"]
    assert f"listen {published.rpartition(':')[2]} ssl;" in text("deploy/nginx/tls.conf")
    ports = {
        (pod, port["name"]): port["containerPort"]
        for pod, specification in pods()
        for container in specification["containers"]
        for port in container["ports"]
    }
    assert ports == {
        ("gateway", "http"): API_PORT,
        ("gateway", "https"): 8443,
        ("api", "http"): API_PORT,
        ("api", "metrics"): WORKER_PORT,
        ("worker", "metrics"): WORKER_PORT,
        ("redis", "redis"): 6379,
    }
    assert manifest("Service", "api")["spec"]["ports"][0]["port"] == API_PORT
    assert f"metrics_address = 0.0.0.0:{WORKER_PORT}" in text("deploy/facefusion.ini")
    assert f"port: {WORKER_PORT}" in text("deploy/prometheus.yml")
    page = text("docs/production.md")
    assert str(API_PORT) in page
    assert str(WORKER_PORT) in page
    for rule in re.findall(r"ufw allow .*", page):
        assert re.search(rf"\b({API_PORT}|443|22)\b", rule), rule


def test_prometheus_looks_for_names_that_are_there():
    names = {
        name for found in re.findall(r"names: \[(.*)\]", text("deploy/prometheus.yml")) for name in found.split(", ")
    }
    aliases = {
        alias
        for it in compose()["services"].values()
        if isinstance(it.get("networks"), Mapping)
        for network in it["networks"].values()
        for alias in network["aliases"]
    }
    assert names == {"api", *aliases}


def container_paths() -> Iterator[tuple[str, str]]:
    """Place and path of each mount in a container of ours."""
    for service, it in own_services().items():
        for volume in it["volumes"]:
            yield service, volume.split(":")[1]
    for pod, specification in pods():
        for container in specification["containers"]:
            if container["image"].startswith("facefusion:"):
                for mount in container["volumeMounts"]:
                    yield pod, mount["mountPath"]


def test_every_mount_has_its_place_in_the_image():
    there = made_folders() | {"/app/facefusion.ini", "/tmp"}
    assert {(place, path) for place, path in container_paths() if path not in there} == set()


def test_every_folder_that_the_settings_name_is_mounted(schema):
    values, _ = from_entries(schema, parse_ini(text("deploy/facefusion.ini"), "ini"))
    named = {str(Path(*raw.words)) for key, raw in values.items() if key in ("temp_path", "models_path")}
    named |= {str(Path(*values["audit_path"].words).parent), variables_of_image()["FACEFUSION_STORAGE_PATH"]}
    assert variables_of_image()["TMPDIR"] in named
    for place in ("worker-0", "worker-cpu", "worker"):
        mounted = {path for found, path in container_paths() if found == place}
        assert named <= mounted, place
        # Engines and prepared graphs, which would be made anew with each start.
        assert "/app/.caches" in mounted, place


def test_every_file_that_is_mounted_is_there():
    own_by_operator = ("./deploy/tls/", "./input", "./output")
    sources = [volume.split(":")[0] for it in compose()["services"].values() for volume in it.get("volumes", ())]
    files = [source for source in sources if source.startswith(".") and not source.startswith(own_by_operator)]
    assert len(files) > 10
    assert [source for source in files if not (ROOT / source).exists()] == []


def test_the_example_names_all_that_compose_asks_for_and_nothing_else():
    asked = {match["name"] for name in COMPOSE_FILES for match in PLACEHOLDER.finditer(text(name))}
    offered = set(re.findall(r"^#?([A-Z][A-Z_0-9]+)=", text("deploy/.env.example"), re.MULTILINE))
    assert offered - asked == {"COMPOSE_PROFILES", "COMPOSE_FILE"}
    assert asked - offered == set()


def test_the_example_s_values_are_compose_s_own():
    offered = dict(re.findall(r"^#?([A-Z][A-Z_0-9]+)=(.*)$", text("deploy/.env.example"), re.MULTILINE))
    defaults = {
        m["name"]: m["rest"] for name in COMPOSE_FILES for m in PLACEHOLDER.finditer(text(name)) if m["kind"] == "-"
    }
    same = {name for name in defaults if offered[name] == defaults[name]}
    # Commented out, since a folder takes the place of a volume there.
    assert set(defaults) - same == {"TEMP", "STORAGE", "MODELS", "LOGS"}


def test_secrets_are_nowhere_in_the_files():
    for path in [COMPOSE, *MANIFESTS, *DEPLOY.rglob("*.y*ml")]:
        for name in ("API_TOKEN", "REDIS_PASSWORD", "GRAFANA_PASSWORD", "ADMIN_PASSWORD"):
            for line in text(path).splitlines():
                if re.match(rf"\s*(?:GF_SECURITY_)?{name}:", line):
                    assert "${" in line, (path, line)
    assert all(re.search(rf"^{name}=$", text("deploy/.env.example"), re.M) for name in ("API_TOKEN", "REDIS_PASSWORD"))
    assert [it["kind"] for it in manifests() if it["kind"] == "Secret"] == []


def test_the_gateway_takes_what_the_api_takes():
    (limit,) = re.findall(r"client_max_body_size (\d+)m;", text("deploy/nginx/api.conf"))
    (upload,) = re.findall(r"^upload_limit = (\d+)$", text("deploy/facefusion.ini"), re.MULTILINE)
    assert 1.0 < int(limit) * (1 << 20) / (int(upload) * 1e9) < 1.1


def test_the_worked_example_is_what_its_formula_gives():
    page = text("docs/production.md")
    frames = 10_000 * 15 * 30 / 86_400
    assert f"{frames:.0f} in a second, {2 * frames:.0f} at the peak" in page
    for rate, workers in re.findall(r"104 ÷ \(([\d.]+) × 0\.7\) \+ 1 = [\d.]+: \*\*(\d+) workers\*\*", page):
        assert math.ceil(2 * frames / (float(rate) * 0.7) + 1) == int(workers), rate
    # Roughly as docs/performance.md has it, for the same size and the same model; that is measured anew now and then.
    (measured,) = re.findall(r"1080p, mesh swapper, frames/s \| \S+ \S+ \| ([\d.]+) ", text("docs/performance.md"))
    (stated,) = re.findall(r"about (\d+) frames/s \(\[measured\]", page)
    assert float(measured) == pytest.approx(float(stated), rel=0.15)
