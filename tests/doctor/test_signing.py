from __future__ import annotations

from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, Level, note, ok
from facefusion.doctor.signing import findings
from facefusion.provenance.signing.identity import make_identity
from tests.doctor.machines import settings
from tests.provenance.signing.authority import listening, nothing
from tests.provenance.signing.certificates import write_pair


def found(**values):
    return list(findings(Examination(settings(**values))))


def test_results_that_are_not_signed_need_no_signer(tmp_path):
    assert found(marking="metadata", signing_certificate=str(tmp_path / "missing.pem")) == [
        note("signer", "results are not signed, as --marking says")
    ]


def test_a_local_certificate_is_looked_for_and_none_is_made(tmp_path):
    folder = tmp_path / "deep" / "trust"
    assert found(trust_path=str(folder)) == [
        note("signer", f"there is no local certificate in {folder} yet; the first run makes one")
    ]
    assert list(tmp_path.iterdir()) == []
    identity = make_identity(folder)
    (finding,) = found(trust_path=str(folder))
    assert finding.level is Level.OK
    assert finding.text.startswith(f"an unknown signer ({identity.certificate}), until 20")


def test_a_folder_that_cannot_be_written_to_is_a_fault(tmp_path):
    (tmp_path / "file").touch()
    (finding,) = found(trust_path=str(tmp_path / "file" / "trust"))
    assert (finding.level, finding.topic) == (Level.FAULT, "signer")
    assert "--trust-path" in finding.remedy


def test_a_key_is_tried_and_no_authority_is_asked(tmp_path):
    certificate, key = write_pair(tmp_path)
    named = {"signing_certificate": str(certificate), "signing_key": str(key)}
    with listening(nothing) as (address, asked):
        (finding,) = found(**named, time_stamp_authority=address)
    assert asked == []
    assert finding == ok("signer", finding.text)
    assert finding.text.startswith(f"Signer of tests, Example ({certificate}), until ")
    key.chmod(0o644)
    assert [one.level for one in found(**named)] == [Level.WARNING, Level.OK]
    key.write_text("nothing")
    (finding,) = found(**named)
    assert finding.level is Level.FAULT
    assert finding.text == f"{key} is no private key in PEM form, the one that begins with -----BEGIN PRIVATE KEY-----"


def test_a_command_that_does_not_sign_is_a_fault(tmp_path):
    certificate, _ = write_pair(tmp_path)
    assert found(signing_certificate=str(certificate), signing_command="/nowhere/sign") == [
        Finding(
            Level.FAULT,
            "signer",
            f"results cannot be signed: {certificate}: the signing command /nowhere/sign cannot be run: No such file "
            "or directory",
            "See --signing-command in docs/trust.md.",
        )
    ]
