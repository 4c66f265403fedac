"""What errands are run on: small pictures and clips with a face, and a folder of models."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from tests.app.conftest import put
from tests.media.clips import decode
from tests.processors.face_swapper.toy_shop import BIAS, CONVERSION, WEIGHTS
from tests.scripts.conftest import FACES, REPOSITORY, make_face_clip
from tests.toys.swappers import colour_swapper, identity_converter, recogniser

FRAMES = 4


def make_scenery(folder: Path, models: Path) -> None:
    """Fill a folder.

    Args:
        folder: to fill.
        models: where the embedded models lie.
    """
    faces = decode(FACES)
    pictures = [frame.to_ndarray(format="bgr24") for frame in faces[:2]]
    for name, picture in zip(("one.png", "two.jpg"), pictures, strict=True):
        cv2.imwrite(str(folder / name), picture)
    cv2.imwrite(str(folder / "tiny.png"), cv2.resize(pictures[0], (48, 32), interpolation=cv2.INTER_AREA))
    cv2.imwrite(str(folder / "nobody.png"), np.full((90, 160, 3), 90, np.uint8))
    source = cv2.imread(str(REPOSITORY / "assets/demo/source.jpg"), cv2.IMREAD_REDUCED_COLOR_4)
    assert source is not None
    cv2.imwrite(str(folder / "face.jpg"), source)
    make_face_clip(folder / "clip.mp4", faces[:FRAMES])
    make_face_clip(folder / "heard.mp4", faces[:FRAMES], audio=("aac",))
    first, second = (Image.fromarray(picture[::2, ::2, ::-1]) for picture in pictures)
    first.save(folder / "moving.gif", save_all=True, append_images=[second], duration=40)
    for whole, part in (("clip.mp4", "torn.mp4"), ("one.png", "torn.png")):
        data = (folder / whole).read_bytes()
        (folder / part).write_bytes(data[: len(data) // 3])
    _make_models(folder / "models", models)


def _make_models(folder: Path, embedded: Path) -> None:
    folder.mkdir()
    for path in embedded.iterdir():
        if path.is_file() and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    put(folder, "arcface_w600k_r50", recogniser(WEIGHTS, BIAS))
    put(folder, "hyperswap_1a_256", colour_swapper((512,), 256, gain=(0, 0, 0), mask=True))
    put(folder, "simswap_unofficial_512", colour_swapper((512,), 512))
    put(folder, "crossface_simswap", identity_converter(CONVERSION))
    put(folder, "inswapper_128", colour_swapper((512,), matrix=WEIGHTS))
    # A whole file of the right checksum that is no swapper.
    put(folder, "inswapper_128_fp16", recogniser(WEIGHTS, BIAS))
