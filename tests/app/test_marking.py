"""What results say of themselves."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import av
import pytest
from PIL import Image

from facefusion.app.joined_marking import marks_of_joined
from facefusion.app.marking import NOT_MARKED, told_name
from facefusion.app.marks_found import inherited
from facefusion.catalogue.catalogue import Catalogue
from facefusion.core.errors import UsageError
from facefusion.core.report import MarkingReport
from facefusion.core.stop import StopToken
from facefusion.media.join import join_videos
from facefusion.provenance.marker import Unmarked
from facefusion.provenance.records import VOCABULARY, SourceType, sidecar_of
from facefusion.provenance.xmp.packet import address_of, packet
from facefusion.provenance.xmp.read import source_types, xmp_packets
from facefusion.provenance.xmp.write import write_xmp
from tests.app.conftest import TARGET, Run, Still, settings

COMPOSITE, ENHANCED = SourceType.COMPOSITE.value, SourceType.ENHANCED.value


def frames_of(path: Path) -> list[bytes]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray().tobytes() for frame in container.decode(video=0)]


def marked(path: Path, *words: SourceType | str) -> Path:
    """A file that says these things of itself."""
    (word,) = words
    said = packet(SourceType.COMPOSITE)
    assert write_xmp(path, path.suffix, said.replace(COMPOSITE.encode(), str(getattr(word, "value", word)).encode()))
    return path


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm", ".avi", ".wmv"])
def test_a_swapped_video_says_that_parts_of_it_were_made(run: Run, tmp_path, suffix):
    plain, output = tmp_path / f"plain{suffix}", tmp_path / f"out{suffix}"
    run(plain, trim_frame_end=3)
    report = run(output, trim_frame_end=3, marking="metadata")
    assert source_types(output) == (COMPOSITE,)
    assert source_types(plain) == ()
    assert report.marking == MarkingReport("metadata", COMPOSITE, True, None, None)
    assert frames_of(output) == frames_of(plain)


@pytest.mark.parametrize("suffix", [".mxf", ".mpg"])
def test_what_has_no_place_for_it_is_told(run: Run, tmp_path, suffix):
    output = tmp_path / f"out{suffix}"
    report = run(output, trim_frame_end=3, marking="metadata")
    assert report.marking == MarkingReport("metadata", COMPOSITE, False, None, None)
    assert f"{output.name} has no place to say how it came to be." in report.notices


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tiff", ".avif", ".heic", ".gif"])
@pytest.mark.parametrize(
    ("processors", "said"),
    [
        (("face_swapper",), COMPOSITE),
        (("face_enhancer",), ENHANCED),
        (("face_enhancer", "face_swapper", "face_debugger"), COMPOSITE),
    ],
)
def test_images_say_what_was_done_to_them(still: Still, run: Run, models, tmp_path, suffix, processors, said):
    output = tmp_path / f"marked{suffix}"
    report = run(
        output, target_path=still.path, trim_frame_end=None, models_path=models, processors=processors,
        marking="metadata",
    )  # fmt: skip
    assert source_types(output) == (said,)
    assert report.marking is not None
    assert (report.marking.source_type, report.marking.in_file) == (said, True)


def test_what_only_the_debugger_drew_on_is_not_marked_which_is_said(still: Still):
    report = still.report(processors=("face_debugger",), marking="metadata")
    assert report.marking == MarkingReport("metadata", None, False, None, None)
    assert NOT_MARKED in report.notices
    assert source_types(Path(report.output)) == ()


def test_what_was_made_stays_so_whatever_is_done_to_it(still: Still):
    marked(still.path, SourceType.COMPOSITE)
    for processors in (("face_enhancer",), ("face_debugger",)):
        report = still.report(processors=processors, marking="metadata")
        assert source_types(Path(report.output)) == (COMPOSITE,)
        assert report.marking == MarkingReport("metadata", COMPOSITE, True, None, None, (COMPOSITE,))
        assert (
            "frame.png says of itself: compositeWithTrainedAlgorithmicMedia. The result says: "
            "compositeWithTrainedAlgorithmicMedia."
        ) in report.notices


def test_a_photograph_is_none_once_a_face_was_swapped_and_sources_are_told_of(still: Still, tmp_path):
    marked(still.path, VOCABULARY + "digitalCapture")
    source = tmp_path / "source.jpg"
    shutil.copyfile(Path(still.path).parents[0] / "frame.png", tmp_path / "x.png")
    shutil.copyfile(TARGET.parent / "source.jpg", source)
    marked(source, VOCABULARY + "trainedAlgorithmicMedia")
    before = still.path.read_bytes(), source.read_bytes()
    report = still.report(marking="metadata", source_paths=(source,))
    assert source_types(Path(report.output)) == (COMPOSITE,)
    assert report.marking is not None
    assert report.marking.of_target == (VOCABULARY + "digitalCapture",)
    assert "source.jpg says of itself: trainedAlgorithmicMedia." in report.notices
    assert (still.path.read_bytes(), source.read_bytes()) == before


def test_off_leaves_what_the_target_says_as_it_is_and_says_that(still: Still):
    marked(still.path, SourceType.ENHANCED)
    report = still.report(marking="off")
    said = "With --marking off, no care is taken that the result says so too."
    assert f"frame.png says of itself: algorithmicallyEnhanced. {said}" in report.not_kept
    assert report.marking == MarkingReport("off", None, False, None, None, (ENHANCED,))


def test_a_manifest_of_an_older_result_goes_and_another_file_in_its_place_stays(still: Still, tmp_path):
    side = sidecar_of(tmp_path / "out.png")
    for marking in ("off", "metadata"):
        side.write_bytes(b"\0\0\1\0jumb and so on")
        still.report(marking=marking)
        assert not side.exists()
        side.write_text("notes of the user")
        with pytest.raises(UsageError, match=r"out\.png\.c2pa is there already and is not a C2PA manifest"):
            still.report(marking=marking)
        assert side.read_text() == "notes of the user"


@pytest.mark.parametrize(
    ("marking", "left", "said"),
    [
        ("metadata", (), "It tells nothing of the result, which does not name it."),
        ("off", ("http://127.0.0.1:9/photo.c2pa",), "It tells nothing of the result, which may name it all the same."),
    ],
)
def test_a_manifest_of_the_target_that_lies_elsewhere_is_told(
    still: Still, run: Run, tmp_path, models, marking, left, said
):
    target, output = tmp_path / "target.webp", tmp_path / "out.webp"
    xmp = packet(SourceType.ENHANCED).replace(
        b"<Iptc4xmpExt:", b'<t:provenance xmlns:t="http://purl.org/dc/terms/">http://127.0.0.1:9/photo.c2pa</t:provenance>'
        b"<Iptc4xmpExt:", 1
    )  # fmt: skip
    with Image.open(still.path) as image:
        image.save(target, xmp=xmp)
    report = run(output, target_path=target, trim_frame_end=None, models_path=models, marking=marking)
    names = "target.webp names a manifest that lies elsewhere, at http://127.0.0.1:9/photo.c2pa, and was not fetched."
    assert f"{names} {said}" in report.not_kept
    assert report.marking is not None
    assert report.marking.target_manifest == "lies elsewhere"
    assert tuple(address for packet in xmp_packets(output) if (address := address_of(packet))) == left


def test_a_broken_packet_of_the_target_is_replaced_which_is_said(still: Still, run: Run, tmp_path, models):
    target, output = tmp_path / "target.webp", tmp_path / "out.webp"
    with Image.open(still.path) as image:
        image.save(target, xmp=b"<x:xmpmeta broken")
    report = run(output, target_path=target, trim_frame_end=None, models_path=models, marking="metadata")
    assert source_types(output) == (COMPOSITE,)
    assert any(notice.startswith("The XMP data of the target is left out, since ") for notice in report.notices)


def test_a_packet_that_a_jpeg_cannot_hold_makes_room_for_the_mark(still: Still, run: Run, tmp_path, models):
    target, output = tmp_path / "target.webp", tmp_path / "out.jpg"
    long = packet(SourceType.ENHANCED).replace(b"<rdf:RDF", b"<!-- " + b"x" * 70_000 + b" --><rdf:RDF", 1)
    with Image.open(still.path) as image:
        image.save(target, xmp=long)
    report = run(output, target_path=target, trim_frame_end=None, models_path=models, marking="metadata")
    assert source_types(output) == (COMPOSITE,)
    assert any("XMP data, which is longer than the 65000 bytes" in notice for notice in report.not_kept)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ((VOCABULARY + "trainedAlgorithmicMedia",), SourceType.COMPOSITE),
        (("https://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic",), SourceType.COMPOSITE),
        (("algorithmicallyEnhanced", VOCABULARY + "digitalCapture"), SourceType.ENHANCED),
        (("digsrctype:trainedAlgorithmicMedia",), SourceType.COMPOSITE),
        ((VOCABULARY + "digitalCapture", "", "a/"), None),
    ],
)
def test_what_is_said_of_a_target_holds_for_the_result(said, kept):
    assert inherited(said) is kept


def test_the_whole_says_the_strongest_that_its_parts_say(engine, run: Run, sink, tmp_path):
    parts = [tmp_path / "a.mkv", tmp_path / "b.mkv"]
    run(parts[0], trim_frame_end=2, marking="metadata", processors=("face_enhancer",))
    run(parts[1], trim_frame_end=2, marking="metadata")
    snapshot = settings(engine)
    join_videos(parts, tmp_path / "out.mkv", StopToken(), marks_of_joined(snapshot, parts, sink))
    assert [source_types(path) for path in parts] == [(ENHANCED,), (COMPOSITE,)]
    assert source_types(tmp_path / "out.mkv") == (COMPOSITE,)

    run(parts[0], trim_frame_end=2)
    assert isinstance(marks_of_joined(snapshot, parts[:1], sink), Unmarked)


def test_names_of_models_that_may_tell_of_a_person_are_not_told():
    digest = "0123456789abcdef" * 4
    catalogue = Catalogue.load()
    gfpgan = catalogue.card("gfpgan_1.4")
    assert told_name(gfpgan, digest) == "gfpgan_1.4"
    somebody = catalogue.card("iperov/jane_doe_224", "deep_swapper")
    assert told_name(somebody, digest) == "deep_swapper 0123456789ab"
    assert gfpgan.graph is not None
    imported = replace(gfpgan, name="jane_doe", graph=replace(gfpgan.graph, publication=None, parts=()))
    assert imported.graph is not None
    assert imported.graph.is_imported
    assert told_name(imported, digest) == "face_enhancer 0123456789ab"
    assert told_name(replace(imported, graph=replace(imported.graph, own=True)), digest) == "face_enhancer 0123456789ab"
