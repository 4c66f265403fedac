"""Images: read upright and in their own depth, written atomically and verified.

What a format cannot say in BGR or grey is converted once: palettes and bilevel pictures to RGB or grey, CMYK to RGB
(through its profile where it has one). Alpha is kept aside and written back where the result's format has it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageCms, ImageFile, JpegImagePlugin, UnidentifiedImageError

from facefusion.core.errors import MediaError, OutputError
from facefusion.core.values import Picture, Size
from facefusion.media.orientation import Orientation
from facefusion.media.output import move_into_place, part_path
from facefusion.media.source import check_file
from facefusion.vision.colour import Coding, Matrix, Plane
from facefusion.vision.picture import BgrPicture, Layout, YuvPicture

MOST_PIXELS = 1 << 28
"""Larger pictures are refused before any pixel is decoded: 16384 x 16384, 0.8 GB in 8-bit colour."""

EXIF_ORIENTATION = 274

FORMATS: dict[str, str] = {
    ".bmp": "BMP",
    ".jpeg": "JPEG",
    ".jpg": "JPEG",
    ".png": "PNG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".webp": "WEBP",
}
"""Formats that can be written, by extension."""

DEEP_FORMATS = ("PNG", "TIFF")
"""Formats that hold 16 bits per component."""
HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1")
"""Kinds of HEIF file (photos of phones), as the file's first box names them."""
ALPHA_FORMATS = ("PNG", "TIFF", "WEBP")
LOSSLESS_FORMATS = ("BMP", "PNG", "TIFF")

FULL_CHROMA_FROM = 90
"""JPEG quality from which chroma is not subsampled, where the source does not say how it was."""

