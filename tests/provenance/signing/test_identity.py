"""The local certificate: made once, by one of many, for its owner only, and anew in time."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from facefusion.core.errors import SetupError
from facefusion.provenance.manifests import Verdict
from facefusion.provenance.signing import identity as module
from facefusion.provenance.signing.certificate import read_certificate
from facefusion.provenance.signing.credential import local_identity
from facefusion.provenance.signing.identity import find_identity, make_identity
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
from tests.provenance.signing.test_sealer import make, store_of

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "deep" / "trust"


@pytest.fixture
def settings(folder):
    return SigningSettings(trust_path=folder)


def test_the_first_use_makes_it_and_says_so_once(tmp_path, folder, settings, heard, declaration):
    sealer = open_sealer(settings, heard)
    path = make(tmp_path, ".png")
    sealer.seal(path, path, declaration, None)
    assert sealer.signer == "an unknown signer"
    assert store_of(path).verdict is Verdict.UNKNOWN_SIGNER
    assert store_of(path, anchors=(folder / "identity-1" / "anchor.pem").read_text()).verdict is Verdict.TRUSTED
    again = open_sealer(settings, heard)
    assert again.credential.certificate.pem == sealer.credential.certificate.pem
    assert heard.notices == [
        f"Made a local certificate to sign results with, in {folder / 'identity-1'}: it says that they come from one "
        "installation, not from whom. See docs/trust.md."
    ]


def test_it_is_what_c2pa_asks_for_and_says_nothing_of_anybody(folder):
    certificate = read_certificate(make_identity(folder).certificate)
    own, authority = certificate.chain
    own.verify_directly_issued_by(authority)
    assert [name.rfc4514_string() for name in (own.subject, authority.subject)] == [
        "CN=Local signer of FaceFusion,O=FaceFusion",
        "CN=Local authority of FaceFusion,O=FaceFusion",
    ]
    assert {extension.oid._name for extension in own.extensions} == {
        "basicConstraints",
        "keyUsage",
        "extendedKeyUsage",
        "subjectKeyIdentifier",
        "authorityKeyIdentifier",
    }
    assert not own.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0
    assert own.not_valid_before_utc < datetime.now(UTC)
    assert timedelta(days=7290) < certificate.ends - datetime.now(UTC) < timedelta(days=7300)
    assert not own.subject.get_attributes_for_oid(NameOID.USER_ID)


@posix
def test_only_its_owner_can_read_the_key(folder):
    identity = make_identity(folder)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, identity.folder, identity.key)]
    assert modes == [0o700, 0o700, 0o600]
    assert sorted(path.name for path in folder.iterdir()) == ["identity-1"]
    assert sorted(path.name for path in identity.folder.iterdir()) == ["anchor.pem", "certificate.pem", "key.pem"]


def test_many_threads_get_the_same(folder, settings, heard):
    with ThreadPoolExecutor(8) as threads:
        sealers = list(threads.map(lambda _: open_sealer(settings, heard), range(8)))
    assert len({sealer.credential.certificate.pem for sealer in sealers}) == 1
    assert [path.name for path in folder.iterdir()] == ["identity-1"]


def test_many_processes_get_the_same(folder):
    words = [sys.executable, "facefusion.py", "trust", "init", "--trust-path", str(folder)]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(3)]
    told = {process.communicate(timeout=60)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(told) == 1
    assert [path.name for path in folder.iterdir()] == ["identity-1"]


def test_one_that_another_process_made_meanwhile_stays(folder):
    first = make_identity(folder)
    before = first.certificate.read_bytes()
    assert make_identity(folder) == first
    second = make_identity(folder, after=first)
    assert make_identity(folder, after=first) == second
    assert first.certificate.read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["identity-1", "identity-2"]


def test_one_that_runs_out_in_some_years_is_made_anew_and_kept(folder, settings, heard, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(module, "YEARS", 9)
        old = make_identity(folder)
    assert local_identity(settings) is None
    sealer = open_sealer(settings, heard)
    new = find_identity(folder)
    assert new is not None
    assert new.folder.name == "identity-2"
    assert sealer.credential.certificate.path == new.certificate
    assert read_certificate(old.certificate).pem != sealer.credential.certificate.pem
    assert len(heard.notices) == 1


def test_the_tenth_comes_after_the_ninth(folder):
    for number in (2, 9, 10):
        (folder / f"identity-{number}").mkdir(parents=True)
    identity = find_identity(folder)
    assert identity is not None
    assert identity.folder.name == "identity-10"


def test_a_folder_that_cannot_be_written_to(tmp_path, heard):
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(SetupError) as raised:
        open_sealer(SigningSettings(trust_path=blocked / "trust"), heard)
    assert str(raised.value) == (
        f"no local certificate can be made: {blocked / 'trust'} cannot be written: a part of the path is no folder. "
        "Name a folder that can be written to with --trust-path and make the certificate with 'facefusion.py trust "
        "init', name one of yours with --signing-certificate, or do without a signature: --marking metadata."
    )


def test_what_fails_on_the_way_leaves_nothing(folder, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "flush", full)
    with pytest.raises(SetupError, match="the disk is full"):
        make_identity(folder)
    assert list(folder.iterdir()) == []


def test_a_local_certificate_that_was_damaged_is_an_error_and_is_not_made_anew(folder, settings, heard):
    identity = make_identity(folder)
    identity.certificate.write_text("nothing")
    with pytest.raises(SetupError, match=r"certificate\.pem is no certificate in PEM form"):
        open_sealer(settings, heard)
    assert [path.name for path in folder.iterdir()] == ["identity-1"]


@pytest.mark.parametrize("name", ["certificate", "key"])
def test_what_can_be_done_about_a_local_certificate_that_is_not_whole_is_said(folder, settings, heard, name):
    identity = make_identity(folder)
    getattr(identity, name).unlink()
    with pytest.raises(SetupError) as raised:
        open_sealer(settings, heard)
    assert raised.value.remedy == (
        f"It is the local one: put the files of {identity.folder} back from a copy, or move that folder away; the "
        "next run makes another."
    )


@pytest.mark.skipif(os.name != "posix", reason="Windows tells it otherwise")
def test_a_local_key_that_others_can_read_is_told_of(folder, settings, heard):
    key = make_identity(folder).key
    key.chmod(0o640)
    open_sealer(settings, heard)
    assert heard.notices == [f"Other users of this machine can read the signing key {key}. Run: chmod 600 {key}"]
