from __future__ import annotations

import struct
import zlib

import imagecodecs
import numpy as np
import pillow_heif
import pytest
from PIL import Image

from facefusion.core.errors import MediaError, OutputError
from facefusion.media.image import ImageDetails, image_facts, read_image, read_image_with_details, write_image
from facefusion.media.image.colour_codes import ColourCodes
from facefusion.vision.picture import BgrPicture, YuvPicture


def slopes(peak, channels=3, width=64, height=48):
    """Smooth colours up to ``peak``, with every step of the depth in them."""
    y, x = np.mgrid[:height, :width]
    planes = (x * peak // width, y * peak // height, (x + y) * peak // (width + height), peak - x * peak // width)
    return np.dstack(planes[:channels]).astype(np.uint8 if peak == 255 else np.uint16)


def load(path):
    return bgr(read_image(path))


def bgr(picture):
    assert isinstance(picture, BgrPicture)
    return picture


def pixels(picture):
    return bgr(picture).pixels[..., ::-1].astype(int)


@pytest.mark.parametrize("depth", [10, 12])
def test_deep_avif_is_read_in_its_own_depth_and_written_so(tmp_path, depth):
    codes = slopes((1 << depth) - 1, 4)
    (tmp_path / "a.avif").write_bytes(imagecodecs.avif_encode(codes, level=100, bitspersample=depth))
    facts = image_facts(tmp_path / "a.avif")
    assert facts is not None and (facts.format, facts.bit_depth) == ("AVIF", depth)
    picture, details = read_image_with_details(tmp_path / "a.avif")
    picture = bgr(picture)
    assert details.bit_depth == depth and picture.bit_depth == 16
    expected = np.rint(codes * 65535.0 / ((1 << depth) - 1))
    assert np.array_equal(pixels(picture), expected[..., :3])
    assert np.array_equal(picture.alpha, expected[..., 3])
    assert write_image(picture, tmp_path / "b.avif", quality=100, details=details) == ()
    assert np.array_equal(imagecodecs.avif_decode((tmp_path / "b.avif").read_bytes()), codes)
    assert write_image(picture, tmp_path / "b.png", quality=80, details=details) == ()
    assert np.array_equal(pixels(load(tmp_path / "b.png")), expected[..., :3])


def test_ten_bits_of_a_heic_photo_are_kept(tmp_path):
    codes = slopes(1023)
    with (tmp_path / "a.heic").open("wb") as file:
        pillow_heif.encode("RGB;16", (64, 48), (codes << 6).tobytes(), file, quality=95, chroma=444)
    facts = image_facts(tmp_path / "a.heic")
    assert facts is not None and (facts.format, facts.bit_depth) == ("HEIF", 10)
    picture, details = read_image_with_details(tmp_path / "a.heic")
    error = np.abs(pixels(picture) / 65535 * 1023 - codes)
    assert error.mean() < 2 and len(np.unique(pixels(picture))) > 400
    assert write_image(picture, tmp_path / "b.heic", quality=95, details=details) == ()
    again, details = read_image_with_details(tmp_path / "b.heic")
    assert details.bit_depth == 10 and np.abs(pixels(again) - pixels(picture)).mean() < 65535 * 0.004


@pytest.mark.parametrize(
    ("suffix", "channels", "worst"),
    [
        (".avif", 3, 4),
        (".avif", 4, 4),
        (".heic", 3, 4),
        (".heic", 4, 4),
        (".heif", 3, 4),
        (".webp", 4, 6),
        (".gif", 3, 6),
    ],
)
def test_eight_bit_colour_survives(tmp_path, suffix, channels, worst):
    codes = slopes(255, channels)
    alpha = codes[..., 3].copy() if channels == 4 else None
    picture = BgrPicture(np.ascontiguousarray(codes[..., 2::-1]), alpha)
    write_image(picture, tmp_path / f"a{suffix}", quality=95)
    again = load(tmp_path / f"a{suffix}")
    assert np.abs(pixels(again) - codes[..., :3]).mean() < worst
    assert (again.alpha is None) == (alpha is None)
    assert alpha is None or np.abs(again.alpha.astype(int) - alpha).mean() < 2


def test_quality_100_of_webp_loses_nothing(tmp_path):
    codes = np.random.default_rng(1).integers(0, 256, (20, 30, 3), np.uint8)
    write_image(BgrPicture(codes), tmp_path / "a.webp", quality=100)
    assert np.array_equal(load(tmp_path / "a.webp").pixels, codes)


@pytest.mark.parametrize(
    ("suffix", "notice"),
    [
        (".jpg", "a.jpg holds 8 bits per component; the 16 of the source are rounded."),
        (".bmp", "a.bmp holds 8 bits per component; the 16 of the source are rounded."),
        (".avif", "a.avif holds 12 bits per component; the 16 of the source are rounded."),
        (".heic", "a.heic holds 10 bits per component; the 16 of the source are rounded."),
        (".png", None),
        (".tif", None),
    ],
)
def test_depth_that_a_format_has_not_is_said(tmp_path, suffix, notice):
    notices = write_image(BgrPicture(slopes(65535)), tmp_path / f"a{suffix}", quality=90)
    assert notices == (() if notice is None else (notice,))


@pytest.mark.parametrize("suffix", [".jpg", ".bmp"])
def test_transparency_that_a_format_has_not_is_laid_over_white_and_said(tmp_path, suffix):
    alpha = np.zeros((40, 60), np.uint8)
    alpha[:, 30:] = 255
    alpha[:8] = 51
    picture = BgrPicture(np.full((40, 60, 3), (40, 80, 120), np.uint8), alpha)
    notices = write_image(picture, tmp_path / f"a{suffix}", quality=100)
    assert notices == (f"a{suffix} cannot be transparent; the picture is laid over white.",)
    seen = load(tmp_path / f"a{suffix}").to_bgr().astype(int)
    assert np.abs(seen[20:, :20] - 255).max() <= 4
    assert np.abs(seen[20:, 40:] - (40, 80, 120)).max() <= 4
    assert np.abs(seen[:4, :] - (212, 220, 228)).max() <= 4
    opaque = BgrPicture(picture.pixels, np.full((40, 60), 255, np.uint8))
    assert write_image(opaque, tmp_path / f"b{suffix}", quality=100) == ()


def test_a_gif_says_what_becomes_of_half_transparent_pixels(tmp_path):
    alpha = np.zeros((20, 20), np.uint8)
    alpha[:, 10:], alpha[0, 0] = 255, 90
    notices = write_image(BgrPicture(np.full((20, 20, 3), 200, np.uint8), alpha), tmp_path / "a.gif", quality=80)
    assert notices == ("a.gif knows only fully transparent pixels; half-transparent ones become one or the other.",)
    again = load(tmp_path / "a.gif")
    assert np.array_equal(again.alpha, np.where(alpha < 128, 0, 255)) and np.all(again.pixels[:, 10:] == 200)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("suffix", [".png", ".tiff"])
def test_grey_with_alpha_stays_so(tmp_path, dtype, suffix):
    codes = np.random.default_rng(2).integers(0, np.iinfo(dtype).max, (20, 30, 2), dtype, endpoint=True)
    (tmp_path / "a.png").write_bytes(imagecodecs.png_encode(codes))
    picture, details = read_image_with_details(tmp_path / "a.png")
    picture = bgr(picture)
    assert details.grey and np.array_equal(picture.alpha, codes[..., 1])
    assert all(np.array_equal(picture.pixels[..., channel], codes[..., 0]) for channel in range(3))
    write_image(picture, tmp_path / f"b{suffix}", quality=80, details=details)
    decode = imagecodecs.png_decode if suffix == ".png" else imagecodecs.tiff_decode
    written = decode((tmp_path / f"b{suffix}").read_bytes())
    if (suffix, dtype) == (".tiff", np.uint16):  # which hardly a program would open as grey
        assert np.array_equal(written, codes[..., (0, 0, 0, 1)])
    else:
        assert np.array_equal(written, codes)


def test_bilevel_and_palette_pictures(tmp_path):
    bits = np.indices((16, 24)).sum(axis=0) % 2 == 0
    Image.fromarray(bits).save(tmp_path / "a.png")
    picture = read_image(tmp_path / "a.png")
    assert isinstance(picture, YuvPicture) and np.array_equal(picture.planes[0], bits * np.uint8(255))
    palette = Image.fromarray((np.arange(384).reshape(16, 24) % 3).astype(np.uint8))
    palette.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    palette.save(tmp_path / "b.png", transparency=1)
    picture = load(tmp_path / "b.png")
    assert pixels(picture)[0, :3].tolist() == [[10, 20, 30], [40, 50, 60], [70, 80, 90]]
    assert picture.alpha[0, :3].tolist() == [255, 0, 255]


def test_one_transparent_colour_of_a_deep_png(tmp_path):
    codes = slopes(65535)
    plain = imagecodecs.png_encode(codes)
    body = b"tRNS" + struct.pack(">HHH", *(int(value) for value in codes[3, 5]))
    key = struct.pack(">I", 6) + body + struct.pack(">I", zlib.crc32(body))
    (tmp_path / "a.png").write_bytes(plain[:33] + key + plain[33:])
    picture = load(tmp_path / "a.png")
    assert np.array_equal(pixels(picture), codes)
    assert np.array_equal(picture.alpha == 0, np.all(codes == codes[3, 5], axis=2))


def test_premultiplied_alpha_of_a_tiff_is_made_straight(tmp_path):
    straight = np.full((8, 8, 4), (200, 100, 50, 128), np.uint8)
    premultiplied = straight.copy()
    premultiplied[..., :3] = np.rint(straight[..., :3] * (128 / 255))
    data = imagecodecs.tiff_encode(premultiplied, photometric="rgb", extrasample="assocalpha")
    (tmp_path / "a.tiff").write_bytes(data)
    picture = load(tmp_path / "a.tiff")
    assert np.abs(pixels(picture) - (200, 100, 50)).max() <= 2 and np.all(picture.alpha == 128)


@pytest.mark.parametrize(
    ("codes", "photometric"),
    [
        (np.zeros((8, 8), np.float32), "minisblack"),
        (np.zeros((8, 8, 3), np.float32), "rgb"),
        (np.zeros((8, 8), np.int16), "minisblack"),
        (np.zeros((8, 8), np.uint32), "minisblack"),
    ],
)
def test_tiffs_of_other_numbers_are_refused_by_name(tmp_path, codes, photometric):
    (tmp_path / "a.tiff").write_bytes(imagecodecs.tiff_encode(codes, photometric=photometric))
    for look in (image_facts, read_image):
        with pytest.raises(MediaError, match=r"a\.tiff is a TIFF "):
            look(tmp_path / "a.tiff")


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".tiff", ".avif", ".heic", ".bmp"])
@pytest.mark.parametrize("deep", [False, True])
def test_a_file_that_breaks_off_is_never_shown_in_part(tmp_path, suffix, deep):
    noise = np.random.default_rng(3).integers(0, 65536, (64, 64, 3), np.uint16)
    picture = BgrPicture(noise if deep else (noise >> 8).astype(np.uint8))
    write_image(picture, tmp_path / f"a{suffix}", quality=90)
    data = (tmp_path / f"a{suffix}").read_bytes()
    for share in (0.3, 0.6, 0.9):
        (tmp_path / "cut").write_bytes(data[: int(len(data) * share)])
        with pytest.raises(MediaError, match=r"cut is .*damaged"):
            load(tmp_path / "cut")


