from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageCms

from facefusion.core.errors import MediaError, OutputError
from facefusion.core.formats import MediaKind
from facefusion.media.image import ImageDetails, image_facts, read_image, read_image_with_details, write_image
from facefusion.media.image import write as image_write
from facefusion.media.image.opening import opened
from facefusion.media.probe import probe
from facefusion.vision.picture import BgrPicture, YuvPicture

HERE = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def noise(*shape, dtype=np.uint8):
    return np.random.default_rng(7).integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def smooth(width=60, height=40):
    y, x = np.mgrid[:height, :width]
    return np.dstack((x * 4, y * 6, 250 - x * 2)).astype(np.uint8)


def bgr(picture):
    assert isinstance(picture, BgrPicture)
    return picture


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tif", ".tiff"])
def test_lossless_formats_keep_every_pixel_outside_the_mask(tmp_path, suffix):
    pixels = noise(40, 60, 3)
    Image.fromarray(pixels).save(tmp_path / f"a{suffix}")
    picture, details = read_image_with_details(tmp_path / f"a{suffix}")
    assert np.array_equal(bgr(picture).pixels, pixels[..., ::-1])
    picture.paste(np.zeros((10, 10, 3), np.uint8), np.ones((10, 10), np.float32), HERE)
    write_image(picture, tmp_path / f"b{suffix}", quality=80, details=details)
    written = np.asarray(Image.open(tmp_path / f"b{suffix}"))
    assert np.all(written[:9, :9] == 0)
    assert np.array_equal(written[11:], pixels[11:]) and np.array_equal(written[:, 11:], pixels[:, 11:])


@pytest.mark.parametrize("suffix", [".png", ".tiff"])
@pytest.mark.parametrize("channels", [3, 4])
def test_sixteen_bits_are_kept(tmp_path, suffix, channels):
    pixels = noise(24, 32, 3, dtype=np.uint16)
    alpha = noise(24, 32, dtype=np.uint16) if channels == 4 else None
    write_image(BgrPicture(pixels, alpha), tmp_path / f"a{suffix}", quality=80)
    again = bgr(read_image(tmp_path / f"a{suffix}"))
    assert again.bit_depth == 16 and np.array_equal(again.pixels, pixels)
    assert (again.alpha is None) == (alpha is None) and (alpha is None or np.array_equal(again.alpha, alpha))
    facts = image_facts(tmp_path / f"a{suffix}")
    assert facts is not None and facts.bit_depth == 16
    write_image(BgrPicture(pixels), tmp_path / "b.bmp", quality=80)
    assert np.array_equal(bgr(read_image(tmp_path / "b.bmp")).pixels, np.rint(pixels / 257))


@pytest.mark.parametrize(("mode", "depth"), [("L", 8), ("I;16", 16)])
def test_grey_stays_grey(tmp_path, mode, depth):
    codes = noise(24, 32, dtype=np.uint8 if depth == 8 else np.uint16)
    Image.fromarray(codes).save(tmp_path / "a.png")
    picture = read_image(tmp_path / "a.png")
    assert isinstance(picture, YuvPicture) and picture.grey and picture.bit_depth == depth
    picture.paste(np.full((8, 8, 3), (200, 10, 90), np.uint8), np.ones((8, 8), np.float32), HERE)
    write_image(picture, tmp_path / "b.png", quality=80)
    with Image.open(tmp_path / "b.png") as image:
        assert image.mode == mode
        assert np.array_equal(np.asarray(image)[10:], codes[10:])


@pytest.mark.parametrize("suffix", [".png", ".webp", ".tiff"])
def test_alpha_is_kept_aside_and_written_back(tmp_path, suffix):
    pixels = np.dstack((smooth(), noise(40, 60)))
    Image.fromarray(pixels).save(tmp_path / "a.png")
    picture, details = read_image_with_details(tmp_path / "a.png")
    picture.paste(np.zeros((10, 10, 3), np.uint8), np.ones((10, 10), np.float32), HERE)
    write_image(picture, tmp_path / f"b{suffix}", quality=90, details=details)
    with Image.open(tmp_path / f"b{suffix}") as image:
        assert image.mode == "RGBA"
        assert np.array_equal(np.asarray(image)[..., 3], pixels[..., 3])
    write_image(picture, tmp_path / "b.jpg", quality=90, details=details)
    assert bgr(read_image(tmp_path / "b.jpg")).alpha is None


@pytest.mark.parametrize("number", range(1, 9))
def test_exif_orientation_is_applied_once(tmp_path, number):
    upright = Image.fromarray(smooth())
    back = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[number]
    exif = Image.Exif()
    exif[274], exif[271] = number, "A maker"
    (upright if back is None else upright.transpose(back)).save(tmp_path / "a.png", exif=exif)
    info = probe(tmp_path / "a.png")
    assert (info.kind, info.size) == (MediaKind.IMAGE, (60, 40))
    picture, details = read_image_with_details(tmp_path / "a.png")
    assert np.array_equal(bgr(picture).pixels, smooth()[..., ::-1])
    write_image(picture, tmp_path / "b.jpg", quality=95, details=details)
    with Image.open(tmp_path / "b.jpg") as image:
        assert image.getexif().get(274, 1) == 1
        assert image.getexif()[271] == "A maker"
        assert image.size == (60, 40)