# The limit is our own and checked in `_open`; Pillow's would warn from a third of it on.
Image.MAX_IMAGE_PIXELS = None


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What the header of an image says."""

    format: str
    size: Size
    """As stored."""
    mode: str
    bit_depth: int
    orientation: Orientation
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageDetails:
    """What a result takes over from its source beside the pixels."""

    icc_profile: bytes | None = None
    exif: bytes = b""
    """Without the orientation, which is applied to the pixels."""
    resolution: tuple[float, float] | None = None
    """Pixels per inch."""
    subsampling: int | None = None
    """Chroma subsampling of a JPEG as Pillow numbers it (0: 4:4:4, 1: 4:2:2, 2: 4:2:0)."""


def image_facts(path: Path) -> ImageFacts | None:
    """Read the header of an image; none where the file is no still image (an animated GIF counts as a video).

    Raises:
        MediaError: the picture is too large, or of a format known but not read.
    """
    try:
        with _open(path) as image:
            if image.format == "GIF":
                return None
            animated = getattr(image, "n_frames", 1) > 1 and image.format in ("WEBP", "PNG", "AVIF")
            notices = (f"{path.name} is animated; its first frame is used.",) if animated else ()
            depth = 16 if _is_deep(image) else 8
            orientation = Orientation.from_exif(image.getexif().get(EXIF_ORIENTATION, 1))
            return ImageFacts(image.format or "", Size(*image.size), image.mode, depth, orientation, notices)
    except UnidentifiedImageError:
        _refuse_heif(path)
        return None


def read_image(path: Path) -> Picture:
    """Read an image, turned upright.

    Raises:
        MediaError: missing, no image, damaged or too large.
    """
    return read_image_with_details(path)[0]


def read_image_with_details(path: Path) -> tuple[Picture, ImageDetails]:
    """Read an image and what a result made of it should take over.

    Raises:
        MediaError: missing, no image, damaged or too large.
    """
    check_file(path)
    try:
        with _open(path) as image:
            deep_colour = _is_deep(image) and "RGB" in image.mode  # asked first: reading EXIF may load the pixels
            orientation = Orientation.from_exif(image.getexif().get(EXIF_ORIENTATION, 1))
            details = _details(image)
            codes = _deep_codes(path) if deep_colour else _codes(image)
    except UnidentifiedImageError as error:
        _refuse_heif(path)
        raise MediaError(f"{path} is no image that can be read", "Check that it opens in a viewer.") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise MediaError(f"{path} is damaged ({error})", "Get the file again or repair it in an editor.") from error
    return _picture(orientation.apply(codes)), details


def write_image(picture: Picture, path: Path, *, quality: int, details: ImageDetails | None = None) -> None:
    """Write a picture, in the format that the extension names, verify it by reading it back, and move it into place.

    Depth is kept where the format has it (PNG, TIFF), else rounded to 8 bits. Alpha is kept in PNG, TIFF and WebP.

    Args:
        picture: the picture.
        path: where to.
        quality: 0..100 for JPEG and WebP.
        details: of the image that the picture was made of.

    Raises:
        OutputError: unknown extension, no place to write to, or the file read back is not what was written.
    """
    format_name = FORMATS.get(path.suffix.lower())
    if format_name is None:
        raise OutputError(
            f"{path} has no extension of an image that can be written", f"Use one of {', '.join(sorted(FORMATS))}."
        )
    part = part_path(path)
    codes = _codes_of(picture, deep=format_name in DEEP_FORMATS, alpha=format_name in ALPHA_FORMATS)
    try:
        part.write_bytes(_encode(codes, format_name, quality, details or ImageDetails()))
        _verify(part, codes, path, lossless=format_name in LOSSLESS_FORMATS)
        move_into_place(part, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error})", "Check the disk and the folder.") from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _open(path: Path) -> Iterator[Image.Image]:
    with Image.open(path) as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            raise MediaError(
                f"{path} has {width} x {height} pixels, more than the {MOST_PIXELS} that are accepted",
                "Scale it down first.",
            )
        yield image


def _refuse_heif(path: Path) -> None:
    """FFmpeg opens such a file as a video, of which it shows one tile where the photo has many."""
    with path.open("rb") as file:
        head = file.read(12)
    if head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS:
        raise MediaError(f"{path} is a HEIC photo, which this program does not read", "Save it as JPEG or PNG first.")


def _is_deep(image: Image.Image) -> bool:
    """Whether the file holds 16 bits per component; Pillow reads colour of that depth as 8 bits."""
    tiles = image.tile if isinstance(image, ImageFile.ImageFile) else []
    raw = str(tiles[0].args) if tiles else ""
    return image.mode.startswith("I") or ";16" in raw


def _details(image: Image.Image) -> ImageDetails:
    exif = Image.Exif()
    exif.load(image.getexif().tobytes())
    exif.pop(EXIF_ORIENTATION, None)
    sampling = JpegImagePlugin.get_sampling(image) if isinstance(image, JpegImagePlugin.JpegImageFile) else -1
    profile = image.info.get("icc_profile") if image.mode != "CMYK" else None
    resolution = image.info.get("dpi")
    return ImageDetails(
        icc_profile=profile,
        exif=exif.tobytes() if len(exif) else b"",
        resolution=(float(resolution[0]), float(resolution[1])) if resolution else None,
        subsampling=sampling if sampling >= 0 else None,
    )


def _codes(image: Image.Image) -> Plane:
    """Grey, grey + alpha, RGB turned to BGR, or BGRA."""
    if image.mode.startswith("I"):
        return np.asarray(image).astype(np.uint16)
    if image.mode == "CMYK":
        image = _cmyk_to_rgb(image)
    elif image.mode in ("P", "PA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode not in ("L", "LA", "RGB", "RGBA"):
        image = image.convert("RGB")
    codes = np.array(image)
    if codes.ndim == 2 or codes.shape[2] == 2:
        return codes
    return cast("Plane", cv2.cvtColor(codes, cv2.COLOR_RGBA2BGRA if codes.shape[2] == 4 else cv2.COLOR_RGB2BGR))


def _cmyk_to_rgb(image: Image.Image) -> Image.Image:
    profile = image.info.get("icc_profile")
    if not profile:
        return image.convert("RGB")
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except ImageCms.PyCMSError as error:
        raise ValueError(f"its CMYK profile cannot be used: {error}") from error
    return converted if converted is not None else image.convert("RGB")


def _deep_codes(path: Path) -> Plane:
    """Colour of 16 bits, BGR or BGRA."""
    codes = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
    if codes is None:
        raise ValueError("its 16-bit pixels cannot be decoded")
    return cast("Plane", codes)


def _picture(codes: Plane) -> Picture:
    if codes.ndim == 2:
        depth = 8 if codes.dtype == np.uint8 else 16
        return YuvPicture((codes,), Layout(Coding(Matrix.BT601, full_range=True, bit_depth=depth)))
    if codes.shape[2] == 2:
        return BgrPicture(cast("Plane", cv2.cvtColor(codes[..., 0], cv2.COLOR_GRAY2BGR)), codes[..., 1].copy())
    alpha = codes[..., 3].copy() if codes.shape[2] == 4 else None
    return BgrPicture(codes[..., :3].copy(), alpha)


def _codes_of(picture: Picture, *, deep: bool, alpha: bool) -> Plane:
    """What to write: grey, BGR or BGRA."""
    if isinstance(picture, YuvPicture) and picture.grey and picture.layout.coding.full_range:
        return picture.planes[0] if deep or picture.bit_depth == 8 else _to_eight_bits(picture.planes[0])
    if not isinstance(picture, BgrPicture):
        return cast("Plane", picture.to_bgr())
    codes = picture.pixels if deep else _to_eight_bits(picture.pixels)
    if picture.alpha is None or not alpha:
        return codes
    return cast("Plane", np.dstack((codes, picture.alpha if deep else _to_eight_bits(picture.alpha))))


def _to_eight_bits(codes: Plane) -> npt.NDArray[np.uint8]:
    return codes if codes.dtype == np.uint8 else np.rint(codes / 257.0).astype(np.uint8)  # type: ignore[return-value]


def _encode(codes: Plane, format_name: str, quality: int, details: ImageDetails) -> bytes:
    if codes.dtype == np.uint16 and codes.ndim == 3:
        return _encode_deep(codes, format_name, details)
    rgb = codes if codes.ndim == 2 else cv2.cvtColor(codes, _TO_RGB[codes.shape[2]])
    options: dict[str, object] = {}
    if format_name == "JPEG":
        chroma = details.subsampling if details.subsampling is not None else (0 if quality >= FULL_CHROMA_FROM else 2)
        options |= {"quality": max(quality, 1), "subsampling": chroma}
    elif format_name == "WEBP":
        options |= {"quality": quality, "exact": True}
    elif format_name == "TIFF":
        options |= {"compression": "tiff_lzw"}
    if format_name != "BMP" and details.icc_profile:
        options["icc_profile"] = details.icc_profile
    if format_name != "BMP" and details.exif:
        options["exif"] = details.exif
    if details.resolution:
        options["dpi"] = details.resolution
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, format_name, **options)
    return buffer.getvalue()


_TO_RGB = {3: cv2.COLOR_BGR2RGB, 4: cv2.COLOR_BGRA2RGBA}


def _encode_deep(codes: Plane, format_name: str, details: ImageDetails) -> bytes:
    """Colour of 16 bits, which Pillow cannot write; the profile and EXIF go along."""
    kinds = [int(cv2.IMAGE_METADATA_ICCP)] if details.icc_profile else []
    values = [np.frombuffer(details.icc_profile, np.uint8)] if details.icc_profile else []
    done, data = cv2.imencodeWithMetadata(f".{format_name.lower()}", codes, kinds, values)
    if not done:
        raise OSError(f"the {format_name} encoder failed")
    return bytes(data)


def _verify(part: Path, codes: Plane, path: Path, *, lossless: bool) -> None:
    try:
        again = _codes_of(read_image(part), deep=True, alpha=True)
    except MediaError as error:
        raise OutputError(f"{path} was written but cannot be read back ({error.fault})", "Check the disk.") from error
    whole = again.shape[:2] == codes.shape[:2] and (not lossless or np.array_equal(again, codes))
    if not whole:
        raise OutputError(f"{path} was written but reads back differently", "Check the disk and try again.")
