"""A packet in every format: put in, read back, and pictures and packets as they were."""

from __future__ import annotations

import io
import struct
import zlib

import av
import imagecodecs
import pillow_heif
import pytest
from PIL import Image, ImageSequence
from PIL.TiffImagePlugin import TiffImageFile

from facefusion.core.errors import InputError, OutputError
from facefusion.media.image.png import chunk
from facefusion.provenance.records import SourceType
from facefusion.provenance.xmp.packet import packet
from facefusion.provenance.xmp.read import read_xmp, source_types, xmp_packets
from facefusion.provenance.xmp.write import write_xmp
from tests.provenance.samples import ANIMATIONS, STILLS, VIDEOS, animation, noise, still, video, written_still

COMPOSITE, ENHANCED = SourceType.COMPOSITE, SourceType.ENHANCED
PACKET = packet(COMPOSITE)
XMP_UUID = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")


def frames_of(path):
    with Image.open(path) as image:
        image.load()
        return [
            (frame.convert("RGBA").tobytes(), frame.info.get("duration")) for frame in ImageSequence.Iterator(image)
        ]


def packets_of(path):
    with av.open(str(path)) as file:
        return [(packet.stream.index, packet.pts, packet.dts, bytes(packet)) for packet in file.demux() if packet.size]


def check(path, before, look):
    """Mark, mark again and look at what is there then."""
    assert write_xmp(path, path.suffix, PACKET)
    assert read_xmp(path) == PACKET
    assert source_types(path) == (COMPOSITE.value,)
    assert look(path) == before
    again = packet(ENHANCED, PACKET)
    assert write_xmp(path, path.suffix.upper(), again)
    assert xmp_packets(path) == (again,)
    assert source_types(path) == (ENHANCED.value,)
    assert look(path) == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", STILLS)
def test_a_still_says_it_and_keeps_its_pixels(tmp_path, suffix):
    path = still(tmp_path, suffix)
    assert read_xmp(path) is None
    check(path, frames_of(path), frames_of)


@pytest.mark.parametrize("suffix", ANIMATIONS)
def test_an_animation_says_it_and_keeps_its_frames(tmp_path, suffix):
    path = animation(tmp_path, suffix)
    before = frames_of(path)
    assert len(before) == 4
    check(path, before, frames_of)
    with Image.open(path) as image:
        assert image.info["loop"] == 0


@pytest.mark.parametrize("suffix", VIDEOS)
def test_a_video_says_it_and_keeps_its_packets(tmp_path, suffix):
    path = video(tmp_path / f"video{suffix}")
    before = packets_of(path)
    assert len(before) >= 48
    check(path, before, packets_of)


@pytest.mark.parametrize("suffix", [".mkv", ".webm"])
def test_matroska_says_it_in_a_tag(tmp_path, suffix):
    path = video(tmp_path / f"video{suffix}")
    assert source_types(path) == (COMPOSITE.value,)
    before = path.read_bytes()
    assert not write_xmp(path, suffix, PACKET)
    assert path.read_bytes() == before


@pytest.mark.parametrize("suffix", [".avif", ".heic"])
def test_the_writer_of_stills_puts_it_into_avif_and_heic(tmp_path, suffix):
    path = written_still(tmp_path, suffix, PACKET)
    assert read_xmp(path) == PACKET
    assert not write_xmp(path, suffix, PACKET)


def test_what_carries_nothing_says_so(tmp_path):
    path = tmp_path / "still.bmp"
    noise().save(path)
    before = path.read_bytes()
    for suffix in (".bmp", ".mxf", ".mpeg", ".mpg", ""):
        assert not write_xmp(path, suffix, PACKET)
        assert path.read_bytes() == before
    assert source_types(path) == ()


def test_a_jpeg_keeps_what_else_it_holds_and_its_packet_follows_exif(tmp_path):
    path = tmp_path / "still.jpg"
    exif = Image.Exif()
    exif[0x010E] = "a description"
    noise().save(path, exif=exif, icc_profile=b"profile", comment=b"comment", xmp=b"<old/>", dpi=(72, 72))
    assert write_xmp(path, ".jpg", PACKET)
    with Image.open(path) as image:
        assert image.info["xmp"] == PACKET
        assert image.getexif()[0x010E] == "a description"
        assert (image.info["icc_profile"], image.info["comment"], image.info["dpi"]) == (
            b"profile",
            b"comment",
            (72, 72),
        )
    data = path.read_bytes()
    assert data.index(b"Exif\0\0") < data.index(PACKET) < data.index(b"ICC_PROFILE")
    assert b"<old/>" not in data


