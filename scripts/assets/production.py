"""What is made: the demo's and the benchmark's media, written into the repository's ``assets`` folder."""

from __future__ import annotations

import contextlib
from pathlib import Path

import cv2

from scripts.assets.clip import ClipFormat, ClipWriter
from scripts.assets.models import Models
from scripts.assets.motion import moment
from scripts.assets.portrait import (
    ASTRONAUT,
    ASTRONAUT_STAGING,
    HOPPER,
    Image,
    Photograph,
    Staging,
    decode,
    enlarge,
    extend,
    fetch,
)
from scripts.assets.render import Scene
from scripts.assets.voice import Voice

DEMO = ClipFormat(height=720, rate=25, quality=21)
DEMO_SECONDS = 5
BENCHMARK = (
    ClipFormat(height=240, rate=30, quality=20),
    ClipFormat(height=360, rate=30, quality=20),
    ClipFormat(height=540, rate=30, quality=20),
    ClipFormat(height=720, rate=30, quality=21),
    ClipFormat(height=1080, rate=30, quality=22),
    ClipFormat(height=1440, rate=30, quality=23),
    ClipFormat(height=2160, rate=30, quality=24),
)
BENCHMARK_SECONDS = 3


def build_scene(photograph: Photograph, staging: Staging, models: Models) -> Scene:
    """Fetch a portrait, find its face and enlarge it: about a minute."""
    picture = decode(fetch(photograph))
    mesh = models.mesh(picture)
    # Only what the camera can see is worth enlarging.
    seen = picture[: staging.canvas[3]]
    return Scene.of(staging, extend(enlarge(seen, models.enlarge), staging), mesh)


def make_demo(folder: Path, scene: Scene, source: bytes) -> None:
    """Write ``source.jpg`` and ``target.mp4``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "source.jpg").write_bytes(source)
    film(scene, {folder / "target.mp4": DEMO}, DEMO_SECONDS, height=2 * DEMO.height)


def make_benchmark(folder: Path, scene: Scene, source: bytes) -> None:
    """Write ``source.jpg`` and one clip per size, all of the same motion."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "source.jpg").write_bytes(source)
    clips = {folder / f"target-{shape.height}p.mp4": shape for shape in BENCHMARK}
    film(scene, clips, BENCHMARK_SECONDS, height=BENCHMARK[-1].height)


def film(scene: Scene, clips: dict[Path, ClipFormat], seconds: int, height: int) -> None:
    """Render the scene once, ``height`` pixels high, and write it in every format, which share one rate."""
    voice = Voice(float(seconds))
    sound = voice.samples()
    (rate,) = {shape.rate for shape in clips.values()}
    with contextlib.ExitStack() as stack:
        writers = [(shape, stack.enter_context(ClipWriter(path, shape))) for path, shape in clips.items()]
        for _, writer in writers:
            writer.add_sound(sound)
        for index in range(seconds * rate):
            picture = scene.render(moment(index / rate, float(seconds), voice), height, index)
            for shape, writer in writers:
                writer.add(resized(picture, shape))


def resized(picture: Image, shape: ClipFormat) -> Image:
    """The picture at a format's size, averaged over the area of each pixel."""
    if picture.shape[:2] == (shape.height, shape.width):
        return picture
    small = cv2.resize(picture, (shape.width, shape.height), interpolation=cv2.INTER_AREA)
    return small.astype(picture.dtype, copy=False)


def make(folder: Path, models: Models, only: str | None) -> None:
    """Make everything, or only ``demo`` or ``benchmark``."""
    scene, source = build_scene(ASTRONAUT, ASTRONAUT_STAGING, models), fetch(HOPPER)
    if only != "benchmark":
        make_demo(folder / "demo", scene, source)
    if only != "demo":
        make_benchmark(folder / "benchmark", scene, source)