def test_colours_of_an_avif_without_profile_go_along_or_are_said(tmp_path):
    codes = slopes(1023)
    data = imagecodecs.avif_encode(codes, level=100, bitspersample=10, primaries=9, transfer=16, matrix=0)
    (tmp_path / "a.avif").write_bytes(data)
    picture, details = read_image_with_details(tmp_path / "a.avif")
    assert details.colour_codes == ColourCodes(9, 16)
    for suffix in (".avif", ".png", ".heic"):
        assert write_image(picture, tmp_path / f"b{suffix}", quality=90, details=details) == ()
        assert read_image_with_details(tmp_path / f"b{suffix}")[1].colour_codes == ColourCodes(9, 16)
    assert write_image(picture, tmp_path / "b.jpg", quality=90, details=details) == (
        "b.jpg holds 8 bits per component; the 10 of the source are rounded.",
        "b.jpg does not keep what the source holds beside its pixels: the description of its colours "
        "(H.273 primaries 9, transfer 16); they are shown as sRGB.",
    )


def test_the_subsampling_of_the_source_is_kept(tmp_path):
    for suffix, chroma in ((".jpg", 0), (".avif", 0), (".avif", 1), (".heic", 0), (".heic", 2)):
        details = ImageDetails(subsampling=chroma)
        write_image(BgrPicture(slopes(255)), tmp_path / f"a{suffix}", quality=80, details=details)
        assert read_image_with_details(tmp_path / f"a{suffix}")[1].subsampling == chroma


def test_an_unknown_extension_names_the_known_ones(tmp_path):
    with pytest.raises(OutputError) as caught:
        write_image(BgrPicture(slopes(255)), tmp_path / "a.psd", quality=80)
    assert str(caught.value) == (
        f"{tmp_path / 'a.psd'} has no extension of an image that can be written. Use one of .apng, .avif, .bmp, .gif, "
        ".heic, .heif, .jpeg, .jpg, .png, .tif, .tiff, .webp."
    )
