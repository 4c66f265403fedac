"""Images that programs write, but hardly anyone meets."""

from __future__ import annotations

import io
import logging
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import imagecodecs
import numpy as np
import pytest
from PIL import Image, ImageCms

from facefusion.core.errors import MediaError, OutputError
from facefusion.core.values import Frame
from facefusion.media.animation import write_animation
from facefusion.media.image import ImageDetails, image_facts, read_image, read_image_with_details, write_image
from facefusion.media.image.png import SIGNATURE, chunk, chunks
from facefusion.media.probe import probe
from facefusion.vision.picture import BgrPicture, YuvPicture
from tests.media.clips import make_clip


def slopes(width=24, height=16):
    y, x = np.mgrid[:height, :width]
    return np.dstack((x * 2500, y * 4000, 65535 - x * 1000)).astype(np.uint16)


def rgb(picture):
    assert isinstance(picture, BgrPicture)
    return picture.pixels[..., ::-1]


def grey(picture):
    assert isinstance(picture, YuvPicture)
    return picture.planes[0]


def saved_tiff(path, codes, **options):
    path.write_bytes(imagecodecs.tiff_encode(np.ascontiguousarray(codes), **options))
    return read_image(path)


def png_with(path, *said):
    """A grey ramp of 16 bits; what is said stands before the pixels."""
    ramp = np.arange(0, 65536, 1024, dtype=np.uint16).reshape(8, 8)
    first, *rest = chunks(bytes(imagecodecs.png_encode(ramp)))
    path.write_bytes(SIGNATURE + b"".join(chunk(kind, body) for kind, body in (first, *said, *rest)))
    return ramp


def test_a_deep_tiff_in_separate_planes(tmp_path):
    planes = np.moveaxis(slopes(), 2, 0)
    picture = saved_tiff(tmp_path / "a.tiff", planes, photometric="rgb", planarconfig="separate")
    assert picture.bit_depth == 16 and np.array_equal(rgb(picture), slopes())


def test_a_deep_tiff_whose_white_is_zero(tmp_path):
    picture = saved_tiff(tmp_path / "a.tiff", 65535 - slopes()[..., 0], photometric="miniswhite")
    assert np.array_equal(grey(picture), slopes()[..., 0])


@pytest.mark.parametrize("kind", ["unassalpha", "assocalpha", "unspecified"])
def test_the_fourth_component_of_a_deep_tiff(tmp_path, kind):
    alpha = np.full((16, 24), 20000, np.uint16)
    colour = np.minimum(slopes(), 65535)
    stored = np.rint(colour * (20000 / 65535)).astype(np.uint16) if kind == "assocalpha" else colour
    codes = np.dstack((stored, alpha))
    picture = saved_tiff(tmp_path / "a.tiff", codes, photometric="rgb", extrasample=kind)
    assert isinstance(picture, BgrPicture)
    worst = 2 if kind == "assocalpha" else 0
    assert np.abs(rgb(picture).astype(int) - colour).max() <= worst
    assert (picture.alpha is None) == (kind == "unspecified")
    assert picture.alpha is None or np.array_equal(picture.alpha, alpha)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_tiff_for_more_than_four_gigabytes(tmp_path, dtype):
    codes = (slopes() // (257 if dtype is np.uint8 else 1)).astype(dtype)
    data = imagecodecs.tiff_encode(codes, photometric="rgb", bigtiff=True, description="of a scan")
    (tmp_path / "a.tiff").write_bytes(data)
    assert data[2] == 43
    picture, details = read_image_with_details(tmp_path / "a.tiff")
    assert np.array_equal(rgb(picture), codes)
    assert write_image(picture, tmp_path / "b.jpg", quality=90, details=details)[1:] == ()
    with Image.open(tmp_path / "b.jpg") as written:
        assert written.getexif()[270] == "of a scan"


def test_a_tiff_without_a_resolution_gets_none(tmp_path):
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "a.tiff")
    picture, details = read_image_with_details(tmp_path / "a.tiff")
    assert details.resolution is None
    write_image(picture, tmp_path / "b.png", quality=90, details=details)
    with Image.open(tmp_path / "b.png") as written:
        assert "dpi" not in written.info


