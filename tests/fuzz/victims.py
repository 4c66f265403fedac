"""Whole files of every kind that the program reads, and a command that reads each."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import imagecodecs
import numpy as np
import onnx
import pillow_heif
from av.audio.stream import AudioStream
from PIL import Image

from facefusion.jobs.store import JobStore
from facefusion.observability.events import Fanout
from facefusion.provenance.records import Declaration, Deed, SourceType, sidecar_of
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
from facefusion.provenance.xmp.packet import packet
from facefusion.provenance.xmp.write import write_xmp
from tests.media.clips import decode, make_clip, planes_of
from tests.provenance.signing.certificates import write_pair
from tests.scripts.conftest import FACES, REPOSITORY
from tests.toys.deep_faces import deep_face

SIZE = (144, 80)
MARKS = ("--processors", "face_debugger")
STEP = ("-s", "face.jpg", "-t", "whole.png")
LOOK = "look"
"""In place of a command: the API looks into an upload."""


@dataclass(frozen=True)
class Victim:
    """A file to damage.

    Args:
        name: of the file, below the working folder.
        data: what it holds when it is whole.
        words: the command that reads it.
        output: what that command makes; none where that depends on what the file says.
        is_own: whether the program made the file for itself, and must do without it.
        codes: that the command may end with.
    """

    name: str
    data: bytes
    words: tuple[str, ...]
    output: str | None = None
    is_own: bool = False
    codes: tuple[int, ...] = (0, 1, 2, 3)


def make_victims(folder: Path, models: Path) -> list[Victim]:
    """Fill the folder, with what commands read beside the victims too; the victims.

    Args:
        folder: to fill.
        models: where the embedded models lie.
    """
    faces = [cv2.resize(frame.to_ndarray(format="bgr24"), SIZE) for frame in decode(FACES)[:3]]
    cv2.imwrite(str(folder / "whole.png"), faces[0])
    source = cv2.imread(str(REPOSITORY / "assets/demo/source.jpg"), cv2.IMREAD_REDUCED_COLOR_4)
    assert source is not None
    _, face = cv2.imencode(".jpg", source)
    (folder / "face.jpg").write_bytes(face.tobytes())
    pictures = [Image.fromarray(one[:, :, ::-1]) for one in faces]
    make_videos(folder, faces)
    return [
        *(target(f"target{suffix}", data) for suffix, data in pictures_of(pictures)),
        *(target(path.name, path.read_bytes()) for path in sorted(folder.glob("target.*"))),
        Victim("source.jpg", face.tobytes(), run("source.jpg", "whole.png", "out/result.png"), "out/result.png"),
        *(
            Victim(path.name, path.read_bytes(), run(path.name, "target.mp4", "out/a.mp4", *MARKS), "out/a.mp4")
            for path in sorted(folder.glob("sound.*"))
        ),
        *(
            Victim(f"{path.stem}-{path.suffix[1:]}.part", path.read_bytes(), (LOOK,))
            for path in (*sorted(folder.glob("target.*")), *sorted(folder.glob("sound.*")))
        ),
        Victim("photo.part", face.tobytes(), (LOOK,)),
        settings_file(),
        job_file(folder),
        model(folder, models),
        imported(models),
    ]


def run(source: str, path: str, output: str, *words: str) -> tuple[str, ...]:
    """The words of a run."""
    return ("run", "-s", source, "-t", path, "-o", output, *words)


def target(name: str, data: bytes) -> Victim:
    """A target on whose faces marks are put."""
    output = f"out/result{Path(name).suffix}"
    return Victim(name, data, run("face.jpg", name, output, *MARKS), output)


def pictures_of(pictures: list[Image.Image]) -> Iterator[tuple[str, bytes]]:
    """Extension and content of images."""
    first, *others = pictures
    pillow_heif.register_heif_opener()
    exif = Image.Exif()
    exif[0x0112] = 6
    plain: dict[str, dict[str, object]] = {
        "BMP": {},
        "TIFF": {"compression": "tiff_lzw"},
        "WEBP": {},
        "JPEG": {"exif": exif},
        "PNG": {"exif": exif},
    }
    for name, options in {**plain, "AVIF": {}, "HEIF": {}}.items():
        yield f".{name.lower()}", saved(first, name, **options)
    for name in ("GIF", "WEBP", "PNG"):
        moving = saved(first, name, save_all=True, append_images=others, duration=40)
        yield f".moving.{name.lower()}", moving
    deep = np.asarray(first).astype(np.uint16) * 257
    yield ".deep.png", bytes(imagecodecs.png_encode(deep))
    yield ".deep.tiff", bytes(imagecodecs.tiff_encode(deep, photometric="rgb"))


def saved(picture: Image.Image, name: str, **options: object) -> bytes:
    """A picture as Pillow writes it."""
    stream = io.BytesIO()
    picture.save(stream, name, **options)
    return stream.getvalue()


def make_videos(folder: Path, faces: list[np.ndarray]) -> None:
    """Videos ``target.*``, and sounds ``sound.*``."""
    width, height = SIZE
    frames = [av.VideoFrame.from_ndarray(one, "bgr24").reformat(format="yuv420p") for one in faces]
    pictures = [planes_of(frame) for frame in frames]
    stamps = range(0, len(faces) * 512, 512)
    for name, codec, sound in (
        ("target.mp4", "libx264", "aac"),
        ("target.mkv", "libx265", "libopus"),
        ("target.webm", "libvpx-vp9", "libopus"),
        ("target.mov", "prores_ks", "pcm_s16le"),
        ("target.avi", "mpeg4", "mp3"),
    ):
        make_clip(
            folder / name,
            width=width,
            height=height,
            codec=codec,
            pixel_format="yuv422p10le" if codec == "prores_ks" else "yuv420p",
            options={"x265-params": "log-level=none"} if codec == "libx265" else {},
            stamps=stamps,
            pictures=None if codec == "prores_ks" else pictures,
            audio=(sound,),
        )
    for name, codec in (("sound.wav", "pcm_s16le"), ("sound.mp3", "mp3"), ("sound.flac", "flac")):
        with av.open(str(folder / name), "w") as output:
            stream = output.add_stream(codec, rate=44100)
            assert isinstance(stream, AudioStream)
            tone = (np.sin(np.arange(8820) / 20) * 9000).astype(np.int16).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(tone, "s16", "mono")
            frame.sample_rate = 44100
            output.mux(stream.encode(frame))
            output.mux(stream.encode(None))


def settings_file() -> Victim:
    """An ini file with values of every type."""
    text = (
        "[paths]\nsource_paths = face.jpg\n[face_selector]\nface_selector_mode = many\nreference_face_distance = 0.4\n"
        "[face_masker]\nface_mask_types = box area\nface_mask_padding = 1 2 3 4\n[output_creation]\n"
        "output_image_quality = 70\n[processors]\nprocessors = face_debugger\n[misc]\nhalt_on_error = yes\n"
    )
    # What a broken file says no longer, the command says.
    given = ("--config-path", "own.ini", "--models-path", "models", "--log-level", "warn")
    words = ("run", *given, *STEP, "-o", "out/result.png")
    return Victim("own.ini", text.encode(), words, "out/result.png")


def job_file(folder: Path) -> Victim:
    """A queued job of two steps, the second of which works on the result of the first."""
    store = JobStore(folder / "jobs")
    args = {"source_paths": ["face.jpg"], "target_path": "whole.png", "output_path": "out/result.png"}
    store.create("broken", [{**args, "processors": ["face_debugger"]}])
    store.add_step("broken", {**args, "output_path": "out/second.png", "processors": ["face_debugger"]})
    store.submit("broken")
    path = folder / "jobs/queued/broken.json"
    data = path.read_bytes()
    assert json.loads(data)["steps"]
    path.unlink()
    return Victim("jobs/queued/broken.json", data, ("job-run-all",))


def caches(folder: Path) -> list[Victim]:
    """What the program has put into its caches."""
    words, output = run("face.jpg", "whole.png", "out/result.png", *MARKS), "out/result.png"
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    return [Victim(str(path), path.read_bytes(), words, output, is_own=True, codes=(0,)) for path in files]


def marked(results: list[Path]) -> Iterator[Victim]:
    """Results of every format with marks in them, or beside them, which are told."""
    keys = Path("keys")
    keys.mkdir(exist_ok=True)
    certificate, key = write_pair(keys)
    sealer = open_sealer(SigningSettings(signing_certificate=certificate, signing_key=key), Fanout())
    said = Declaration((Deed("face_swapper", SourceType.COMPOSITE, {"mesh": "ab" * 32}),), "FaceFusion 1.2")
    for path in results:
        write_xmp(path, path.suffix, packet(SourceType.COMPOSITE))
        beside = sealer.seal(path, path, said, None)
        words, codes = ("detect", path.name, "--log-level", "warn"), (0, 1, 2, 5, 6)
        if beside is not None:
            side = beside.rename(sidecar_of(path))
            yield Victim(side.name, side.read_bytes(), words, codes=codes)
        yield Victim(path.name, path.read_bytes(), words, codes=codes)


def model(folder: Path, models: Path) -> Victim:
    """A model of the user's own, which comes without a checksum."""
    own = folder / "models"
    (own / "custom").mkdir(parents=True)
    for path in models.iterdir():
        if path.is_file() and not path.name.startswith("."):
            (own / path.name).symlink_to(path)
    data = deep_face(96, colour=(0.0, 1.0, 0.0)).SerializeToString()
    onnx.checker.check_model(onnx.load_from_string(data))
    words = ("--processors", "deep_swapper", "--deep-swapper-model", "custom/own")
    return Victim(
        "models/custom/own.dfm", data, ("run", "-t", "whole.png", "-o", "out/result.png", *words), "out/result.png"
    )


def imported(models: Path) -> Victim:
    """A graph that is taken in as a model of the user's own."""
    words = ("models", "import", "brought.onnx", "--like", "yunet", "--log-level", "warn")
    return Victim("brought.onnx", (models / "yunet_2023mar.onnx").read_bytes(), words)
