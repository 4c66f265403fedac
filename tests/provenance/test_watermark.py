"""The watermark's adapter, with a stand-in for the package: what it is given, and what is refused."""

from __future__ import annotations

import hashlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from facefusion.core.errors import SetupError
from facefusion.core.values import Size
from facefusion.provenance import watermark
from facefusion.provenance.watermark import FILES, PAYLOAD, Watermark, installed_watermarker, open_watermarker
from facefusion.provenance.watermark_reading import watermark_in, watermark_reader
from facefusion.vision.picture import BgrPicture
from tests.media.clips import make_clip
from tests.vision.pictures import layout, yuv

HOST = "https://networks.example.org/"


class Networks:
    """As TrustMark's class: adds 3 to red, and knows pictures that it did so to by their first pixel."""

    made: dict[str, object]

    def __init__(self, **words):
        type(self).made = words

    def encode(self, image, text):
        assert image.mode == "RGB"
        assert text == PAYLOAD
        levels = np.asarray(image).astype(int)
        levels[..., 0] += 3
        return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))

    def decode(self, image):
        red = np.asarray(image)[0, 0, 0]
        return {203: (PAYLOAD, True, 1), 210: ("others", True, 1)}.get(int(red), ("", False, -1))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The package as it would be installed, without its networks."""
    folder = tmp_path / "site" / "trustmark"
    (folder / "models").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    inner = ModuleType("trustmark.trustmark")
    inner.__file__ = str(folder / "trustmark.py")
    checksums = {name: hashlib.md5(name.encode()).hexdigest() for name in FILES}
    vars(inner).update(MODEL_CHECKSUMS=checksums, MODEL_REMOTE_HOST=HOST)
    outer = ModuleType("trustmark")
    outer.__spec__ = inner.__spec__ = ModuleSpec("trustmark", None)
    vars(outer).update(TrustMark=Networks, trustmark=inner)
    monkeypatch.setitem(sys.modules, "trustmark", outer)
    monkeypatch.setitem(sys.modules, "trustmark.trustmark", inner)
    return folder / "models"


@pytest.fixture
def networks(package):
    for name in FILES:
        (package / name).write_bytes(name.encode())
    return package


def test_without_the_package_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(watermark, "PACKAGE", "trustmark_that_nobody_has")
    with pytest.raises(SetupError) as refused:
        open_watermarker()
    assert str(refused.value) == (
        "--watermark: the package trustmark is not installed. "
        "Run `python -m pip install -r requirements-watermark.txt`."
    )
    assert installed_watermarker() is None
    assert watermark_reader() is None


def test_without_its_networks_nothing_is_fetched_but_said(package):
    (package / FILES[0]).write_bytes(FILES[0].encode())
    (package / FILES[1]).write_bytes(b"something else")
    with pytest.raises(SetupError) as refused:
        open_watermarker()
    assert str(refused.value) == (
        f"--watermark: {FILES[1]}, {FILES[2]} of TrustMark are not in {package}, or are not what they should be. "
        f"Fetch them from {HOST} and put them there; this program does not."
    )


@pytest.mark.usefixtures("networks")
def test_it_runs_on_the_processor_and_says_nothing():
    open_watermarker()
    assert Networks.made == {"verbose": False, "model_type": "Q", "loadRemover": False, "device": "cpu"}


@pytest.mark.usefixtures("networks")
def test_what_it_adds_is_added_to_the_picture():
    ground = np.full((20, 30, 3), (10, 20, 200), np.uint8)
    mark = Watermark(open_watermarker())
    mark.check(Size(1, 1))
    after = mark.over(BgrPicture(ground.copy()))
    assert (np.asarray(after.to_bgr()) == (10, 20, 203)).all()
    deep = np.full((20, 30, 3), (10.25, 20.5, 200.75), np.float32)
    form = layout(1, 1, bits=16)
    exact = np.asarray(mark.over(yuv(deep, form)).to_bgr(as_float=True))
    assert np.abs(exact - np.array((10.25, 20.5, 203.75))).max() < 0.1


@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize(("red", "found"), [(203, PAYLOAD), (210, None), (200, None)])
def test_only_the_programs_own_is_told(tmp_path, red, found):
    path = tmp_path / "picture.png"
    Image.new("RGB", (20, 30), (red, 20, 10)).save(path)
    reader = watermark_reader()
    assert reader is not None
    assert reader(path) == found


class Third:
    """Finds something in the third picture that it sees."""

    def __init__(self):
        self.seen = 0

    def written(self, levels, text):
        raise NotImplementedError

    def read(self, levels):
        self.seen += 1
        return PAYLOAD if self.seen == 3 else None


def test_of_a_video_the_first_frames_are_looked_at(tmp_path):
    make_clip(tmp_path / "clip.mp4")
    marker = Third()
    assert watermark_in(tmp_path / "clip.mp4", marker) == PAYLOAD
    assert marker.seen == 3


@pytest.mark.parametrize("name", ["gone.png", "text.png"])
def test_what_is_no_picture_carries_none(tmp_path, name):
    (tmp_path / "text.png").write_text("no picture")
    assert watermark_in(tmp_path / name, Third()) is None