def test_one_transparent_grey_of_a_deep_png(tmp_path):
    ramp = png_with(tmp_path / "a.png", (b"tRNS", struct.pack(">H", 5 * 1024)))
    picture = read_image(tmp_path / "a.png")
    assert isinstance(picture, BgrPicture)
    assert np.array_equal(rgb(picture)[..., 0], ramp)
    assert np.array_equal(picture.alpha == 0, ramp == 5 * 1024)


@pytest.mark.parametrize("name", ["a.ppm", "a.pgm", "a.jp2"])
def test_sixteen_bits_of_formats_that_are_only_read(tmp_path, name):
    codes = slopes()
    data = {
        "a.ppm": b"P6 24 16 65535\n" + codes.astype(">u2").tobytes(),
        "a.pgm": b"P5 24 16 65535\n" + codes[..., 0].astype(">u2").tobytes(),
        "a.jp2": imagecodecs.jpeg2k_encode(codes, level=0),
    }[name]
    (tmp_path / name).write_bytes(data)
    facts = image_facts(tmp_path / name)
    assert facts is not None and facts.bit_depth == 16
    picture = read_image(tmp_path / name)
    assert np.array_equal(grey(picture), codes[..., 0]) if name == "a.pgm" else np.array_equal(rgb(picture), codes)


@pytest.mark.parametrize(
    "profile", [b"broken" * 40, ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()]
)
@pytest.mark.parametrize("suffix", [".jpg", ".tiff"])
def test_cmyk_with_a_profile_of_no_use_is_read_without_and_said(tmp_path, profile, suffix):
    Image.new("CMYK", (16, 16), (0, 255, 255, 0)).save(tmp_path / f"a{suffix}", icc_profile=profile)
    facts = image_facts(tmp_path / f"a{suffix}")
    assert facts is not None and facts.notices == (
        f"a{suffix} is in CMYK; it is converted to sRGB and written so.",
        f"a{suffix} has a colour profile that is broken, or not of CMYK; its colours are estimated.",
    )
    red, green, blue = rgb(read_image(tmp_path / f"a{suffix}"))[8, 8]
    assert red > 200 and green < 60 and blue < 60


def test_gamma_and_primaries_of_a_png_stay_in_a_png_and_are_said_elsewhere(tmp_path):
    adobe = (b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000))
    linear = (b"gAMA", struct.pack(">I", 100000))
    png_with(tmp_path / "a.png", linear, adobe)
    picture, details = read_image_with_details(tmp_path / "a.png")
    assert write_image(picture, tmp_path / "b.png", quality=90, details=details) == ()
    written = list(chunks((tmp_path / "b.png").read_bytes()))
    assert linear in written and adobe in written
    assert write_image(picture, tmp_path / "b.tiff", quality=90, details=details) == (
        "b.tiff does not keep what the source holds beside its pixels: the gamma or the primaries of its colours; "
        "they are shown as sRGB.",
    )
    png_with(tmp_path / "usual.png", (b"gAMA", struct.pack(">I", 45455)))
    assert read_image_with_details(tmp_path / "usual.png")[1] == ImageDetails(bit_depth=16, grey=True)


def test_colour_codes_of_a_png_count_before_its_profile(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    stream = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stream, "PNG", icc_profile=profile)
    first, *rest = chunks(stream.getvalue())
    said = (first, (b"cICP", bytes((9, 16, 0, 1))), *rest)
    (tmp_path / "a.png").write_bytes(SIGNATURE + b"".join(chunk(kind, body) for kind, body in said))
    picture, details = read_image_with_details(tmp_path / "a.png")
    write_image(picture, tmp_path / "b.png", quality=90, details=details)
    kinds = [kind for kind, _ in chunks((tmp_path / "b.png").read_bytes())]
    assert kinds.index(b"cICP") < kinds.index(b"iCCP") < kinds.index(b"IDAT")


