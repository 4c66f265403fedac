"""What the program is made of: licences, hashes, the bill of materials and the look for vulnerabilities."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from facefusion.catalogue.catalogue import Catalogue
from scripts import audit_packages, make_licences
from scripts.supply.bill import bill, faults
from scripts.supply.hashes import MACHINES, PYTHON, hashed_lists, text_of
from scripts.supply.licences import Declared, is_free, model_faults, package_faults, page, read_declared, stated
from scripts.supply.pins import CARD, PLAIN, ROOT, RUNTIME, SERVICE, Pin, pins


def pin(name: str, version: str = "1", marker: str = "") -> Pin:
    return Pin(name, version, f"{name}=={version}{f' ; {marker}' if marker else ''}")


# licences


def test_all_licences_are_in_order_and_the_page_is_as_it_would_be_written(capsys):
    assert make_licences.main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("expression", "free"),
    [
        ("MIT", True),
        ("MIT OR LicenseRef-Own", True),
        ("BSD-3-Clause AND Zlib", True),
        ("MIT AND LicenseRef-Own", False),
        ("GPL-3.0-only", False),
        ("LicenseRef-Own AND MIT OR Apache-2.0", True),
        ("", False),
    ],
)
def test_a_licence_is_free_if_one_choice_is_free_in_all_its_parts(expression, free):
    assert is_free(expression) is free


@pytest.mark.parametrize(
    ("words", "expression"),
    [("mit", "MIT"), ("bsd-3-clause", "BSD-3-Clause"), ("BSD", None), ("3-Clause BSD License", None), (None, None)],
)
def test_only_spdx_expressions_count_as_a_statement(words, expression):
    assert stated(words) == expression


@pytest.mark.parametrize(
    ("licences", "remarks", "says", "told"),
    [
        ({"a": "MIT"}, {}, "MIT", []),
        ({"a": "MIT"}, {}, None, []),
        ({}, {}, "MIT", ["a has no line in licences.toml: look its licence up and write it there"]),
        ({"a": "MIT"}, {}, "Apache-2.0", ["a states Apache-2.0, not MIT as licences.toml says: look what changed"]),
        ({"a": "MPL-2.0"}, {}, None, ["a is under MPL-2.0, which needs a line among the remarks of licences.toml"]),
        ({"a": "MPL-2.0"}, {"a": "unchanged"}, None, []),
        (
            {"a": "MIT", "b": "MIT"}, {"c": "gone"}, None,
            [f"{name} has a line in licences.toml, but nothing pins it any more" for name in "bc"],
        ),
    ],
)  # fmt: skip
def test_what_is_not_in_order_with_a_package_is_told(licences, remarks, says, told):
    assert list(package_faults(Declared(licences, remarks), [pin("a")], lambda _: says)) == told


def test_a_package_speaks_for_its_own_version_only():
    assert make_licences.licence_of(pin("pytest", version("pytest"))) == "MIT"
    assert make_licences.licence_of(pin("pytest", "0.1")) is None
    assert make_licences.licence_of(pin("no-such-package")) is None


def test_a_model_in_the_image_has_to_be_free_and_another_to_tell_its_terms():
    cards = list(Catalogue.load().cards())
    assert list(model_faults(cards)) == []
    (yunet,) = (card for card in cards if card.name == "yunet" and card.embedded)
    (codeformer,) = (card for card in cards if card.name == "codeformer")
    assert list(
        model_faults([replace(yunet, licence="unknown", terms="may be used"), replace(codeformer, terms="")])
    ) == [
        "the model yunet is in the image, but under unknown, which does not let it be passed on",
        "the model codeformer is under S-Lab-1.0: its entry in the catalogue has to tell its terms",
    ]


def test_the_page_names_every_package_and_every_model_that_has_a_file():
    cards = tuple(Catalogue.load().cards())
    text = page(read_declared(), cards)
    for name in RUNTIME:
        for each in pins(name):
            assert f"| {each.name} | {each.version} | " in text
    for card in cards:
        assert (card.graph is None) or f"| {card.name} | {card.kind} | " in text
    assert "| unknown |" not in text.partition("## Models")[0]


# hashes of the image


def entries(text: str) -> dict[str, tuple[str, set[str]]]:
    """Line and hashes of each package of a list, by its name."""
    joined = text.replace("\\\n", " ")
    found = {}
    for line in joined.splitlines():
        if line.strip() and not line.startswith("#"):
            words, *hashes = line.split("--hash=sha256:")
            found[words.partition("==")[0]] = words.strip(), {digest.strip() for digest in hashes}
    return found


@pytest.mark.parametrize("one", hashed_lists(), ids=lambda one: one.path.name)
def test_a_list_of_the_image_pins_what_the_lists_pin_each_with_a_hash(one):
    found = entries((ROOT / one.path).read_text(encoding="utf-8"))
    assert {name: line for name, (line, _) in found.items()} == {each.name: each.line for each in one.packages}
    for _, hashes in found.values():
        assert hashes
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in hashes)


def test_the_image_gets_all_that_the_program_and_its_service_need_on_its_machines():
    everything, cpu = hashed_lists()
    needed = {
        each.name for name in (PLAIN, SERVICE) for each in pins(name) if "win32" not in each.line.partition(";")[2]
    }
    assert needed <= {each.name for each in everything.packages}
    assert [
        each.name for each in everything.packages if not any(each.applies("linux", m, PYTHON) for m in MACHINES)
    ] == []
    assert [each.line for each in cpu.packages] == [
        f"onnxruntime=={next(each.version for each in pins(PLAIN) if each.name == 'onnxruntime')}"
    ]


def test_no_list_names_a_place_that_packages_come_from():
    for one in hashed_lists():
        assert re.search(r"://|index|find-links|file:", (ROOT / one.path).read_text(encoding="utf-8")) is None


def test_a_list_is_written_as_pip_takes_it():
    one = replace(hashed_lists()[1], packages=(pin("b", marker='sys_platform == "linux"'), pin("a")))
    text = text_of(one, {"a": {"22", "11"}, "b": {"33"}})
    assert text.splitlines()[2:] == [
        "a==1 \\", "    --hash=sha256:11 \\", "    --hash=sha256:22",
        'b==1 ; sys_platform == "linux" \\', "    --hash=sha256:33",
    ]  # fmt: skip


def test_the_python_of_the_lists_is_the_images():
    from tests.deploy.test_image import PYTHON_OF_UBUNTU, base

    assert ".".join(map(str, PYTHON_OF_UBUNTU[base()[2]])) == PYTHON


# the bill of materials


@pytest.fixture(scope="module")
def document():
    return bill([*pins(PLAIN), *pins(SERVICE)], Catalogue.load().cards(), read_declared())


def test_the_bill_of_materials_is_cyclonedx(document):
    assert faults(document) == ""
    assert document["specVersion"] == "1.6"


def test_what_is_no_cyclonedx_is_found_out(document):
    components = [*document["components"], {"type": "nonsense", "name": "a"}]
    assert "nonsense" in faults({**document, "components": components})


def test_the_bill_names_every_package_with_its_version_and_licence(document):
    listed = {
        component["name"]: (component["version"], component["licenses"][0]["expression"])
        for component in document["components"]
        if component["type"] == "library"
    }
    declared = read_declared().licences
    assert listed == {each.name: (each.version, declared[each.key]) for name in (PLAIN, SERVICE) for each in pins(name)}


def test_the_bill_names_every_model_with_its_licence_and_the_hashes_that_are_known(document):
    listed = {
        component["bom-ref"]: component
        for component in document["components"]
        if component["type"] == "machine-learning-model"
    }
    cards = [card for card in Catalogue.load().cards() if card.graph is not None]
    assert listed.keys() == {f"model/{card.kind}/{card.name}" for card in cards}
    for card in cards:
        assert card.graph is not None
        component = listed[f"model/{card.kind}/{card.name}"]
        (licence,) = component["licenses"]
        assert card.licence in (licence.get("expression"), licence.get("license", {}).get("name"))
        hashes = {part["hashes"][0]["content"] for part in component.get("components", ())}
        assert hashes == {part.sha256 for part in card.graph.parts}


def test_the_bill_is_the_same_each_time(document):
    again = bill([*pins(PLAIN), *pins(SERVICE)], Catalogue.load().cards(), read_declared())
    assert json.dumps(again) == json.dumps(document)


# vulnerabilities


def answer(*rows: dict[str, object]) -> str:
    return json.dumps({"dependencies": list(rows), "fixes": []})


AWAY = "SKIPPED: no index of advisories can be reached, so no package was looked up"
CLEAN: dict[str, object] = {"name": "a", "version": "1", "vulns": []}
VULNERABLE: dict[str, object] = {
    "name": "b",
    "version": "2",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}, {"id": "PYSEC-2"}],
}
STRANGER: dict[str, object] = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("code", "output", "words", "expected"),
    [
        (0, answer(CLEAN), "", (0, "1 packages looked up, 0 advisories")),
        (0, answer(CLEAN, STRANGER), "", (0, "1 packages looked up, 0 advisories; not known there: c")),
        (
            1, answer(CLEAN, VULNERABLE), "",
            (1, "b 2: PYSEC-1, mended in 3\nb 2: PYSEC-2\n2 packages looked up, 2 advisories"),
        ),
        (0, answer(STRANGER), "", (0, "SKIPPED: the index of advisories that was asked knows none of the 1 packages")),
        (
            1, "", "Traceback\nConnectionError: no route\n",
            (0, f"{AWAY} (ConnectionError: no route)"),
        ),
        (2, "", "", (0, f"{AWAY} (exit code 2)")),
    ],
)  # fmt: skip
def test_findings_fail_and_an_index_that_is_away_is_said(code, output, words, expected):
    assert audit_packages.verdict(code, output, words) == expected


def test_where_nothing_listens_the_look_for_vulnerabilities_says_so(monkeypatch, capsys):
    monkeypatch.setattr(audit_packages, "pins", lambda _: [pin("a")])
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    assert audit_packages.main() == 0
    assert capsys.readouterr().out.startswith("advisories: SKIPPED: no index of advisories can be reached")


def test_the_card_is_in_the_page_but_not_in_the_bill(document):
    names = {component["name"] for component in document["components"]}
    assert {each.name for each in pins(CARD) if each.name.startswith("nvidia")}.isdisjoint(names)
    assert Path(ROOT / "docs/licences.md").read_text(encoding="utf-8").count("LicenseRef-NVIDIA") == 8