def test_palette_and_cmyk_become_colour(tmp_path):
    blocks = np.repeat(np.array([[[255, 0, 0], [0, 128, 255], [250, 250, 250]]], np.uint8), 20, axis=1)
    blocks = np.repeat(blocks, 20, axis=0)
    Image.fromarray(blocks).quantize(8).save(tmp_path / "a.png")
    assert np.abs(bgr(read_image(tmp_path / "a.png")).pixels[..., ::-1].astype(int) - blocks).max() <= 2
    Image.fromarray(blocks).convert("CMYK").save(tmp_path / "a.jpg", quality=98)
    assert np.abs(bgr(read_image(tmp_path / "a.jpg")).pixels[..., ::-1].astype(int) - blocks)[5:-5, 5:15].max() <= 6


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".tiff"])
def test_the_colour_profile_goes_along(tmp_path, suffix):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(smooth()).save(tmp_path / "a.jpg", icc_profile=profile)
    picture, details = read_image_with_details(tmp_path / "a.jpg")
    write_image(picture, tmp_path / f"b{suffix}", quality=80, details=details)
    with Image.open(tmp_path / f"b{suffix}") as image:
        assert image.info["icc_profile"] == profile


def test_the_colour_profile_goes_along_with_sixteen_bits(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    details = ImageDetails(icc_profile=profile)
    write_image(BgrPicture(noise(24, 32, 3, dtype=np.uint16)), tmp_path / "a.png", quality=80, details=details)
    with Image.open(tmp_path / "a.png") as image:
        assert image.info["icc_profile"] == profile


def test_quality_decides_the_size_of_a_jpeg(tmp_path):
    sizes = []
    for quality in (0, 50, 80, 100):
        write_image(BgrPicture(noise(64, 64, 3)), tmp_path / "a.jpg", quality=quality)
        sizes.append((tmp_path / "a.jpg").stat().st_size)
    assert sizes == sorted(set(sizes))


def test_content_counts_not_the_extension(tmp_path):
    Image.fromarray(smooth()).save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(tmp_path / "a.jpg")
    assert np.array_equal(bgr(read_image(tmp_path / "a.jpg")).pixels, smooth()[..., ::-1])
    assert probe(tmp_path / "a.jpg").container == "PNG"


def test_damaged_images_are_named(tmp_path):
    buffer = io.BytesIO()
    Image.fromarray(noise(64, 64, 3)).save(buffer, "JPEG")
    (tmp_path / "a.jpg").write_bytes(buffer.getvalue()[: len(buffer.getvalue()) // 2])
    with pytest.raises(MediaError, match=r"a\.jpg is damaged"):
        read_image(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").write_text("not a picture")
    with pytest.raises(MediaError, match=r"b\.jpg is no image that can be read"):
        read_image(tmp_path / "b.jpg")
    (tmp_path / "b.mp4").write_text("not a picture")
    with pytest.raises(
        MediaError, match=r"b\.mp4 is no image that can be read\. Name a picture, such as a frame of it"
    ):
        read_image(tmp_path / "b.mp4")
    with pytest.raises(MediaError, match=r"c\.jpg does not exist"):
        read_image(tmp_path / "c.jpg")


def test_a_decompression_bomb_is_refused_by_its_header(tmp_path):
    data = bytearray()
    buffer = io.BytesIO()
    Image.new("1", (30000, 30000)).save(buffer, "PNG")
    data += buffer.getvalue()
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(MediaError, match="has 30000 x 30000 pixels"):
        read_image(tmp_path / "a.png")


def test_writing_fails_without_touching_what_is_there(tmp_path, monkeypatch):
    target = tmp_path / "a.png"
    target.write_bytes(b"what was there")
    picture = BgrPicture(smooth())
    monkeypatch.setattr(image_write, "eight_bit_codes", lambda image: np.asarray(image) + np.uint8(1))
    with pytest.raises(OutputError, match=r"a\.png was written but reads back differently"):
        write_image(picture, target, quality=80)
    assert target.read_bytes() == b"what was there"
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    with pytest.raises(OutputError, match=r"b\.xyz has no extension of an image that can be written"):
        write_image(picture, tmp_path / "b.xyz", quality=80)
    with pytest.raises(OutputError, match=r"the output folder .* does not exist"):
        write_image(picture, tmp_path / "none" / "b.png", quality=80)


def test_an_avif_whose_pixels_are_damaged_is_named(tmp_path):
    path = tmp_path / "a.avif"
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (48, 64, 3), np.uint8)).save(path)
    data = path.read_bytes()
    begin = data.rindex(b"mdat") + 8
    path.write_bytes(data[:begin] + bytes(32) + data[begin + 32 :])
    with pytest.raises(MediaError, match=r"a\.avif is damaged \(Failed to decode"):
        read_image(path)


def test_an_error_of_our_own_is_not_laid_to_the_file_that_is_open(tmp_path):
    path = tmp_path / "a.png"
    Image.new("L", (4, 4)).save(path)
    with pytest.raises(RuntimeError, match="a defect"), opened(path):
        raise RuntimeError("a defect")


@pytest.mark.parametrize("brand", [b"heic", b"mif1"])
def test_a_damaged_photo_of_a_phone_is_named_instead_of_read_as_a_video_of_its_tiles(tmp_path, brand):
    path = tmp_path / "photo.jpg"
    path.write_bytes(b"\0\0\0\x1cftyp" + brand + b"\0\0\0\0mif1heic" + b"\0" * 100)
    for read in (read_image, probe):
        with pytest.raises(MediaError, match=r"photo\.jpg is a HEIC that is damaged, or of a kind that is not read"):
            read(path)