@pytest.mark.parametrize(("suffix", "longest"), [(".jpg", 65500), (".webp", 16383), (".avif", 32768), (".gif", 65535)])
def test_a_side_that_a_format_does_not_hold_is_named(tmp_path, suffix, longest):
    picture = BgrPicture(np.zeros((1, longest + 1, 3), np.uint8))
    path = tmp_path / f"a{suffix}"
    with pytest.raises(OutputError) as caught:
        write_image(picture, path, quality=80)
    assert f"holds {longest} pixels per side, and the result has {longest + 1} x 1. Choose another format" in str(
        caught.value
    )
    if suffix in (".webp", ".gif"):
        with pytest.raises(OutputError, match=f"holds {longest} pixels per side"):
            write_animation([Frame(0, Fraction(0), picture)], path, quality=80)
    assert list(tmp_path.iterdir()) == []


def test_what_is_too_long_for_a_jpeg_is_left_out_and_said(tmp_path):
    exif = Image.Exif()
    exif[271] = "m" * 70000
    details = ImageDetails(exif=exif.tobytes(), xmp=b"<x>" + b" " * 70000 + b"</x>")
    picture = BgrPicture(np.zeros((8, 8, 3), np.uint8))
    start = "a.jpg does not keep what the source holds beside its pixels: "
    assert write_image(picture, tmp_path / "a.jpg", quality=80, details=details) == (
        start + "EXIF data, which is longer than the 65000 bytes that a JPEG holds.",
        start + "XMP data, which is longer than the 65000 bytes that a JPEG holds.",
    )
    assert write_image(picture, tmp_path / "a.webp", quality=80, details=details) == ()


def test_a_codec_without_a_decoder_is_an_error_that_says_what_to_do(tmp_path):
    make_clip(tmp_path / "a.mp4")
    (tmp_path / "a.mp4").write_bytes((tmp_path / "a.mp4").read_bytes().replace(b"avc1", b"none"))
    with pytest.raises(MediaError) as caught:
        probe(tmp_path / "a.mp4")
    assert "cannot be decoded here. Convert it, a picture to PNG, a video to H.264." in str(caught.value)


def test_a_picture_of_a_format_that_is_not_read_is_an_error_that_says_what_to_do(tmp_path):
    (tmp_path / "a.jxl").write_bytes(imagecodecs.jpegxl_encode(np.zeros((8, 8, 3), np.uint8)))
    with pytest.raises(MediaError) as caught:
        probe(tmp_path / "a.jxl")
    assert "of a kind that is not read here" in str(caught.value)
    assert "Convert it, a picture to PNG, a video to H.264, or name" in str(caught.value)


def test_a_profile_within_a_video_does_not_end_the_process(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    frame = io.BytesIO()
    Image.new("RGB", (32, 32)).save(frame, "JPEG", icc_profile=profile)
    with av.open(str(tmp_path / "a.avi"), "w") as container:
        stream = container.add_stream("mjpeg", rate=25)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuvj420p"
        packet = av.Packet(frame.getvalue())
        packet.stream, packet.pts, packet.dts, packet.time_base = stream, 0, 0, Fraction(1, 25)
        packet.is_keyframe = True
        container.mux(packet)
    assert b"ICC_PROFILE" in (tmp_path / "a.avi").read_bytes()
    code = (
        "import gc, pathlib, sys; from facefusion.media.probe import probe; "
        "info = probe(pathlib.Path(sys.argv[1])); gc.collect(); print(*info.size)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.avi")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert (done.returncode, done.stdout) == (0, "32 32\n")


def test_what_the_decoders_of_deep_images_tell_a_log_is_not_told_to_people(caplog):
    """The error that follows says that the file is damaged."""
    logging.getLogger("imagecodecs").warning("PNG warning: IDAT: incorrect data check")
    assert caplog.records == []
