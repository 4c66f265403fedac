"""Which files are trusted."""

from __future__ import annotations

import dataclasses
import json
import os
import zlib

import pytest

from facefusion.catalogue import verify
from tests.catalogue.toys import GRAPH, graph_file, published_file, sha256


@pytest.fixture
def fetched(tmp_path):
    """A file with its record, of a format that is converted."""
    path = tmp_path / "toy.onnx"
    path.write_bytes(b"converted")
    graph = dataclasses.replace(graph_file(), format="tflite")
    verify.write_record(path, graph, {"graph": sha256(GRAPH)}, sha256(b"converted"))
    return path, graph


def test_a_fetched_file_is_trusted_unread_while_size_and_time_stay(fetched):
    path, graph = fetched
    status = path.stat()
    assert verify.fault(path, graph) == ""

    path.write_bytes(b"CONVERTED")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert verify.fault(path, graph) == ""


@pytest.mark.parametrize("content", [b"CONVERTED", b"converted and more"])
def test_a_changed_file_is_found_out(fetched, content):
    path, graph = fetched
    path.write_bytes(content)
    os.utime(path, ns=(0, 0))

    assert verify.fault(path, graph) == "its content is not what was fetched"


def test_a_copied_file_is_read_again_and_trusted(fetched):
    path, graph = fetched
    os.utime(path, ns=(0, 0))

    assert verify.fault(path, graph) == ""


def test_a_file_of_an_older_converter_or_source_is_made_again(fetched):
    path, graph = fetched
    other = dataclasses.replace(graph.parts[0], sha256="0" * 64, downloads=())

    assert (
        verify.fault(path, dataclasses.replace(graph, format="ncnn"))
        == "it was made by an older version of this program"
    )
    assert (
        verify.fault(path, dataclasses.replace(graph, parts=(other,)))
        == "it was made from another version of the model"
    )


def test_a_brought_file_counts_by_the_catalogues_hash(tmp_path):
    path = tmp_path / "toy.onnx"
    path.write_bytes(GRAPH)
    assert verify.fault(path, graph_file()) == ""

    path.write_bytes(GRAPH + b"?")
    assert verify.fault(path, graph_file()) == "its SHA-256 is not the catalogue's"


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_brought_file_counts_by_the_crc_beside_it(tmp_path, ending):
    path = tmp_path / "toy.onnx"
    path.write_bytes(b"another training of the toy")
    (tmp_path / "toy.hash").write_text(f"{zlib.crc32(b'another training of the toy'):08x}{ending}")
    assert verify.fault(path, published_file()) == ""
    # Of a file that FaceFusion does not publish the checksum says nothing: it is that of another one.
    assert verify.fault(path, graph_file()) == "its SHA-256 is not the catalogue's"

    path.write_bytes(b"Another training of the toy")
    assert verify.fault(path, published_file()) == "its CRC-32 is not the one in toy.hash"


def test_a_brought_file_of_a_converted_model_needs_a_word_for_it(tmp_path):
    path = tmp_path / "toy.onnx"
    path.write_bytes(b"whatever")
    graph = dataclasses.replace(graph_file(), format="tflite")

    assert verify.fault(path, graph) == "toy.onnx.json does not lie beside it"

    (tmp_path / "toy.onnx.json").write_text('{"sha256": 5}')
    assert verify.fault(path, graph) == "toy.onnx.json does not lie beside it"


@pytest.mark.parametrize("sources", [[], "toy", None, 5])
def test_a_record_that_others_wrote_counts_as_none(fetched, sources):
    path, graph = fetched
    record = verify.record_path(path)
    table = json.loads(record.read_text())
    record.write_text(json.dumps(table | {"sources": sources}))

    assert verify.fault(path, graph) == "toy.onnx.json does not lie beside it"


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "it is empty"),
        (b" \n<html><body>Too many requests</body></html>", "it is a web page, not the file itself"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            "it is a Git LFS pointer, which git lfs pull turns into the file",
        ),
        (b"PK\x03\x04....", "it is a zip archive"),
    ],
)
@pytest.mark.parametrize("graph", [graph_file(), published_file(), dataclasses.replace(published_file(), own=True)])
def test_what_was_saved_in_place_of_a_model_is_named(tmp_path, graph, data, fault):
    path = tmp_path / "toy.onnx"
    path.write_bytes(data)
    assert verify.fault(path, graph) == fault


def test_a_fetched_file_that_became_something_else_is_named(fetched):
    path, graph = fetched
    path.write_bytes(b"")
    assert verify.fault(path, graph) == "it is empty"


def test_a_published_file_with_the_right_checksum_is_trusted_whatever_it_looks_like(tmp_path):
    path = tmp_path / "toy.onnx"
    path.write_bytes(b"<graph>")
    path.with_suffix(".hash").write_text(f"{zlib.crc32(b'<graph>'):08x}")
    assert verify.fault(path, published_file()) == ""


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le-with-mark", "utf-16-be-with-mark"])
def test_a_checksum_counts_however_an_editor_saved_it(tmp_path, encoding):
    path = tmp_path / "toy.onnx"
    path.write_bytes(GRAPH)
    text = f"{zlib.crc32(GRAPH):08X}\r\n"
    coding, _, mark = encoding.partition("-with-")
    path.with_suffix(".hash").write_bytes((("\ufeff" if mark else "") + text).encode(coding))
    assert verify.fault(path, published_file()) == ""


def test_a_checksum_that_is_half_a_character_is_named(tmp_path):
    path = tmp_path / "toy.onnx"
    path.write_bytes(GRAPH)
    path.with_suffix(".hash").write_bytes(b"\xff\xfe1")
    assert verify.fault(path, published_file()) == "toy.hash holds no CRC-32"


@pytest.mark.parametrize("text", ["", "<html>", "12345", "version https://git-lfs.github.com/spec/v1", "0x123456"])
def test_a_checksum_that_is_none_is_named(tmp_path, text):
    path = tmp_path / "toy.onnx"
    path.write_bytes(GRAPH)
    path.with_suffix(".hash").write_text(text)
    assert verify.fault(path, published_file()) == "toy.hash holds no CRC-32"


def test_the_checksum_may_lie_beside_the_file_that_a_link_leads_to(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "models"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / "toy.onnx").write_bytes(GRAPH)
    (folder / "toy.onnx").symlink_to(elsewhere / "toy.onnx")
    assert verify.fault(folder / "toy.onnx", published_file()) == "neither toy.onnx.json nor toy.hash lies beside it"
    (elsewhere / "toy.hash").write_text(f"{zlib.crc32(GRAPH):08x}")
    assert verify.fault(folder / "toy.onnx", published_file()) == ""
    (folder / "toy.hash").write_text("00000000")
    assert verify.fault(folder / "toy.onnx", published_file()) == "its CRC-32 is not the one in toy.hash"
