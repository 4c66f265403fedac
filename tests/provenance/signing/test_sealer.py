"""A signed manifest in every format: it verifies, pictures and packets stay as they are, and no byte can be changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace

import c2pa
import pytest

from facefusion.core.errors import InputError, ResourceError, SigningError
from facefusion.core.formats import MediaKind, writable
from facefusion.provenance.manifests import Verdict, read_store
from facefusion.provenance.records import Declaration, Deed, SourceType, sidecar_of
from facefusion.provenance.rules import LARGEST_SIDE_CAR, library_rules
from facefusion.provenance.signing import building
from facefusion.provenance.signing.formats import BESIDE, INSIDE
from facefusion.provenance.signing.sealer import C2paSealer
from tests.provenance.samples import noise, video
from tests.provenance.test_xmp_files import frames_of, packets_of

MOVING_INSIDE = (".avi", ".m4v", ".mov", ".mp4")
MOVING_BESIDE = (".mkv", ".mpeg", ".mxf", ".webm", ".wmv")
STILLS_INSIDE = (".avif", ".gif", ".heic", ".jpg", ".png", ".tiff", ".webp")
ANIMATED = (".apng", ".gif", ".webp")


def make(folder, suffix, *, animated=False, seed=0):
    path = folder / f"made-{seed}{suffix}"
    if suffix in MOVING_INSIDE + MOVING_BESIDE:
        return video(path)
    more = {"save_all": True, "append_images": [noise(8), noise(9)], "duration": 100} if animated else {}
    noise(seed).save(path, **more)
    return path


def look(path):
    return packets_of(path) if path.suffix in MOVING_INSIDE + MOVING_BESIDE else frames_of(path)


def store_of(path, side_car=None, anchors=None):
    store = read_store(path, side_car, anchors)
    assert store is not None
    return store


def whole_store(path, anchors=None, side_car=None):
    """What the library itself reads."""
    manifest = side_car.read_bytes() if side_car else None
    with path.open("rb") as file, c2pa.Context.from_dict(library_rules(anchors)) as context:
        return json.loads(c2pa.Reader("", file, manifest, context=context).json())


def active(path, side_car=None):
    store = whole_store(path, side_car=side_car)
    return store["manifests"][store["active_manifest"]]


def test_every_format_that_can_be_written_holds_its_manifest_or_has_it_beside():
    written = {*writable(MediaKind.IMAGE), *writable(MediaKind.VIDEO)}
    assert {*INSIDE, *BESIDE} == written
    assert not {*INSIDE} & {*BESIDE}


@pytest.mark.parametrize(
    ("suffix", "animated"),
    [(suffix, False) for suffix in STILLS_INSIDE + MOVING_INSIDE] + [(suffix, True) for suffix in ANIMATED],
)
def test_a_result_holds_its_manifest(tmp_path, sealer, root, declaration, suffix, animated):
    path, parent = make(tmp_path, suffix, animated=animated), make(tmp_path, ".jpg", seed=1)
    before, source = look(path), parent.read_bytes()
    assert len(before) > 1 or not animated
    assert sealer.seal(path, tmp_path / f"result{suffix}", declaration, parent) is None
    assert look(path) == before
    assert parent.read_bytes() == source
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == sorted([path.name, parent.name])
    assert whole_store(path)["validation_state"] == "Valid"
    assert whole_store(path, root.pem)["validation_state"] == "Trusted"
    store = store_of(path, anchors=root.pem)
    assert store.verdict is Verdict.TRUSTED
    assert store.source_types == (SourceType.COMPOSITE.value, SourceType.ENHANCED.value)


@pytest.mark.parametrize("suffix", [*MOVING_BESIDE, ".bmp"])
def test_a_result_that_cannot_hold_it_has_its_manifest_beside(tmp_path, sealer, root, declaration, suffix):
    path, parent = make(tmp_path, suffix), make(tmp_path, ".jpg", seed=1)
    before = path.read_bytes()
    made = sealer.seal(path, tmp_path / f"result{suffix}", declaration, parent)
    assert made == path.with_name(path.name + ".c2pa")
    assert path.read_bytes() == before
    side_car = made.replace(sidecar_of(path))
    store = store_of(path, side_car, root.pem)
    assert store.verdict is Verdict.TRUSTED
    assert store.source_types == (SourceType.COMPOSITE.value, SourceType.ENHANCED.value)
    for changed in (before + b"\0", before[:-1], flipped(before, len(before) // 2)):
        path.write_bytes(changed)
        assert store_of(path, side_car, root.pem).verdict is Verdict.BROKEN


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".mp4", ".mov", ".avi"])
def test_no_byte_can_be_changed(tmp_path, sealer, declaration, suffix):
    path = make(tmp_path, suffix)
    before = path.read_bytes()
    sealer.seal(path, path, declaration, make(tmp_path, ".jpg", seed=1))
    signed = path.read_bytes()
    # A byte of the pictures, and one within the signed claim.
    picture = signed.index(before[len(before) // 2 : len(before) // 2 + 24])
    for place in (picture + 5, signed.index(b"compositeWithTrainedAlgorithmicMedia") + 3):
        path.write_bytes(flipped(signed, place))
        assert store_of(path).verdict is Verdict.BROKEN


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_what_is_said(tmp_path, sealer, declaration):
    path, parent = make(tmp_path, ".png"), make(tmp_path, ".jpg", seed=1)
    sealer.seal(path, path, replace(declaration, inherited=SourceType.ENHANCED), parent)
    said = active(path)
    assert (said["title"], said["claim_generator_info"][0]["name"], said["claim_generator_info"][0]["version"]) == (
        "result",
        "FaceFusion",
        "9.8",
    )
    (actions,) = [one["data"]["actions"] for one in said["assertions"] if one["label"] == "c2pa.actions.v2"]
    opened, swapped, enhanced = actions
    assert (opened["action"], opened["digitalSourceType"]) == ("c2pa.opened", SourceType.ENHANCED.value)
    agent = {"name": "FaceFusion", "version": "9.8"}
    assert swapped == {
        "action": "c2pa.edited",
        "digitalSourceType": SourceType.COMPOSITE.value,
        "softwareAgent": agent,
        "parameters": {"org.facefusion.processor": "face_swapper", "org.facefusion.models": {"mesh": "ab" * 32}},
    }
    assert enhanced == {
        "action": "c2pa.enhanced",
        "digitalSourceType": SourceType.ENHANCED.value,
        "softwareAgent": agent,
        "parameters": {"org.facefusion.processor": "face_enhancer", "org.facefusion.models": {"gfpgan_1.4": "cd" * 32}},
    }
    (parent_said,) = said["ingredients"]
    digest = hashlib.sha256(parent.read_bytes()).hexdigest()
    assert (
        parent_said["relationship"],
        parent_said["title"],
        parent_said["description"],
        parent_said["instance_id"],
    ) == (
        "parentOf",
        "source",
        f"SHA-256 {digest}",
        f"urn:sha256:{digest}",
    )
    assert "thumbnail" not in said
    assert "thumbnail" not in parent_said


@pytest.mark.parametrize("suffix", [".png", ".mp4", ".mkv"])
def test_no_name_of_a_file_or_folder_is_told(tmp_path, sealer, declaration, suffix):
    folder = tmp_path / "private folder of Jane"
    folder.mkdir()
    path, parent = make(folder, suffix), make(folder, ".jpg", seed=1)
    parent = parent.rename(folder / "Jane Doe.jpg")
    made = sealer.seal(path, folder / f"Jane as Joan{suffix}", declaration, parent)
    signed = path.read_bytes() + (made.read_bytes() if made else b"")
    assert not [word for word in (b"Jane", b"Joan", b"made-0", str(tmp_path).encode()) if word in signed]


def test_a_deed_that_makes_nothing_of_the_result_is_said_without_a_source_type(tmp_path, sealer):
    path = make(tmp_path, ".png")
    deeds = (Deed("face_debugger", None), Deed("frame_enhancer", SourceType.ENHANCED))
    sealer.seal(path, path, Declaration(deeds, "FaceFusion 9.8"), make(tmp_path, ".jpg", seed=1))
    assert [action.source_type for action in store_of(path).manifests[0].actions] == [
        None,
        None,
        SourceType.ENHANCED.value,
    ]


def test_a_result_of_no_one_file_was_created(tmp_path, sealer, declaration):
    path = make(tmp_path, ".mp4")
    sealer.seal(path, path, declaration, None)
    (manifest,) = store_of(path).manifests
    assert (manifest.actions[0].name, manifest.actions[0].source_type) == ("c2pa.created", SourceType.COMPOSITE.value)
    assert "ingredients" not in active(path)


@pytest.mark.parametrize("suffix", [".jpg", ".mp4", ".mkv"])
@pytest.mark.parametrize("of", [".png", ".mov", ".webm"])
def test_the_manifest_of_what_it_was_made_of_is_kept(tmp_path, sealer, root, declaration, suffix, of, heard):
    parent = make(tmp_path, of, seed=1)
    if made := sealer.seal(parent, parent, Declaration((Deed("lip_syncer", SourceType.COMPOSITE),), "Other 1"), None):
        made.replace(sidecar_of(parent))
    path = make(tmp_path, suffix)
    made = sealer.seal(path, path, declaration, parent)
    store = store_of(path, made, root.pem)
    assert store.verdict is Verdict.TRUSTED
    assert [manifest.program.split(" org.")[0] for manifest in store.manifests] == ["FaceFusion 9.8", "Other 1"]
    assert store.manifests[1].verified
    assert heard.notices == []


def test_a_source_under_a_wrong_name_keeps_its_manifest(tmp_path, sealer, declaration):
    parent = make(tmp_path, ".png", seed=1)
    sealer.seal(parent, parent, declaration, None)
    parent = parent.rename(tmp_path / "photo.jpg")
    path = make(tmp_path, ".jpg")
    sealer.seal(path, path, declaration, parent)
    assert len(store_of(path).manifests) == 2


def test_a_source_that_was_changed_after_it_was_signed_is_kept_and_said_to_be(tmp_path, sealer, declaration):
    parent = make(tmp_path, ".png", seed=1)
    before = parent.read_bytes()
    sealer.seal(parent, parent, declaration, None)
    signed = parent.read_bytes()
    parent.write_bytes(flipped(signed, signed.index(before[-60:-30])))
    path = make(tmp_path, ".jpg")
    sealer.seal(path, path, declaration, parent)
    store = store_of(path)
    assert store.verdict is Verdict.UNKNOWN_SIGNER
    assert [manifest.verified for manifest in store.manifests] == [True, False]


@pytest.mark.parametrize("beside", [None, 11, LARGEST_SIDE_CAR + 1])
def test_a_source_whose_manifest_is_damaged_is_named_by_its_hash(tmp_path, sealer, declaration, heard, beside):
    parent = make(tmp_path, ".mkv" if beside else ".jpg", seed=1)
    if beside:
        sidecar_of(parent).write_bytes(b"no manifest")
        os.truncate(sidecar_of(parent), beside)
    else:
        sealer.seal(parent, parent, declaration, None)
        signed = parent.read_bytes()
        parent.write_bytes(flipped(signed, signed.index(b"jumb") + 10))
    path = make(tmp_path, ".png")
    sealer.seal(path, path, declaration, parent)
    digest = hashlib.sha256(parent.read_bytes()).hexdigest()
    (said,) = active(path)["ingredients"]
    assert said["description"] == f"SHA-256 {digest}, with a manifest that cannot be read"
    assert heard.notices == [f"The manifest of {parent} cannot be read: the result's names that file by its hash only."]


@pytest.mark.parametrize("content", [b"", b"no manifest"])
def test_what_lies_beside_a_source_does_not_cost_the_manifest_inside_it(tmp_path, sealer, declaration, heard, content):
    parent = make(tmp_path, ".jpg", seed=1)
    sealer.seal(parent, parent, replace(declaration, program="Another 1"), None)
    sidecar_of(parent).write_bytes(content)
    path = make(tmp_path, ".png")
    sealer.seal(path, path, declaration, parent)
    assert [manifest.program for manifest in store_of(path).manifests] == ["FaceFusion 9.8", "Another 1"]
    assert heard.notices == []


def test_a_manifest_beside_a_source_is_kept_as_other_programs_name_it(tmp_path, sealer, declaration):
    parent = make(tmp_path, ".mkv", seed=1)
    sealer.seal(parent, parent, replace(declaration, program="Another 1"), None).rename(tmp_path / "made-1.c2pa")
    path = make(tmp_path, ".png")
    sealer.seal(path, path, declaration, parent)
    manifests = store_of(path).manifests
    assert [(one.program, one.verified) for one in manifests] == [("FaceFusion 9.8", True), ("Another 1", True)]


def test_what_does_not_verify_is_not_kept(tmp_path, sealer, declaration, monkeypatch):
    path = make(tmp_path, ".png")
    before = path.read_bytes()
    copy = building.Building.inside

    def damaging(self, media_type, source, destination):
        copy(self, media_type, source, destination)
        destination.seek(-30, 2)
        destination.write(b"x")

    monkeypatch.setattr(building.Building, "inside", damaging)
    with pytest.raises(SigningError) as raised:
        sealer.seal(path, tmp_path / "result.png", declaration, make(tmp_path, ".jpg", seed=1))
    assert str(raised.value) == (
        f"{tmp_path / 'result.png'}: what was signed does not verify: the file was changed after it was signed. "
        "Run it again; where that does not help, do without a signature: --marking metadata."
    )
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == ["made-0.png", "made-1.jpg"]


@pytest.mark.parametrize("suffix", [".png", ".mkv"])
def test_a_signer_that_fails_leaves_the_file_as_it_was(tmp_path, sealer, declaration, suffix):
    def refuse(data):
        raise SigningError("the device is not there", "Plug it in.")

    path = make(tmp_path, suffix)
    before = path.read_bytes()
    broken = replace(sealer, credential=replace(sealer.credential, sign=refuse))
    with pytest.raises(SigningError) as raised:
        broken.seal(path, tmp_path / f"result{suffix}", declaration, make(tmp_path, ".jpg", seed=1))
    assert str(raised.value) == f"{tmp_path / f'result{suffix}'}: the device is not there. Plug it in."
    assert raised.value.exit_code == 7
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == sorted([path.name, "made-1.jpg"])


def test_a_file_of_another_format_than_its_name_says_is_not_signed(tmp_path, sealer, declaration):
    path = make(tmp_path, ".bmp")
    before = path.read_bytes()
    with pytest.raises(SigningError, match=r"result\.jpg: .*\. Name another signer"):
        sealer.seal(path, tmp_path / "result.jpg", declaration, None)
    assert path.read_bytes() == before


def test_a_full_disk_is_said_to_be_full(tmp_path, sealer, declaration, monkeypatch):
    path = make(tmp_path, ".png")
    before = path.read_bytes()

    def full(self, data):
        with self._watching():
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(building._Watched, "write", full)
    with pytest.raises(ResourceError) as raised:
        sealer.seal(path, tmp_path / "result.png", declaration, None)
    name = tmp_path / "result.png"
    assert str(raised.value) == (
        f"{name} cannot be written: the disk is full. Free some space. Choose another --output-path."
    )
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == [path.name]


def test_a_large_file_spills_beside_the_result(tmp_path, sealer, declaration, monkeypatch):
    """The library takes the system's folder for temporary files otherwise, which containers have little of."""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    seen = []
    copy = building.Building.inside

    def looking(self, media_type, source, destination):
        seen.append(os.environ["TMPDIR"])
        copy(self, media_type, source, destination)

    monkeypatch.setattr(building.Building, "inside", looking)
    path = make(tmp_path, ".mp4")
    sealer.seal(path, path, declaration, None)
    monkeypatch.setattr("facefusion.provenance.signing.sealer.SPILL_MEGABYTES", 0)
    path = make(tmp_path, ".mp4")
    sealer.seal(path, path, declaration, None)
    assert (seen, os.environ["TMPDIR"]) == (["/nowhere", str(tmp_path)], "/nowhere")


