from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.core.formats import EXTENSIONS, MediaKind, kind_of


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
