"""Certificates, keys and commands: what works, and what is found wrong before there is work to lose."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from facefusion.core.errors import OptionError, SetupError, SigningError
from facefusion.provenance.manifests import Verdict
from facefusion.provenance.records import Declaration, Deed, SourceType
from facefusion.provenance.rules import load_library
from facefusion.provenance.signing.algorithm import Algorithm, algorithm_of, fits, sign
from facefusion.provenance.signing.certificate import load_certificate
from facefusion.provenance.signing.command import SigningCommand, read_command
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
from tests.provenance.signing.certificates import CLAIMS, Root, write_key, write_pair
from tests.provenance.signing.test_sealer import make, store_of

DATA = b"what is to be signed"
DECLARATION = Declaration((Deed("face_swapper", SourceType.COMPOSITE),), "FaceFusion 9.8")

KEYS: dict[Algorithm, Any] = {
    Algorithm.ES256: lambda: ec.generate_private_key(ec.SECP256R1()),
    Algorithm.ES384: lambda: ec.generate_private_key(ec.SECP384R1()),
    Algorithm.ES512: lambda: ec.generate_private_key(ec.SECP521R1()),
    Algorithm.PS256: lambda: rsa.generate_private_key(65537, 2048),
    Algorithm.ED25519: ed25519.Ed25519PrivateKey.generate,
}

# Signs as a device's tool would; elliptic curves give both numbers one after the other.
DEVICE = """
import sys
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from facefusion.provenance.rules import load_library
from facefusion.provenance.signing.algorithm import sign
key = load_pem_private_key(open(sys.argv[1], "rb").read(), None)
signature = sign(key, sys.stdin.buffer.read())
if len(sys.argv) > 2:
    r, s = decode_dss_signature(signature)
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
sys.stdout.buffer.write(signature)
"""


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "signer"
    path.mkdir()
    return path


def named(certificate, key=None, **about):
    return SigningSettings(signing_certificate=certificate, signing_key=key, **about)


def refusal(settings, heard, kind: type[Exception] = SetupError):
    with pytest.raises(kind) as raised:
        open_sealer(settings, heard)
    assert type(raised.value) is kind
    return str(raised.value)


@pytest.mark.parametrize("algorithm", Algorithm)
def test_every_kind_of_key_signs(tmp_path, folder, heard, algorithm):
    key, root = KEYS[algorithm](), Root()
    assert algorithm_of(key.public_key()) == algorithm
    signature = sign(key, DATA)
    assert fits(key.public_key(), signature, DATA)
    assert not fits(key.public_key(), signature, DATA + b"!")
    assert not fits(KEYS[algorithm]().public_key(), signature, DATA)
    sealer = open_sealer(named(*write_pair(folder, root, key)), heard)
    path = make(tmp_path, ".png")
    sealer.seal(path, path, DECLARATION, None)
    assert store_of(path, anchors=root.pem).verdict is Verdict.TRUSTED
    assert (sealer.signer, heard.notices) == ("Signer of tests, Example", [])


def test_a_certificate_for_claims_signs(tmp_path, folder, heard):
    root = Root()
    sealer = open_sealer(named(*write_pair(folder, root, purpose=CLAIMS)), heard)
    path = make(tmp_path, ".jpg")
    sealer.seal(path, path, DECLARATION, None)
    assert store_of(path, anchors=root.pem).verdict is Verdict.TRUSTED


@pytest.mark.parametrize(
    ("about", "fault"),
    [
        ({"ends": -0.5}, "the signing certificate {} ran out on "),
        ({"begins": 2}, "the signing certificate {} is valid from "),
        (
            {"signs": False},
            "the certificate {} is not for signing content: its key usage does not have digital signatures.",
        ),
        ({"ca": True}, "the certificate {} is not for signing content: it is an authority's own."),
        (
            {"purpose": ExtendedKeyUsageOID.SERVER_AUTH},
            "the certificate {} is not for signing content: its extended key usage has none of e-mail protection, "
            "document signing, C2PA claim signing, Microsoft's C2PA signing.",
        ),
        ({"purpose": None}, "the certificate {} is not for signing content: its extended key usage has none of "),
        (
            {"pointed": False},
            "the certificate {} is not for signing content: it does not say whose key vouches for it (authority key "
            "identifier).",
        ),
    ],
)
def test_a_certificate_that_may_not_sign(folder, heard, about, fault):
    certificate, key = write_pair(folder, **about)
    said = refusal(named(certificate, key), heard)
    assert said.startswith(fault.format(certificate))
    assert said.endswith(
        "Name another with --signing-certificate, or sign with a local one: leave --signing-certificate away."
    )


@pytest.mark.parametrize("key", [ed448.Ed448PrivateKey.generate(), rsa.generate_private_key(65537, 1024)])
def test_a_key_of_another_kind(folder, heard, key):
    certificate, secret = write_pair(folder, key=key)
    assert refusal(named(certificate, secret), heard).startswith(
        f"the key of the signing certificate {certificate} is of a kind that C2PA does not sign with. It takes curves "
        "P-256, P-384 and P-521, Ed25519, and RSA of at least 2048 bits."
    )


def test_certificates_in_another_order(folder, heard):
    certificate, key = write_pair(folder)
    other = Root("Root of others")
    certificate.write_text(certificate.read_text() + other.pem)
    assert refusal(named(certificate, key), heard).startswith(
        f"in {certificate} the certificate of Root of tests, Example is not vouched for by the next, that of Root of "
        "others, Example. Put your own first, then the one of the authority that issued it, and so on."
    )


def test_a_certificate_that_cannot_be_read(folder, heard):
    missing = folder / "missing.pem"
    said = refusal(named(missing, missing), heard)
    assert said.startswith(f"the signing certificate {missing} cannot be read: No such file or directory. Name another")
    missing.write_bytes(b"\x30\x82 no text")
    assert refusal(named(missing, missing), heard).startswith(f"{missing} is no certificate in PEM form")


def test_a_key_that_cannot_be_read(folder, heard):
    certificate, key = write_pair(folder)
    settings = named(certificate, folder / "missing.key")
    assert refusal(settings, heard).startswith(
        f"the signing key {folder / 'missing.key'} cannot be read: No such file or directory."
    )
    key.write_bytes(b"\x30\x82 no text")
    assert refusal(named(certificate, key), heard).startswith(f"{key} is no private key in PEM form")
    write_key(key, ec.generate_private_key(ec.SECP256R1()), password=b"open sesame")
    assert refusal(named(certificate, key), heard).startswith(
        f"the signing key {key} is locked by a password. Unlock it into a file that only you can read"
    )


@pytest.mark.parametrize("algorithm", [Algorithm.ES256, Algorithm.PS256])
def test_a_key_of_another_certificate(folder, heard, algorithm):
    certificate, key = write_pair(folder)
    write_key(key, KEYS[algorithm]())
    said = refusal(named(certificate, key), heard)
    assert said.startswith(f"the signing key {key} does not belong to the certificate {certificate}. Name the one")


@pytest.mark.skipif(os.name != "posix", reason="Windows tells it otherwise")
def test_a_key_that_others_can_read_is_told_of(folder, heard):
    certificate, key = write_pair(folder)
    key.chmod(0o644)
    open_sealer(named(certificate, key), heard)
    assert heard.notices == [f"Other users of this machine can read the signing key {key}. Run: chmod 600 {key}"]


def test_settings_that_say_half_or_too_much(folder, heard):
    certificate, key = write_pair(folder)
    assert refusal(SigningSettings(signing_key=key), heard, OptionError).startswith(
        "--signing-key is given without the certificate that the key belongs to."
    )
    assert refusal(SigningSettings(signing_command="sign"), heard, OptionError).startswith(
        "--signing-command is given without the certificate"
    )
    assert refusal(named(certificate), heard, OptionError).startswith(
        f"--signing-certificate {certificate} is given without its key."
    )
    assert refusal(named(certificate, key, signing_command="sign"), heard, OptionError) == (
        "--signing-key and --signing-command are both given. One of them signs: leave one away."
    )


def command(*words):
    return shlex.join([sys.executable, "-c", *map(str, words)])


@pytest.mark.parametrize("raw", [(), ("raw",)])
def test_a_command_signs(tmp_path, folder, heard, raw):
    root = Root()
    certificate, key = write_pair(folder, root)
    sealer = open_sealer(named(certificate, signing_command=command(DEVICE, key, *raw)), heard)
    path = make(tmp_path, ".mp4")
    sealer.seal(path, path, DECLARATION, None)
    assert store_of(path, anchors=root.pem).verdict is Verdict.TRUSTED


def test_a_command_that_does_not_sign(folder, heard):
    certificate, _ = write_pair(folder)
    see = "See --signing-command in docs/trust.md."
    refused = "results cannot be signed:"

    def said(text):
        return refusal(named(certificate, signing_command=text), heard)

    assert said("/nowhere/sign --slot 1") == (
        f"{refused} {certificate}: the signing command /nowhere/sign cannot be run: No such file or directory. {see}"
    )
    assert said(command("import sys; sys.exit('first\\nno card in the slot')")) == (
        f"{refused} {certificate}: the signing command {sys.executable} ended with 1: no card in the slot. {see}"
    )
    assert said(command("print('signature')")) == (
        f"{refused} {certificate}: the signing command {sys.executable} gave 10 bytes that are no signature by the key "
        f"of {certificate} (es256). {see}"
    )
    assert said("sign 'half").startswith('the signing command "sign \'half" cannot be taken apart: ')
    assert said("  ") == f"the signing command is empty. {see}"


def test_a_command_with_the_wrong_key(folder, heard):
    certificate, key = write_pair(folder)
    write_key(key, KEYS[Algorithm.ES256]())
    assert "that are no signature by the key of" in refusal(
        named(certificate, signing_command=command(DEVICE, key)), heard
    )


def test_a_command_that_takes_no_end(folder):
    certificate = load_certificate(write_pair(folder)[0])
    signing = SigningCommand((sys.executable, "-c", "import time; time.sleep(60)"), certificate, patience=0.2)
    with pytest.raises(SigningError, match="did not come to an end within 0 s"):
        signing(DATA)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_command_that_writes_without_end_is_stopped(folder, stream):
    certificate = load_certificate(write_pair(folder)[0])
    endless = f"import sys\nwhile True: sys.{stream}.buffer.write(bytes(1 << 16))"
    with pytest.raises(SigningError, match=rf"the signing command {sys.executable} wrote more than 64 KiB"):
        SigningCommand((sys.executable, "-c", endless), certificate)(DATA)


def test_a_long_complaint_of_a_command_is_cut(folder):
    certificate = load_certificate(write_pair(folder)[0])
    with pytest.raises(SigningError, match=r"ended with 3: x{200}\.\.\. \(30000 characters\)\."):
        SigningCommand(
            (sys.executable, "-c", "import sys; sys.exit(sys.stderr.write('x' * 30_000) and 3)"), certificate
        )(DATA)


def test_nobody_waits_for_what_a_command_leaves_behind(folder):
    certificate, key = write_pair(folder)
    left = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])\n{DEVICE}"
    signing = SigningCommand((sys.executable, "-c", left, str(key)), load_certificate(certificate), patience=20)
    assert fits(signing.certificate.key, signing(DATA), DATA)


@pytest.mark.parametrize(
    ("system", "text", "words"),
    [
        ("posix", "'/opt/my tools/sign' --slot 1", ("/opt/my tools/sign", "--slot", "1")),
        ("nt", r'"C:\My Tools\sign.exe" --slot 1', (r"C:\My Tools\sign.exe", "--slot", "1")),
    ],
)
def test_words_of_a_command_are_parted_as_the_system_does(folder, monkeypatch, system, text, words):
    certificate = load_certificate(write_pair(folder)[0])
    with monkeypatch.context() as patched:
        patched.setattr("facefusion.provenance.signing.command.os.name", system)
        assert read_command(text, certificate).words == words


def test_a_command_is_given_to_no_shell(folder, heard, tmp_path):
    certificate, _ = write_pair(folder)
    witness = tmp_path / "witness"
    refusal(named(certificate, signing_command=f"true; touch {witness}"), heard)
    refusal(named(certificate, signing_command=f"echo $(touch {witness})"), heard)
    assert not witness.exists()


def test_a_library_that_is_not_there_is_said_to_be(monkeypatch):
    monkeypatch.setitem(sys.modules, "c2pa", None)
    with pytest.raises(SetupError) as raised:
        load_library()
    assert str(raised.value) == (
        "the C2PA library, which reads and signs manifests, cannot be loaded: import of c2pa halted; None in "
        f"sys.modules. Run: {sys.executable} -m pip install -r requirements.txt"
    )
