"""``detect`` and ``verify``, as they are typed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from facefusion.cli.main import main
from facefusion.observability.events import EventSink
from facefusion.provenance.records import Declaration, Deed, SourceType
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
from facefusion.provenance.xmp.packet import packet
from facefusion.provenance.xmp.write import write_xmp
from tests.provenance.signing.certificates import Root, write_pair

COMPOSITE = SourceType.COMPOSITE
VOUCHED = 'in the name of "Signer of tests, Example", for which nobody known vouches'


class Deaf(EventSink):
    def emit(self, event):
        pass


class Folder:
    """A plain picture, a marked one, a sealed one and a changed one, and whom to trust."""

    def __init__(self, folder):
        root = Root()
        certificate, key = write_pair(folder, root)
        self.plain, self.marked, self.sealed, self.changed, self.bare = (
            folder / f"{name}.png" for name in ("plain", "marked", "sealed", "changed", "bare")
        )
        pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
        for path in (self.plain, self.marked, self.sealed):
            Image.fromarray(pixels).save(path)
        write_xmp(self.marked, ".png", packet(COMPOSITE))
        said = Declaration((Deed("face_swapper", COMPOSITE),), "FaceFusion 1.2")
        sealer = open_sealer(SigningSettings(signing_certificate=certificate, signing_key=key), Deaf())
        sealer.seal(self.sealed, self.sealed, said, None)
        data = bytearray(self.sealed.read_bytes())
        data[-20] ^= 1
        self.changed.write_bytes(data)
        self.trusted, self.others = folder / "trusted.pem", folder / "others.pem"
        self.trusted.write_text(root.pem)
        self.others.write_text(Root("Somebody else").pem)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return Folder(tmp_path_factory.mktemp("marks"))


def test_the_gravest_file_decides_how_detect_ends(files, capsys):
    assert main(["detect", str(files.plain)]) == 0
    assert main(["detect", str(files.plain), str(files.marked)]) == 5
    assert main(["detect", str(files.plain), str(files.sealed)]) == 5
    capsys.readouterr()
    assert main(["detect", str(files.changed), str(files.plain), str(files.marked)]) == 6
    said = capsys.readouterr()
    assert [line for line in said.out.splitlines() if not line.startswith(" ")] == [
        f"{files.changed}: has a mark that does not verify",
        f"{files.plain}: no mark says that it was altered",
        f"{files.marked}: marked as altered",
    ]
    assert said.err == ""


def test_what_cannot_be_read_is_said_among_the_others(files, capsys):
    nowhere = files.plain.with_name("nowhere.png")
    assert main(["detect", str(nowhere), str(files.marked)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{nowhere}: cannot be looked at",
        f"  {nowhere} cannot be read: No such file or directory. Check the path.",
        f"{files.marked}: marked as altered",
        "  source type, not signed: compositeWithTrainedAlgorithmicMedia",
    ]


def test_who_names_a_side_car_is_told_to_name_its_file(files, capsys):
    side = files.plain.with_name("clip.mkv.c2pa")
    side.write_bytes(b"\0\0\0\x10jumb" + bytes(8))
    assert main(["detect", str(side)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{side}: no mark says that it was altered",
        "  Its name is that of a manifest, which tells of the file that it lies beside. Name that file.",
    ]


def test_detect_names_a_trusted_signer(files, capsys):
    assert main(["detect", str(files.sealed), "--trust-anchors", str(files.trusted)]) == 5
    assert (
        '  manifest inside the file: signed by a trusted signer, in the name of "Signer of tests, Example"'
        in capsys.readouterr().out.splitlines()
    )


def test_detect_reports_for_programs(files, capsys):
    assert main(["detect", "--check-format", "json", str(files.sealed), str(files.changed)]) == 6
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["exit_code"]) == (1, 6)
    assert [(one["path"], one["answer"]) for one in told["files"]] == [
        (str(files.sealed), "altered"),
        (str(files.changed), "broken"),
    ]


def test_detect_needs_a_file(capsys):
    assert main(["detect"]) == 2
    assert capsys.readouterr().err == (
        "error: detect: no file is named. Name one or more: facefusion.py detect FILE ...\n"
    )


def test_verify_says_whether_a_file_is_as_it_was_signed(files, capsys):
    assert main(["verify", str(files.sealed)]) == 0
    said = capsys.readouterr().out
    assert f"signed by an unknown signer, {VOUCHED}" in said
    assert said.endswith(
        "\nverified: the file is as it was signed; --trust-anchors would tell whether to trust the signer\n"
    )
    assert main(["verify", str(files.changed)]) == 6
    said = capsys.readouterr().out
    assert "    since the file was changed after it was signed\n" in said
    assert said.endswith("\nnot verified: the file or its manifest is not as it was signed\n")


@pytest.mark.parametrize(
    ("picture", "anchors", "status", "conclusion"),
    [
        ("sealed", "trusted", 0, "verified: the file is as it was signed, by a signer for whom {} vouches"),
        (
            "sealed",
            "others",
            6,
            "not verified: the file is as it was signed, but no authority in {} vouches for the signer",
        ),
        ("changed", "trusted", 6, "not verified: the file or its manifest is not as it was signed"),
    ],
)
def test_verify_with_anchors_wants_one_of_them_to_vouch(files, capsys, picture, anchors, status, conclusion):
    trusted = getattr(files, anchors)
    assert main(["verify", str(getattr(files, picture)), "--trust-anchors", str(trusted)]) == status
    assert capsys.readouterr().out.splitlines()[-1] == conclusion.format(trusted)


def test_verify_reports_for_programs(files, capsys):
    words = ["verify", str(files.sealed), "--trust-anchors", str(files.trusted), "--check-format", "json"]
    assert main(words) == 0
    (told,) = json.loads(capsys.readouterr().out)["files"]
    assert [store["verdict"] for store in told["manifests"]] == ["trusted"]


def test_there_is_nothing_to_verify_in_an_unsigned_file(files, capsys):
    assert main(["verify", str(files.marked)]) == 1
    assert capsys.readouterr().err == (
        f"error: {files.marked} carries no manifest, and there is none beside it. There is nothing to verify.\n"
    )


def test_verify_of_what_cannot_be_read_fails(files, capsys):
    nowhere = files.plain.with_name("nowhere.png")
    assert main(["verify", str(nowhere)]) == 1
    assert capsys.readouterr().err == (f"error: {nowhere} cannot be read: No such file or directory. Check the path.\n")


@pytest.mark.parametrize("command", ["detect", "verify"])
def test_anchors_that_are_none_are_refused(files, capsys, command):
    assert main([command, str(files.plain), "--trust-anchors", str(files.plain)]) == 2
    assert capsys.readouterr().err == (
        f"error: --trust-anchors {files.plain} holds no certificates. Name a file of certificates in PEM form, which "
        "begin with -----BEGIN CERTIFICATE-----.\n"
    )
