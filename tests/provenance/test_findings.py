"""The marks of files of anybody's: signed and not, whole and broken, and what they come to."""

from __future__ import annotations

import errno
import json
import os
import random
import ssl
import warnings
from pathlib import Path

import c2pa
import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from PIL import Image

from facefusion.core.errors import InputError, OptionError
from facefusion.media.container import CONTAINERS
from facefusion.observability.events import EventSink
from facefusion.provenance.anchors import read_anchors
from facefusion.provenance.findings import Answer, gravest, is_altered, look_at
from facefusion.provenance.findings_report import document, text
from facefusion.provenance.manifests import Action, Verdict, read_store, stores_of
from facefusion.provenance.records import Declaration, Deed, SourceType, sidecar_of
from facefusion.provenance.rules import library_rules
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
from facefusion.provenance.xmp.packet import packet
from facefusion.provenance.xmp.write import write_xmp
from tests.provenance.samples import VIDEOS, video
from tests.provenance.signing.certificates import Root, write_pair

COMPOSITE = SourceType.COMPOSITE
VOCABULARY = "http://cv.iptc.org/newscodes/digitalsourcetype/"
SAID = Declaration((Deed("face_swapper", COMPOSITE, {"mesh": "ab" * 32}),), "FaceFusion 1.2")


class Deaf(EventSink):
    def emit(self, event):
        pass


@pytest.fixture
def root():
    return Root()


@pytest.fixture
def sealer(tmp_path, root):
    folder = tmp_path / "keys"
    folder.mkdir()
    certificate, key = write_pair(folder, root)
    return open_sealer(SigningSettings(signing_certificate=certificate, signing_key=key), Deaf())


def picture(path, **about):
    pixels = np.random.default_rng(5).integers(0, 256, (48, 64, 3), np.uint8)
    Image.fromarray(pixels).save(path, **about)
    return path