def test_two_results_of_one_sealer_differ_in_their_manifests_only(tmp_path, sealer, declaration):
    assert isinstance(sealer, C2paSealer)
    # Copied, not made twice: on AVX-512 x264 itself may encode the same frames differently.
    paths = [make(tmp_path, ".mp4"), tmp_path / "again.mp4"]
    shutil.copy(*paths)
    for path in paths:
        sealer.seal(path, path, declaration, None)
    assert packets_of(paths[0]) == packets_of(paths[1])
    assert active(paths[0])["label"] != active(paths[1])["label"]


@pytest.mark.parametrize("suffix", [".png", ".mkv"])
def test_a_source_whose_damage_shows_late_only_does_not_keep_the_result_from_being_signed(
    tmp_path, sealer, declaration, suffix, heard, monkeypatch
):
    """A manifest can be damaged in ways that the library finds out when it signs."""
    parent = make(tmp_path, ".mkv", seed=1)
    sealer.seal(parent, parent, declaration, None).replace(sidecar_of(parent))
    taken = building.Building._add_whole

    def taking(self, path, file, digest):
        self._builder.add_action({"action": "c2pa.created"})  # one too many, and without a source type
        return taken(self, path, file, digest)

    monkeypatch.setattr(building.Building, "_add_whole", taking)
    path = make(tmp_path, suffix)
    made = sealer.seal(path, path, declaration, parent)
    assert store_of(path, made).verdict is Verdict.UNKNOWN_SIGNER
    (said,) = active(path, made)["ingredients"]
    assert said["description"].endswith(", with a manifest that cannot be read")
    assert heard.notices == [f"The manifest of {parent} cannot be read: the result's names that file by its hash only."]


