"""Nothing is asked of the network, but a time-stamp authority whose address was given."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace

import c2pa
import pytest

from facefusion.core.errors import OptionError, SetupError, SigningError
from facefusion.provenance.manifests import Verdict
from facefusion.provenance.rules import library_rules
from facefusion.provenance.signing.building import Building
from facefusion.provenance.signing.definition import definition
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
from tests.provenance.signing.authority import listening, nothing, stamping
from tests.provenance.signing.certificates import Root, write_pair
from tests.provenance.signing.test_sealer import make, store_of

# Signs, keeps a parent and verifies, in a process that has no network at all.
ALONE = """
import sys
from pathlib import Path
from facefusion.observability.events import Fanout
from facefusion.provenance.manifests import read_store
from facefusion.provenance.records import Declaration, Deed, SourceType
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
path, parent, folder = map(Path, sys.argv[1:])
sealer = open_sealer(SigningSettings(trust_path=folder), Fanout())
sealer.seal(path, path, Declaration((Deed("face_swapper", SourceType.COMPOSITE),), "FaceFusion 9.8"), parent)
print(read_store(path).verdict.value)
"""


@pytest.fixture
def canary():
    with listening(nothing) as (address, asked):
        yield address, asked


def pointing(path, sealer, declaration, address):
    """A picture whose manifest lies at an address."""
    with Building(sealer.credential, None, definition(declaration, has_parent=False)) as building:
        building._builder.set_no_embed()
        building._builder.set_remote_url(address)
        with path.open("rb") as source:
            signed = io.BytesIO()
            building.inside("image/jpeg", source, signed)
    path.write_bytes(signed.getvalue())
    return path


def test_a_manifest_that_lies_elsewhere_is_not_fetched(tmp_path, sealer, declaration, canary):
    address, asked = canary
    parent = pointing(make(tmp_path, ".jpg", seed=1), sealer, declaration, f"{address}/manifest.c2pa")
    with parent.open("rb") as file, pytest.raises(c2pa.C2paError, match="could not fetch"):
        c2pa.Reader("image/jpeg", file)
    assert asked == [("GET", "/manifest.c2pa")]  # so it would be, by the library's own rules
    path = make(tmp_path, ".png")
    sealer.seal(path, path, declaration, parent)
    assert store_of(path).verdict is Verdict.UNKNOWN_SIGNER
    assert store_of(parent).verdict is Verdict.ELSEWHERE
    assert len(asked) == 1


def test_nobody_is_asked_whether_a_certificate_was_revoked(tmp_path, heard, declaration, canary):
    address, asked = canary
    folder = tmp_path / "signer"
    folder.mkdir()
    root = Root()
    certificate, key = write_pair(folder, root, ocsp=f"{address}/ocsp")
    sealer = open_sealer(SigningSettings(signing_certificate=certificate, signing_key=key), heard)
    path = make(tmp_path, ".jpg")
    sealer.seal(path, path, declaration, make(tmp_path, ".png", seed=1))
    assert store_of(path, anchors=root.pem).verdict is Verdict.TRUSTED
    assert asked == []
    rules = library_rules(root.pem)
    rules["verify"] = {"ocsp_fetch": True}
    del rules["core"]
    with path.open("rb") as file, c2pa.Context.from_dict(rules) as context:
        json.loads(c2pa.Reader("image/jpeg", file, context=context).json())
    assert asked != []  # so they would be, by other rules


def test_signing_and_verifying_open_no_socket(tmp_path, settings, heard, declaration, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    sealer = open_sealer(settings, heard)
    path = make(tmp_path, ".jpg")
    sealer.seal(path, path, declaration, make(tmp_path, ".png", seed=1))
    assert store_of(path).verdict is Verdict.UNKNOWN_SIGNER


def test_signing_and_verifying_work_where_there_is_no_network(tmp_path):
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("the system lets us make no process without a network")
    words = [unshare, "-rn", sys.executable, "-c", ALONE]
    files = [make(tmp_path, ".mp4"), make(tmp_path, ".jpg", seed=1), tmp_path / "trust"]
    done = subprocess.run(
        [*words, *map(str, files)], check=False, capture_output=True, text=True, timeout=120, env={**os.environ}
    )
    assert (done.stdout, done.stderr) == ("signed by an unknown signer\n", "")


def test_an_authority_that_is_named_confirms_the_time(tmp_path, settings, root, heard, declaration):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path / "time"
    folder.mkdir()
    with stamping(folder) as (address, asked, time_root):
        sealer = open_sealer(replace(settings, time_stamp_authority=f"{address}/stamp"), heard)
        assert asked == [("POST", "/stamp")]
        path = make(tmp_path, ".jpg")
        sealer.seal(path, path, declaration, None)
        assert asked == [("POST", "/stamp")] * 2
    (stamped,) = store_of(path, anchors=root.pem + time_root.pem).manifests
    assert stamped.signed_at is not None
    # Whoever is not trusted confirms nothing.
    assert store_of(path, anchors=root.pem).manifests[0].signed_at is None


def test_an_authority_that_does_not_answer_is_found_out_at_the_start(settings, heard, canary):
    address, asked = canary
    with pytest.raises(SetupError) as raised:
        open_sealer(replace(settings, time_stamp_authority=address), heard)
    assert str(raised.value).endswith(
        " See that the time-stamp authority can be reached, or leave --time-stamp-authority away. Name another signer "
        "with --signing-certificate, or do without a signature: --marking metadata."
    )
    assert asked == [("POST", "/")]


def test_an_authority_that_goes_away_leaves_the_file_as_it_was(tmp_path, sealer, declaration):
    with listening(nothing) as (address, _):
        pass
    path = make(tmp_path, ".png")
    before = path.read_bytes()
    with pytest.raises(SigningError, match="See that the time-stamp authority can be reached"):
        replace(sealer, time_stamp_authority=address).seal(path, path, declaration, None)
    assert path.read_bytes() == before


def test_the_address_of_an_authority_is_one(settings, heard):
    with pytest.raises(OptionError) as raised:
        open_sealer(replace(settings, time_stamp_authority="stamps.example"), heard)
    assert str(raised.value) == (
        "the time-stamp authority stamps.example is no address. It begins with http:// or https://, as "
        "--time-stamp-authority wants it."
    )
