from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.core.formats import EXTENSIONS, MOVING_IMAGES, MediaKind, can_hold, kind_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.MP4", MediaKind.VIDEO),
        ("a.b.jpeg", MediaKind.IMAGE),
        ("a.wav", MediaKind.AUDIO),
        ("a.txt", None),
        ("mp4", None),
    ],
)
def test_the_extension_promises_a_kind(name, kind):
    assert kind_of(Path(name)) is kind


def test_an_extension_promises_one_kind():
    everything = [extension for extensions in EXTENSIONS.values() for extension in extensions]
    assert len(everything) == len(set(everything))


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("a.GIF", {MediaKind.IMAGE, MediaKind.VIDEO}),
        ("a.webp", {MediaKind.IMAGE, MediaKind.VIDEO}),
        ("a.heic", {MediaKind.IMAGE}),
        ("a.mp4", {MediaKind.VIDEO}),
        ("a.wav", {MediaKind.AUDIO}),
        ("a.txt", set()),
    ],
)
def test_some_images_hold_moving_pictures(name, holds):
    assert {kind for kind in MediaKind if can_hold(Path(name), kind)} == holds


def test_moving_images_are_images():
    assert set(MOVING_IMAGES) < set(EXTENSIONS[MediaKind.IMAGE])