def claimed(path, *actions, remote=None, label="c2pa.actions.v2", version=2, more=()):
    """A picture that another program signed."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding

    from facefusion.provenance.signing.algorithm import sign

    root, key = Root("Camera makers"), ec.generate_private_key(ec.SECP256R1())
    chain = root.issue(key, name="Camera 7").public_bytes(Encoding.PEM).decode() + root.pem
    said = {
        "claim_version": version,
        "claim_generator_info": [{"name": "Camera", "version": "7.1"}],
        "assertions": [{"label": label, "data": {"actions": list(actions)}}, *more],
    }
    source, made = picture(path.with_suffix(".source.jpg")), path
    context = c2pa.Context.from_dict(library_rules())
    builder = c2pa.Builder(json.dumps(said), context=context)
    if remote is not None:
        builder.set_no_embed()
        builder.set_remote_url(remote)
    signer = c2pa.Signer.from_callback(lambda data: raw(sign(key, data)), c2pa.C2paSigningAlg.ES256, chain, None)
    with source.open("rb") as read, made.open("w+b") as write:
        builder.sign(signer, "image/jpeg", read, write)
    source.unlink()
    return path


def raw(signature):
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    return b"".join(number.to_bytes(32, "big") for number in decode_dss_signature(signature))


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_a_plain_picture_says_nothing(tmp_path):
    path = picture(tmp_path / "plain.jpg")
    found = look_at(path)
    assert (found.answer, found.source_types, found.stores, found.faults) == (Answer.UNMARKED, (), (), ())
    assert text(found) == f"{path}: no mark says that it was altered\n"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("compositeWithTrainedAlgorithmicMedia", Answer.ALTERED),
        ("trainedAlgorithmicMedia", Answer.ALTERED),
        ("algorithmicallyEnhanced", Answer.ALTERED),
        ("compositeSynthetic", Answer.ALTERED),
        ("digitalCapture", Answer.UNMARKED),
        ("humanEdits", Answer.UNMARKED),
        ("somethingNew", Answer.UNMARKED),
    ],
)
def test_what_the_metadata_says_is_told_and_weighed(tmp_path, name, answer):
    path = picture(tmp_path / "said.png")
    write_xmp(path, ".png", packet(COMPOSITE).replace(COMPOSITE.value.encode(), (VOCABULARY + name).encode()))
    found = look_at(path)
    assert (found.answer, found.source_types) == (answer, (VOCABULARY + name,))
    said = "" if answer is Answer.ALTERED else ", which is not altered by a program"
    assert text(found).splitlines()[1] == f"  source type, not signed: {name}{said}"


@pytest.mark.parametrize(
    "form", ["{}", "digsrctype:{}", VOCABULARY + "{}/", "https://cv.iptc.org/newscodes/digitalsourcetype/{}"]
)
def test_a_source_type_counts_however_its_vocabulary_is_written(form):
    assert is_altered(form.format("compositeSynthetic"))
    assert not is_altered(form.format("digitalCapture"))


def test_a_sealed_result_is_by_an_unknown_signer_unless_its_root_is_trusted(tmp_path, sealer, root):
    path = picture(tmp_path / "result.jpg")
    sealer.seal(path, path, SAID, None)
    found = look_at(path)
    (store,) = found.stores
    assert (found.answer, store.verdict, store.faults) == (Answer.ALTERED, Verdict.UNKNOWN_SIGNER, ())
    (manifest,) = store.manifests
    assert (manifest.program, manifest.signer, manifest.signed_at) == (
        "FaceFusion 1.2",
        "Signer of tests, Example",
        None,
    )
    assert Action("c2pa.edited", COMPOSITE.value, "FaceFusion 1.2", "face_swapper", ("mesh",)) in manifest.actions
    (trusted,) = look_at(path, root.pem).stores
    assert trusted.verdict is Verdict.TRUSTED
    (other,) = look_at(path, Root().pem).stores
    assert other.verdict is Verdict.UNKNOWN_SIGNER
    assert text(found).splitlines()[:2] == [
        f"{path}: marked as altered",
        '  manifest inside the file: signed by an unknown signer, in the name of "Signer of tests, Example", '
        "for which nobody known vouches",
    ]
    assert (
        "    c2pa.edited face_swapper with mesh by FaceFusion 1.2 (compositeWithTrainedAlgorithmicMedia)"
        in text(found).splitlines()
    )


def test_what_was_changed_after_it_was_signed_does_not_verify(tmp_path, sealer):
    path = picture(tmp_path / "result.png")
    sealer.seal(path, path, SAID, None)
    flip(path, -30)
    found = look_at(path)
    assert found.answer is Answer.BROKEN
    assert [store.faults for store in found.stores] == [("the file was changed after it was signed",)]
    assert text(found).splitlines()[:3] == [
        f"{path}: has a mark that does not verify",
        '  manifest inside the file: does not verify, in the name of "Signer of tests, Example"',
        "    since the file was changed after it was signed",
    ]


def test_a_changed_claim_does_not_verify(tmp_path, sealer):
    path = picture(tmp_path / "result.jpg")
    sealer.seal(path, path, SAID, None)
    flip(path, path.read_bytes().index(b"face_swapper"))
    (store,) = stores_of(path)
    assert (store.verdict, store.faults) == (
        Verdict.BROKEN,
        ("what the manifest says was changed after it was signed",),
    )


def test_a_file_that_breaks_off_within_its_manifest_does_not_verify(tmp_path, sealer):
    path = picture(tmp_path / "result.jpg")
    sealer.seal(path, path, SAID, None)
    path.write_bytes(path.read_bytes()[:1500])
    (store,) = stores_of(path)
    assert (store.verdict, store.manifests) == (Verdict.BROKEN, ())
    assert look_at(path).answer is Answer.BROKEN


def test_a_plain_file_that_breaks_off_has_no_mark(tmp_path):
    path = picture(tmp_path / "plain.jpg")
    path.write_bytes(path.read_bytes()[:800])
    assert look_at(path).answer is Answer.UNMARKED


def test_a_side_car_is_found_by_its_name_and_bound_to_the_file(tmp_path, sealer):
    path = picture(tmp_path / "result.bmp")
    side = sealer.seal(path, path, SAID, None)
    assert side is not None
    beside = side.rename(tmp_path / "result.bmp.c2pa")
    found = look_at(path)
    assert [(store.verdict, store.side_car) for store in found.stores] == [(Verdict.UNKNOWN_SIGNER, beside)]
    assert found.answer is Answer.ALTERED
    assert "  manifest in result.bmp.c2pa: signed by an unknown signer" in text(found)
    flip(path, -1)
    assert look_at(path).answer is Answer.BROKEN


def test_a_side_car_that_two_files_could_have_is_no_fault_of_the_other(tmp_path, sealer):
    path = picture(tmp_path / "result.bmp")
    side = sealer.seal(path, path, SAID, None)
    assert side is not None
    beside = side.rename(tmp_path / "result.c2pa")
    assert [store.side_car for store in stores_of(path)] == [beside]
    other = picture(tmp_path / "result.gif")
    assert stores_of(other) == ()
    assert [store.side_car for store in stores_of(path)] == [beside]
    flip(path, -1)
    other.unlink()
    assert look_at(path).answer is Answer.BROKEN


@pytest.mark.parametrize("name", ["x" * 251 + ".jpg", "é" * 123 + ".jpg", "x" * 252 + ".py"])
def test_a_name_too_long_for_a_side_car_has_none(tmp_path, name):
    path = picture(tmp_path / "plain.jpg").rename(tmp_path / name)
    assert look_at(path).answer is Answer.UNMARKED


def test_a_folder_that_may_not_be_read_keeps_no_side_car_from_counting(tmp_path, sealer, monkeypatch):
    path = picture(tmp_path / "result.bmp")
    side = sealer.seal(path, path, SAID, None)
    assert side is not None
    side.rename(tmp_path / "result.c2pa")

    def refused(_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)
    assert look_at(path).answer is Answer.ALTERED
    flip(path, -1)
    assert look_at(path).answer is Answer.BROKEN


@pytest.mark.parametrize("content", [b"", b"no manifest at all", b"\0\0\0\x10jumb\0\0\0\x08jumd"])
def test_a_side_car_that_holds_none_does_not_verify(tmp_path, content):
    path = picture(tmp_path / "plain.bmp")
    (tmp_path / "plain.bmp.c2pa").write_bytes(content)
    (store,) = stores_of(path)
    assert store.verdict is Verdict.BROKEN
    assert len(store.faults) == 1


def test_a_cameras_signed_picture_is_told_and_not_altered(tmp_path):
    path = claimed(
        tmp_path / "photo.jpg", {"action": "c2pa.created", "digitalSourceType": VOCABULARY + "digitalCapture"}
    )
    found = look_at(path)
    (store,) = found.stores
    assert (found.answer, store.verdict) == (Answer.UNMARKED, Verdict.UNKNOWN_SIGNER)
    assert store.manifests[0].actions == (Action("c2pa.created", VOCABULARY + "digitalCapture"),)
    assert (store.manifests[0].program, store.manifests[0].signer) == ("Camera 7.1", "Camera 7, Example")


def test_what_others_made_by_a_model_is_altered(tmp_path):
    action = {
        "action": "c2pa.created",
        "digitalSourceType": VOCABULARY + "trainedAlgorithmicMedia",
        "softwareAgent": {"name": "Painter", "version": "3"},
    }
    found = look_at(claimed(tmp_path / "art.jpg", action))
    assert found.answer is Answer.ALTERED
    assert found.stores[0].manifests[0].actions[0].agent == "Painter 3"


@pytest.mark.parametrize("label", ["c2pa.metadata", "cawg.metadata", "stds.iptc"])
@pytest.mark.parametrize("form", [lambda word: word, lambda word: {"@id": word}])
def test_what_is_said_in_signed_metadata_counts(tmp_path, label, form):
    capture, made = (VOCABULARY + term for term in ("digitalCapture", "compositeSynthetic"))
    context = {"Iptc4xmpExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"}
    metadata = {"label": label, "data": {"@context": context, "Iptc4xmpExt:DigitalSourceType": form(made)}}
    action = {"action": "c2pa.created", "digitalSourceType": capture}
    found = look_at(claimed(tmp_path / "art.jpg", action, more=[metadata]))
    assert found.answer is Answer.ALTERED
    assert found.stores[0].source_types == (capture, made)
    assert "\n    source type: compositeSynthetic\n" in text(found)
    (said,) = json.loads(document([found]))["files"][0]["manifests"][0]["chain"]
    assert said["source_types"] == [made]


def test_spaces_around_a_source_type_hide_nothing(tmp_path):
    action = {"action": "c2pa.created", "digitalSourceType": f" {VOCABULARY}trainedAlgorithmicMedia\n"}
    assert look_at(claimed(tmp_path / "art.jpg", action)).answer is Answer.ALTERED


def test_claims_of_the_first_version_are_read(tmp_path):
    action = {
        "action": "c2pa.created",
        "digitalSourceType": VOCABULARY + "trainedAlgorithmicMedia",
        "softwareAgent": "Painter 2",
    }
    found = look_at(claimed(tmp_path / "art.jpg", action, label="c2pa.actions", version=1))
    assert (found.answer, found.stores[0].verdict) == (Answer.ALTERED, Verdict.UNKNOWN_SIGNER)
    assert found.stores[0].manifests[0].actions == (Action("c2pa.created", action["digitalSourceType"], "Painter 2"),)


def test_manifests_of_what_a_file_was_made_of_are_told_after_its_own(tmp_path, sealer):
    parent = claimed(
        tmp_path / "photo.jpg", {"action": "c2pa.created", "digitalSourceType": VOCABULARY + "digitalCapture"}
    )
    path = picture(tmp_path / "result.png")
    sealer.seal(path, path, SAID, parent)
    (store,) = stores_of(path)
    assert [manifest.program for manifest in store.manifests] == ["FaceFusion 1.2", "Camera 7.1"]
    assert [manifest.verified for manifest in store.manifests] == [True, True]
    assert store.source_types == (COMPOSITE.value, VOCABULARY + "digitalCapture")


def test_a_source_that_did_not_verify_is_told(tmp_path, sealer):
    parent = claimed(
        tmp_path / "photo.jpg", {"action": "c2pa.created", "digitalSourceType": VOCABULARY + "digitalCapture"}
    )
    flip(parent, -100)
    path = picture(tmp_path / "result.png")
    sealer.seal(path, path, SAID, parent)
    found = look_at(path)
    assert [manifest.verified for manifest in found.stores[0].manifests] == [True, False]
    assert "it did not verify when it was taken in" in text(found)


def test_a_manifest_that_lies_elsewhere_is_told_and_not_fetched(tmp_path):
    action = {"action": "c2pa.created", "digitalSourceType": VOCABULARY + "digitalCapture"}
    path = claimed(tmp_path / "photo.jpg", action, remote="http://127.0.0.1:9/photo.c2pa")
    found = look_at(path)
    assert [(store.verdict, store.faults) for store in found.stores] == [
        (Verdict.ELSEWHERE, ("http://127.0.0.1:9/photo.c2pa",))
    ]
    assert found.answer is Answer.UNMARKED
    assert text(found).splitlines()[1] == (
        "  manifest: lies elsewhere and was not fetched: http://127.0.0.1:9/photo.c2pa"
    )


def test_broken_xmp_is_told(tmp_path):
    path = picture(tmp_path / "broken.webp", xmp=b"<rdf:RDF")
    found = look_at(path)
    assert found.faults == ("Its XMP data cannot be read, since it is no XML (unclosed token: line 1, column 0).",)
    assert found.answer is Answer.UNMARKED


def test_a_watermark_says_that_it_was_altered(tmp_path):
    path = picture(tmp_path / "marked.png")
    found = look_at(path, watermark=lambda _: "FaceFusion")
    assert (found.answer, found.watermark) == (Answer.ALTERED, "FaceFusion")
    assert text(found).splitlines()[1] == "  watermark: FaceFusion"


def test_what_cannot_be_read_has_no_answer(tmp_path):
    assert look_at(tmp_path / "nowhere.jpg").answer is Answer.UNREADABLE
    assert look_at(tmp_path).faults == (f"{tmp_path} cannot be looked at: it is no regular file. Name a file.",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert look_at(tmp_path / "pipe").answer is Answer.UNREADABLE
    path = picture(tmp_path / "plain.bmp")
    os.mkfifo(tmp_path / "plain.bmp.c2pa")
    assert look_at(path).answer is Answer.UNMARKED
    with pytest.raises(InputError, match="it is no regular file"):
        read_store(path, tmp_path / "plain.bmp.c2pa")


def test_the_gravest_answer_speaks_for_all():
    assert gravest([]) is Answer.UNMARKED
    assert gravest([Answer.UNMARKED, Answer.ALTERED]) is Answer.ALTERED
    assert gravest([Answer.UNREADABLE, Answer.ALTERED]) is Answer.UNREADABLE
    assert gravest([Answer.BROKEN, Answer.UNREADABLE]) is Answer.BROKEN
    assert [answer.value for answer in Answer] == [0, 5, 1, 6]


def test_the_document_holds_all_of_it(tmp_path, sealer):
    path, plain = picture(tmp_path / "result.jpg"), picture(tmp_path / "plain.jpg")
    write_xmp(path, ".jpg", packet(COMPOSITE))
    sealer.seal(path, path, SAID, None)
    told = json.loads(document([look_at(path), look_at(plain)]))
    assert (told["schema"], told["exit_code"]) == (1, 5)
    first, second = told["files"]
    assert second == {
        "path": str(plain),
        "answer": "unmarked",
        "source_types": [],
        "manifests": [],
        "watermark": None,
        "faults": [],
    }
    assert (first["answer"], first["source_types"]) == ("altered", [COMPOSITE.value])
    (store,) = first["manifests"]
    (manifest,) = store.pop("chain")
    assert store == {"verdict": "unknown_signer", "side_car": None, "address": None, "faults": []}
    assert manifest["signer"] == "Signer of tests, Example"
    assert {
        "action": "c2pa.edited",
        "source_type": COMPOSITE.value,
        "agent": "FaceFusion 1.2",
        "processor": "face_swapper",
        "models": ["mesh"],
    } in manifest["actions"]


def test_names_do_nothing_to_a_terminal(tmp_path):
    path = picture(tmp_path / "red\x1b[31m\nfile.png")
    assert text(look_at(path)) == f"{tmp_path}/red\\x1b[31m\\nfile.png: no mark says that it was altered\n"


def test_old_authorities_with_odd_serial_numbers_are_read_in_silence(tmp_path, root):
    told = root.certificate
    odd = x509.CertificateBuilder(
        issuer_name=root.name,
        subject_name=root.name,
        public_key=root.key.public_key(),
        serial_number=0x7A0102,
        not_valid_before=told.not_valid_before_utc,
        not_valid_after=told.not_valid_after_utc,
    ).sign(root.key, SHA256())
    der = odd.public_bytes(Encoding.DER).replace(b"\x02\x03\x7a\x01\x02", b"\x02\x03\x8a\x01\x02", 1)
    path = tmp_path / "old.pem"
    path.write_text(ssl.DER_cert_to_PEM_cert(der))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_anchors(path) == path.read_text()


def test_anchors_that_are_none_are_refused(tmp_path):
    path = tmp_path / "anchors.pem"
    with pytest.raises(OptionError, match=r"--trust-anchors .* cannot be read: No such file or directory"):
        read_anchors(path)
    path.write_text("none")
    with pytest.raises(OptionError, match=r"--trust-anchors .* holds no certificates"):
        read_anchors(path)
    path.write_text(Root().pem)
    assert read_anchors(path) == path.read_text()


def broken(data, source):
    """Some of what happens to files, and of what people do to them on purpose."""
    data = bytearray(data)
    for _ in range(source.choice((1, 2, 8))):
        place = source.randrange(len(data))
        kind = source.randrange(5)
        if kind == 0:
            data[place] ^= 1 << source.randrange(8)
        elif kind == 1:
            data[place : place + 4] = source.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"))
        elif kind == 2:
            del data[place : place + source.randrange(64)]
        elif kind == 3:
            data[place:place] = data[source.randrange(len(data)) :][: source.randrange(100)]
        elif len(data) > 100:
            del data[max(place, 50) :]
    return bytes(data)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".gif", ".tiff", ".avif", *VIDEOS, ".mkv"])
def test_however_a_file_is_broken_there_is_an_answer(tmp_path, sealer, suffix):
    path = tmp_path / f"result{suffix}"
    made = video(path, frames=5) if suffix in CONTAINERS else picture(path)
    assert made == path
    if suffix != ".avif":
        write_xmp(path, suffix, packet(COMPOSITE))
    side = sealer.seal(path, path, SAID, None)
    if side is not None:
        side.rename(sidecar_of(path))
    whole, source = path.read_bytes(), random.Random(suffix)
    answers = set()
    for _ in range(60):
        path.write_bytes(broken(whole, source))
        found = look_at(path)
        assert text(found).startswith(f"{path}: ")
        answers.add(found.answer)
    assert Answer.BROKEN in answers
    assert answers <= {Answer.BROKEN, Answer.ALTERED, Answer.UNMARKED}
