"""Who signs results, as the command tells it."""

from __future__ import annotations

import re

import pytest

from facefusion.cli.application import load_application
from facefusion.cli.main import main
from tests.provenance.signing.certificates import Root, write_pair

MADE = "Made a local certificate. Keep its key to yourself.\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where no ini file of ours says anything."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "trust"


def told(output):
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in output.splitlines())


def run(*words):
    return main(("trust", *map(str, words)), load_application())


def test_nobody_signs_at_first(capsys, folder):
    assert run("show", "--trust-path", folder) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"There is no local certificate in {folder} yet. The first run makes one, or: facefusion.py trust init\n"
    )
    assert not folder.exists()


def test_a_local_certificate_is_made_once(capsys, folder):
    assert run("init", "--trust-path", folder) == 0
    first = capsys.readouterr()
    assert first.err == MADE
    made = told(first.out)
    assert list(made) == [
        "signed by",
        "name",
        "certificate",
        "fingerprint",
        "valid until",
        "algorithm",
        "time stamp",
        "anchor",
    ]
    assert (made["signed by"], made["name"], made["time stamp"], made["algorithm"]) == (
        "an unknown signer",
        "Local signer of FaceFusion, FaceFusion",
        "none",
        "es256",
    )
    assert made["certificate"] == str(folder / "identity-1" / "certificate.pem")
    assert re.fullmatch(r"SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}", made["fingerprint"])
    assert run("init", "--trust-path", folder) == 0
    second = capsys.readouterr()
    assert second.out == first.out
    assert second.err.startswith("There is a local certificate already. To have another, move its folder away")
    assert run("show", "--trust-path", folder) == 0
    assert capsys.readouterr().out == first.out


def test_one_of_the_users_is_tried_before_it_is_told(capsys, tmp_path, folder):
    certificate, key = write_pair(tmp_path, Root())
    named = ("--signing-certificate", certificate, "--signing-key", key)
    assert run("show", *named, "--trust-path", folder) == 0
    shown = told(capsys.readouterr().out)
    assert (shown["signed by"], shown["certificate"]) == ("Signer of tests, Example", str(certificate))
    assert "anchor" not in shown
    assert not folder.exists()
    key.write_text("nothing")
    assert run("show", *named) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{key} is no private key in PEM form" in captured.err


def test_a_local_one_that_is_not_used_is_said_not_to_be(capsys, tmp_path, folder):
    certificate, key = write_pair(tmp_path)
    words = ("--signing-certificate", certificate, "--signing-key", key, "--trust-path", folder)
    assert run("init", *words) == 0
    assert capsys.readouterr().err == MADE + "It is not used: --signing-certificate names another.\n"


def test_what_to_do_has_to_be_said(capsys):
    assert run() == 2
    assert "ACTION" in capsys.readouterr().err
    assert run("renew") == 2


def test_the_environment_says_it_too(capsys, folder, monkeypatch):
    monkeypatch.setenv("FACEFUSION_TRUST_PATH", str(folder))
    assert run("init") == 0
    assert (folder / "identity-1" / "key.pem").is_file()