def test_a_packet_that_a_jpeg_cannot_hold_leaves_it_as_it_is(tmp_path):
    path = still(tmp_path, ".jpg")
    before = path.read_bytes()
    assert write_xmp(path, ".jpg", PACKET + b" " * (65502 - len(PACKET)))
    path.write_bytes(before)
    assert not write_xmp(path, ".jpg", PACKET + b" " * (65503 - len(PACKET)))
    assert path.read_bytes() == before


@pytest.mark.parametrize(("mode", "lossless"), [("RGB", True), ("RGBA", True), ("RGB", False), ("RGBA", False)])
def test_a_webp_of_a_picture_alone_gets_the_head_it_needs(tmp_path, mode, lossless):
    path = tmp_path / "still.webp"
    noise(height=33, width=77).convert(mode).save(path, lossless=lossless)
    before = frames_of(path)
    assert write_xmp(path, ".webp", PACKET)
    assert path.read_bytes()[12:16] == b"VP8X"
    assert frames_of(path) == before
    with Image.open(path) as image:
        assert (image.size, image.info["xmp"]) == ((77, 33), PACKET)


@pytest.mark.parametrize("big", [False, True])
def test_a_tiff_keeps_its_pages(tmp_path, big):
    path = tmp_path / "still.tif"
    noise(1).save(path, big_tiff=big, save_all=True, append_images=[noise(2)], description="kept")
    before = frames_of(path)
    assert len(before) == 2
    assert write_xmp(path, ".tif", PACKET)
    assert frames_of(path) == before
    assert xmp_packets(path) == (PACKET,)
    with Image.open(path) as image:
        assert isinstance(image, TiffImageFile)
        assert image.tag_v2[700] == PACKET


@pytest.mark.parametrize("big", [False, True])
def test_a_tiff_of_the_other_byte_order_keeps_its_pixels(tmp_path, big):
    path = tmp_path / "still.tif"
    path.write_bytes(big_endian(big))
    assert imagecodecs.tiff_decode(path.read_bytes()).tolist() == [[1, 2], [3, 4]]
    assert write_xmp(path, ".tif", PACKET)
    assert imagecodecs.tiff_decode(path.read_bytes()).tolist() == [[1, 2], [3, 4]]
    assert xmp_packets(path) == (PACKET,)


def big_endian(big):
    """Four grey pixels, by hand."""
    word, kind = ("Q", 16) if big else ("I", 4)
    head = b"MM\0+\0\x08\0\0" + struct.pack(">Q", 16) if big else b"MM\0*" + struct.pack(">I", 8)
    tags = {256: 2, 257: 2, 258: 8, 259: 1, 262: 1, 273: 0, 278: 2, 279: 4}
    count = struct.pack(">Q" if big else ">H", len(tags))
    size = len(head) + len(count) + len(tags) * (20 if big else 12) + (8 if big else 4)
    tags[273] = size
    entries = b"".join(struct.pack(f">HH{word}{word}", tag, kind, 1, value) for tag, value in tags.items())
    return head + count + entries + struct.pack(f">{word}", 0) + b"\x01\x02\x03\x04"


def test_mp4_gets_a_box_behind_all_others_and_nothing_moves(tmp_path):
    path = video(tmp_path / "video.mp4")
    before = path.read_bytes()
    assert write_xmp(path, ".mp4", PACKET)
    assert path.read_bytes() == before + struct.pack(">I4s", 24 + len(PACKET), b"uuid") + XMP_UUID + PACKET


def test_an_old_box_of_an_mp4_becomes_free_space(tmp_path):
    path = video(tmp_path / "video.mp4")
    write_xmp(path, ".mp4", packet(ENHANCED))
    write_xmp(path, ".mp4", PACKET)
    data = path.read_bytes()
    assert data.count(XMP_UUID) == 1
    assert ENHANCED.value.encode() not in data


def test_a_last_box_without_a_length_gets_one(tmp_path):
    path = video(tmp_path / "video.mp4", movflags="+write_colr")  # its index comes last
    data = bytearray(path.read_bytes())
    place = data.rindex(b"moov") - 4
    data[place : place + 4] = bytes(4)
    path.write_bytes(data)
    before = packets_of(path)
    assert write_xmp(path, ".mp4", PACKET)
    assert source_types(path) == (COMPOSITE.value,)
    assert packets_of(path) == before