def test_a_side_car_of_a_source_that_cannot_be_read_any_more_is_asked_for(tmp_path, sealer, declaration, monkeypatch):
    parent, path = make(tmp_path, ".mkv", seed=1), make(tmp_path, ".png")
    side = sealer.seal(parent, parent, declaration, None)

    def refused(_):
        raise InputError(f"{side} cannot be read: Permission denied", "Check the path.")

    monkeypatch.setattr(building, "stores_of", refused)
    with pytest.raises(SigningError) as raised:
        sealer.seal(path, path, declaration, parent)
    assert str(raised.value) == (
        f"{path}: {side} cannot be read: Permission denied. Bring it back, and run the same command again: it goes on "
        "from here."
    )


def test_a_source_that_is_gone_is_asked_for(tmp_path, sealer, declaration):
    path = make(tmp_path, ".png")
    before = path.read_bytes()
    with pytest.raises(SigningError) as raised:
        sealer.seal(path, tmp_path / "result.png", declaration, tmp_path / "gone.jpg")
    assert str(raised.value) == (
        f"{tmp_path / 'result.png'}: {tmp_path / 'gone.jpg'}, which it was made of, cannot be read any more: No such "
        "file or directory. Bring it back, and run the same command again: it goes on from here."
    )
    assert path.read_bytes() == before
