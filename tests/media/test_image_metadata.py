from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageCms, PngImagePlugin
from PIL.TiffImagePlugin import IFDRational

from facefusion.core.values import Size
from facefusion.media.image import ImageDetails, image_facts, read_image_with_details, write_image
from facefusion.vision.picture import BgrPicture

METADATA = [".jpg", ".png", ".webp", ".tiff", ".avif", ".heic"]
XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="%d" tiff:Make="A maker"/>'
    b"</rdf:RDF></x:xmpmeta>"
)
HEADER = b"Exif\0\0"
EXIF_IFD, GPS_IFD = 0x8769, 0x8825


def smooth(width=64, height=48):
    y, x = np.mgrid[:height, :width]
    return np.dstack((x * 3, y * 5, 250 - x * 2)).astype(np.uint8)


def srgb():
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def photo(path, profile=None):
    """A photo as cameras write it: on its side, with everything beside the pixels."""
    exif = Image.Exif()
    exif[271], exif[274], exif[306] = "A maker", 6, "2024:05:06 07:08:09"
    exif.get_ifd(EXIF_IFD).update({33434: IFDRational(1, 250), 37500: b"\x01\x02maker", 40962: 48, 40963: 64})
    exif.get_ifd(GPS_IFD).update({1: "N", 2: (48.0, 8.0, 0.0)})
    Image.fromarray(smooth()).transpose(Image.Transpose.ROTATE_90).save(
        path, exif=exif, xmp=XMP % 6, icc_profile=profile or srgb(), dpi=(300, 300), quality=95
    )


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("suffix", METADATA)
def test_what_belongs_to_a_photo_goes_along(tmp_path, suffix, deep):
    profile = srgb()
    photo(tmp_path / "a.jpg", profile)
    picture, details = read_image_with_details(tmp_path / "a.jpg")
    if deep:
        assert isinstance(picture, BgrPicture)
        picture = BgrPicture(picture.pixels.astype(np.uint16) * 257)
        details = ImageDetails(profile, details.exif, details.xmp, resolution=details.resolution, bit_depth=10)
    write_image(picture, tmp_path / f"b{suffix}", quality=90, details=details)
    again = read_image_with_details(tmp_path / f"b{suffix}")[1]
    with Image.open(tmp_path / f"b{suffix}") as image:
        exif = image.getexif()
        assert image.size == (64, 48)
        assert (exif[271], exif[306]) == ("A maker", "2024:05:06 07:08:09")
        assert exif.get(274, 1) == 1
        inner = exif.get_ifd(EXIF_IFD)
        assert (float(inner[33434]), inner[37500], inner[40962], inner[40963]) == (0.004, b"\x01\x02maker", 64, 48)
        assert exif.get_ifd(GPS_IFD)[2] == (48.0, 8.0, 0.0)
    assert again.icc_profile == profile
    assert again.xmp == XMP % 1
    if suffix in (".jpg", ".png", ".tiff"):
        assert again.resolution == pytest.approx((300, 300), abs=0.1)


def test_a_resized_photo_says_its_new_size(tmp_path):
    photo(tmp_path / "a.jpg")
    _, details = read_image_with_details(tmp_path / "a.jpg")
    exif = Image.Exif()
    exif.load(details.exif_for(Size(128, 96)))
    assert (exif.get_ifd(EXIF_IFD)[40962], exif.get_ifd(EXIF_IFD)[40963]) == (128, 96)


def test_the_preview_of_the_source_is_dropped(tmp_path):
    preview = io.BytesIO()
    Image.new("RGB", (16, 16), (255, 0, 0)).save(preview, "JPEG")
    exif = Image.Exif()
    exif[271] = "A maker"
    body = bytearray(exif.tobytes().removeprefix(HEADER))
    # A second directory behind the first, as cameras lay the preview: compression, offset, length.
    second = len(body)
    size = len(preview.getvalue())
    entries = struct.pack(">HHIHH", 259, 3, 1, 6, 0)
    entries += struct.pack(">HHII", 513, 4, 1, second + 2 + 3 * 12 + 4) + struct.pack(">HHII", 514, 4, 1, size)
    link = 8 + 2 + 12
    body[link : link + 4] = struct.pack(">I", second)
    body += struct.pack(">H", 3) + entries + bytes(4) + preview.getvalue()
    Image.fromarray(smooth()).save(tmp_path / "a.jpg", exif=HEADER + bytes(body))
    with Image.open(tmp_path / "a.jpg") as image:
        assert image.getexif().get_ifd(ExifTags.IFD.IFD1)[514] == size
    picture, details = read_image_with_details(tmp_path / "a.jpg")
    write_image(picture, tmp_path / "b.jpg", quality=90, details=details)
    with Image.open(tmp_path / "b.jpg") as image:
        assert image.getexif()[271] == "A maker" and not image.getexif().get_ifd(ExifTags.IFD.IFD1)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_damaged_exif_is_left_out_and_said(tmp_path):
    Image.fromarray(smooth()).save(tmp_path / "a.jpg", exif=b"Exif\0\0II*\0\xff\xff\xff\x7f")
    picture, details = read_image_with_details(tmp_path / "a.jpg")
    assert details.exif == b""
    assert write_image(picture, tmp_path / "b.jpg", quality=90, details=details) == (
        "b.jpg does not keep what the source holds beside its pixels: EXIF data, which is damaged.",
    )