def test_mov_gets_user_data_and_its_index_stays_first_and_right(tmp_path):
    path = video(tmp_path / "video.mov")
    assert path.read_bytes().index(b"moov") < path.read_bytes().index(b"mdat")
    before = packets_of(path)
    assert write_xmp(path, ".mov", PACKET)
    data = path.read_bytes()
    assert data.index(b"XMP_" + PACKET) < data.index(b"mdat")
    assert packets_of(path) == before


def test_mov_of_which_the_index_comes_last_is_marked_too(tmp_path):
    path = video(tmp_path / "video.mov", movflags="+write_colr")
    assert path.read_bytes().index(b"mdat") < path.read_bytes().index(b"moov")
    before = packets_of(path)
    assert write_xmp(path, ".mov", PACKET)
    assert (packets_of(path), source_types(path)) == (before, (COMPOSITE.value,))


def test_places_beyond_four_gigabytes_get_eight_bytes(tmp_path):
    """A hole of nearly 4 GiB lies in front of the data; it takes no room on the disk."""
    whole = video(tmp_path / "whole.mov", frames=5, sound=False)
    before = packets_of(whole)
    data = bytearray(whole.read_bytes())
    place = data.index(b"mdat") - 4
    hole = (1 << 32) - place - 100
    list_place = data.index(b"stco") + 4
    (count,) = struct.unpack_from(">I", data, list_place + 4)
    for index in range(count):
        at = list_place + 8 + 4 * index
        struct.pack_into(">I", data, at, struct.unpack_from(">I", data, at)[0] + hole)
    path = tmp_path / "large.mov"
    with path.open("wb") as file:
        file.write(data[:place] + struct.pack(">I4s", hole, b"free"))
        file.seek(place + hole)
        file.write(data[place:])
    assert packets_of(path) == before
    edited = sparse_edit(path, PACKET)
    assert b"co64" in edited
    assert b"stco" not in edited
    (first,) = struct.unpack_from(">Q", edited, edited.index(b"co64") + 12)
    (length,) = struct.unpack_from(">I", data, data.index(b"moov") - 4)
    assert first == struct.unpack_from(">I", data, list_place + 8)[0] + len(edited) - length


def sparse_edit(path, packet):
    """The movie as it would be written, without writing 4 GiB."""
    from facefusion.provenance.xmp.movie import quicktime_edits
    from facefusion.provenance.xmp.scan import Scan

    with path.open("rb") as file:
        edits = quicktime_edits(Scan(file, path.stat().st_size), packet)
    assert edits is not None
    (edit,) = edits
    return edit.data


def test_a_mov_in_fragments_is_left_as_it_is(tmp_path):
    path = video(tmp_path / "video.mov", movflags="frag_keyframe+empty_moov", sound=False)
    before = path.read_bytes()
    assert not write_xmp(path, ".mov", PACKET)
    assert path.read_bytes() == before


def test_avi_takes_its_filling_and_nothing_moves(tmp_path):
    path = video(tmp_path / "video.avi")
    before = path.read_bytes()
    assert write_xmp(path, ".avi", PACKET)
    data = path.read_bytes()
    assert len(data) == len(before)
    assert data.index(b"_PMX") < data.index(b"movi")


def test_avi_grows_where_its_filling_is_too_small(tmp_path):
    path = video(tmp_path / "video.avi")
    before, length = packets_of(path), path.stat().st_size
    long = PACKET + b" " * 5000
    assert write_xmp(path, ".avi", long)
    assert (read_xmp(path), packets_of(path)) == (long, before)
    assert path.stat().st_size == length + 8 + len(long) + len(long) % 2
    assert struct.unpack_from("<I", path.read_bytes(), 4) == (path.stat().st_size - 8,)


def test_gif_87_becomes_gif_89(tmp_path):
    path = still(tmp_path, ".gif")
    before = frames_of(path)
    path.write_bytes(b"GIF87a" + path.read_bytes()[6:])
    assert write_xmp(path, ".gif", PACKET)
    assert path.read_bytes()[:6] == b"GIF89a"
    assert frames_of(path) == before