@pytest.mark.parametrize("suffix", [".bmp", ".gif"])
def test_what_a_format_cannot_carry_is_said(tmp_path, suffix):
    photo(tmp_path / "a.jpg")
    picture, details = read_image_with_details(tmp_path / "a.jpg")
    notices = write_image(picture, tmp_path / f"b{suffix}", quality=90, details=details)
    before = f"b{suffix} does not keep what the source holds beside its pixels: "
    assert notices == (
        before + "a colour profile; its colours are shown as sRGB.",
        before + "EXIF data.",
        before + "XMP data.",
    )


def test_a_profile_that_does_not_fit_is_dropped_and_said(tmp_path):
    grey = BgrPicture(smooth())
    details = ImageDetails(icc_profile=srgb(), grey=True)
    assert write_image(grey, tmp_path / "a.png", quality=90, details=details) == (
        "a.png does not keep what the source holds beside its pixels: "
        "its colour profile, which does not describe greys.",
    )
    with Image.open(tmp_path / "a.png") as image:
        assert image.mode == "L" and "icc_profile" not in image.info


def test_cmyk_becomes_srgb_and_is_said(tmp_path):
    blocks = np.repeat(np.repeat(np.array([[[255, 0, 0], [0, 128, 255]]], np.uint8), 24, axis=0), 24, axis=1)
    Image.fromarray(blocks).convert("CMYK").save(tmp_path / "a.jpg", quality=98)
    facts = image_facts(tmp_path / "a.jpg")
    assert facts is not None
    assert facts.notices == ("a.jpg is in CMYK; it is converted to sRGB and written so.",)
    picture, details = read_image_with_details(tmp_path / "a.jpg")
    write_image(picture, tmp_path / "b.jpg", quality=98, details=details)
    with Image.open(tmp_path / "b.jpg") as image:
        assert image.mode == "RGB"
        assert np.abs(np.asarray(image).astype(int) - blocks)[4:-4, 4:20].max() <= 8


def test_texts_and_comments_stay_in_their_format(tmp_path):
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "A title")
    info.add_itxt("Author", "Zoë 山")
    Image.fromarray(smooth()).save(tmp_path / "a.png", pnginfo=info)
    picture, details = read_image_with_details(tmp_path / "a.png")
    assert write_image(picture, tmp_path / "b.png", quality=90, details=details) == ()
    with Image.open(tmp_path / "b.png") as image:
        assert isinstance(image, PngImagePlugin.PngImageFile)
        assert image.text == {"Title": "A title", "Author": "Zoë 山"}
    before = "does not keep what the source holds beside its pixels"
    assert write_image(picture, tmp_path / "b.jpg", quality=90, details=details) == (f"b.jpg {before}: texts.",)
    Image.fromarray(smooth()).save(tmp_path / "c.jpg", comment=b"A comment")
    picture, details = read_image_with_details(tmp_path / "c.jpg")
    assert write_image(picture, tmp_path / "d.jpg", quality=90, details=details) == ()
    with Image.open(tmp_path / "d.jpg") as image:
        assert image.info["comment"] == b"A comment"
    assert write_image(picture, tmp_path / "d.png", quality=90, details=details) == (f"d.png {before}: the comment.",)


def test_further_pictures_of_a_file_are_said(tmp_path):
    frames = [Image.fromarray(smooth()), Image.fromarray(smooth()[::-1])]
    frames[0].save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=frames[1:])
    picture, details = read_image_with_details(tmp_path / "a.jpg")
    assert write_image(picture, tmp_path / "b.jpg", quality=90, details=details) == (
        "b.jpg does not keep what the source holds beside its pixels: "
        "further pictures in the file (a gain map, a second view).",
    )
    frames = [Image.fromarray(smooth()), Image.fromarray(smooth())]
    frames[0].save(tmp_path / "a.tiff", save_all=True, append_images=frames[1:])
    facts = image_facts(tmp_path / "a.tiff")
    assert facts is not None and facts.notices == ("a.tiff has several pages; the first is used.",)


def test_caption_and_rights_of_agencies_stay_in_a_jpeg(tmp_path):
    iptc = b"\x1c\x02\x74\x00\x09(c) Them."
    body = b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0" + struct.pack(">I", len(iptc)) + iptc + b"\0" * (len(iptc) % 2)
    segment = b"\xff\xed" + struct.pack(">H", 2 + len(body)) + body
    Image.fromarray(smooth()).save(tmp_path / "a.jpg", extra=segment)
    picture, details = read_image_with_details(tmp_path / "a.jpg")
    assert details.iptc == iptc
    assert write_image(picture, tmp_path / "b.jpg", quality=90, details=details) == ()
    assert read_image_with_details(tmp_path / "b.jpg")[1].iptc == iptc
    assert write_image(picture, tmp_path / "b.png", quality=90, details=details) == (
        "b.png does not keep what the source holds beside its pixels: IPTC data.",
    )