@pytest.mark.parametrize("suffix", [*STILLS, *VIDEOS])
def test_what_is_not_of_that_format_is_refused_and_stays(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    path.write_bytes(b"no picture at all, nor a video")
    with pytest.raises(OutputError, match=f"is damaged, or no {suffix} file: it cannot be marked"):
        write_xmp(path, suffix, PACKET)
    assert path.read_bytes() == b"no picture at all, nor a video"


# What others write.


def jpeg_with(*segments):
    buffer = io.BytesIO()
    noise().save(buffer, "JPEG")
    data = buffer.getvalue()
    added = b"".join(b"\xff\xe1" + struct.pack(">H", 2 + len(body)) + body for body in segments)
    return data[:2] + added + data[2:]


def test_a_jpegs_extended_packet_is_read_in_order_of_its_places(tmp_path):
    rest = packet(ENHANCED)
    name = b"0123456789ABCDEF0123456789ABCDEF"
    main = (
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
        b'xmlns:n="http://ns.adobe.com/xmp/note/" n:HasExtendedXMP="' + name + b'"/></rdf:RDF>'
    )

    def part(of, start, stop):
        head = b"http://ns.adobe.com/xmp/extension/\0" + of + struct.pack(">II", len(rest), start)
        return head + rest[start:stop]

    path = tmp_path / "still.jpg"
    path.write_bytes(
        jpeg_with(
            part(name, 200, None),
            b"http://ns.adobe.com/xap/1.0/\0" + main,
            part(b"F" * 32, 0, 50),
            part(name, 0, 200),
        )
    )
    assert xmp_packets(path) == (main, rest)
    assert source_types(path) == (ENHANCED.value,)


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_pngs_compressed_text_is_read_before_and_behind_the_picture(tmp_path, place):
    path = still(tmp_path, ".png")
    data = path.read_bytes()
    body = b"XML:com.adobe.xmp\0\x01\0en\0XMP\0" + zlib.compress(PACKET)
    split = 33 if place == "before" else len(data) - 12
    path.write_bytes(data[:split] + chunk(b"iTXt", body) + data[split:])
    assert xmp_packets(path) == (PACKET,)


@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt"])
def test_imagemagicks_profile_of_a_png_is_read(tmp_path, kind):
    path = still(tmp_path, ".png")
    data = path.read_bytes()
    text = b"\nxmp\n%8d\n" % len(PACKET) + b"\n".join(PACKET.hex().encode()[n : n + 72] for n in range(0, 900, 72))
    text = text + PACKET.hex().encode()[936:]
    body = b"Raw profile type xmp\0" + (b"\0" + zlib.compress(text) if kind == b"zTXt" else text)
    path.write_bytes(data[:33] + chunk(kind, body) + data[33:])
    assert xmp_packets(path) == (PACKET,)


def test_pillows_files_are_read(tmp_path):
    for suffix in (".jpg", ".png", ".webp", ".tiff", ".avif"):
        path = tmp_path / f"still{suffix}"
        if suffix == ".png":
            from PIL.PngImagePlugin import PngInfo

            told = PngInfo()
            told.add_itxt("XML:com.adobe.xmp", PACKET.decode(), zip=True)
            noise().save(path, pnginfo=told)
        elif suffix == ".tiff":
            noise().save(path, tiffinfo={700: PACKET})
        else:
            noise().save(path, xmp=PACKET)
        assert xmp_packets(path) == (PACKET,), suffix


def test_libheifs_files_are_read(tmp_path):
    path = tmp_path / "still.heic"
    pillow_heif.from_pillow(noise()).save(path, xmp=PACKET)
    assert xmp_packets(path) == (PACKET,)


def test_a_gif_that_cut_its_packet_into_blocks_is_read(tmp_path):
    path = still(tmp_path, ".gif")
    data = path.read_bytes()
    blocks = b"".join(bytes((len(PACKET[n : n + 255]),)) + PACKET[n : n + 255] for n in range(0, len(PACKET), 255))
    path.write_bytes(data[:-1] + b"\x21\xff\x0bXMP DataXMP" + blocks + b"\0" + data[-1:])
    assert xmp_packets(path) == (PACKET,)


def test_a_value_that_the_vocabulary_does_not_know_is_told_as_it_is(tmp_path):
    path = still(tmp_path, ".jpg")
    write_xmp(path, ".jpg", PACKET.replace(COMPOSITE.value.encode(), b"somethingElse &amp; more"))
    assert source_types(path) == ("somethingElse & more",)


def test_the_name_says_nothing(tmp_path):
    path = still(tmp_path, ".png")
    write_xmp(path, ".png", PACKET)
    renamed = path.rename(tmp_path / "still.mp4")
    assert source_types(renamed) == (COMPOSITE.value,)


def test_what_cannot_be_read_at_all_is_said(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.png cannot be read: No such file or directory. Check the path."):
        source_types(tmp_path / "nowhere.png")


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8", b"RIFF", b"II*\0", b"\x1a\x45\xdf\xa3", b"GIF89a", b"\0\0\0\x08ftyp"]
)
def test_what_breaks_off_says_nothing(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    assert (source_types(path), xmp_packets(path)) == ((), ())


# What is made to do harm: each of these would be looked at for hours.


def heif(item_info, locations):
    def box(kind, *parts):
        body = b"".join(parts)
        return struct.pack(">I4s", 8 + len(body), kind) + body

    ftyp = box(b"ftyp", b"heic", bytes(4), b"mif1heic")
    infos = box(b"iinf", bytes(4), struct.pack(">H", len(item_info)), *(box(b"infe", one) for one in item_info))
    return ftyp + box(b"meta", bytes(4), infos, box(b"iloc", locations))


def xmp_item(number):
    return b"\x02\0\0\0" + struct.pack(">HH4s", number, 0, b"mime") + b"\0application/rdf+xml\0"


def test_extents_that_take_no_bytes_are_not_counted_to_the_end(tmp_path):
    path = tmp_path / "file.heic"
    listed = struct.pack(">HHH", 1, 0, 0xFFFF) * 20_000
    path.write_bytes(heif([xmp_item(1)], bytes(4) + struct.pack(">HH", 0, 20_000) + listed))
    assert xmp_packets(path) == ()


def test_an_item_in_pieces_is_put_together(tmp_path):
    path = tmp_path / "file.heic"
    half = len(PACKET) // 2
    locations = bytes(4) + struct.pack(">HHHHH", 0x4400, 1, 7, 0, 2)
    head = len(heif([xmp_item(7)], locations + bytes(16)))
    extents = struct.pack(">IIII", head + 3, half, head + 3 + half, len(PACKET) - half)
    path.write_bytes(heif([xmp_item(7)], locations + extents) + b"gap" + PACKET)
    assert xmp_packets(path) == (PACKET,)


@pytest.mark.parametrize("extents", [[(0, 0xFFFFFFFF)], [(0xFFFFFFF0, 100)], [(0, 100_000)] * 60_000])
def test_items_that_reach_further_than_the_file_or_are_endless_are_none(tmp_path, extents):
    path = tmp_path / "file.heic"
    listed = b"".join(struct.pack(">II", *one) for one in extents)
    path.write_bytes(heif([xmp_item(1)], bytes(4) + struct.pack(">HHHHH", 0x4400, 1, 1, 0, len(extents)) + listed))
    assert xmp_packets(path) == ()


def test_directories_of_a_tiff_that_lie_in_each_other_are_not_followed_for_ever(tmp_path):
    path = tmp_path / "file.tif"
    entries = 60_000
    body = bytearray(b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", entries) + bytes(12 * entries))
    for place in range(8 + 12, 8 + 12 * 5000, 12):
        struct.pack_into("<H", body, place, entries)
    body += b"".join(struct.pack("<I", 8 + 12 * number) for number in range(1, 30_000))
    path.write_bytes(body)
    assert xmp_packets(path) == ()


def test_a_tiff_whose_directory_is_its_own_next_is_read_once(tmp_path):
    path = tmp_path / "file.tif"
    path.write_bytes(b"II*\0" + struct.pack("<IHHHIII", 8, 1, 700, 1, len(PACKET), 26, 8) + PACKET)
    assert xmp_packets(path) == (PACKET,)


def test_a_compressed_text_that_grows_without_bound_is_left(tmp_path):
    path = still(tmp_path, ".png")
    data = path.read_bytes()
    grown = zlib.compress(bytes(100 << 20), 9)
    path.write_bytes(data[:33] + chunk(b"iTXt", b"XML:com.adobe.xmp\0\x01\0\0\0" + grown) + data[33:])
    assert xmp_packets(path) == ()


def test_many_pages_with_a_large_packet_are_not_all_kept(tmp_path):
    path = tmp_path / "file.tif"
    length = 12 << 20
    pages = b"".join(struct.pack("<HHHIII", 1, 700, 1, length, 8, 8 + length + 18 * (n + 1)) for n in range(500))
    with path.open("wb") as file:
        file.write(b"II*\0" + struct.pack("<I", 8 + length))
        file.seek(8 + length)
        file.write(pages)
    assert sum(map(len, xmp_packets(path))) == 3 * length


def test_a_gif_of_blocks_without_end_is_left(tmp_path):
    path = tmp_path / "file.gif"
    path.write_bytes(b"GIF89a" + bytes(7) + b"\x21\xfe" + b"\x01a" * 4_100_000)
    assert xmp_packets(path) == ()
