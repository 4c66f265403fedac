"""A signer whom a root vouches for, and what a result says."""

from __future__ import annotations

import pytest

from facefusion.provenance.records import Declaration, Deed, SourceType
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
from tests.provenance.signing.certificates import Root, write_pair


class Heard:
    """Keeps what was told."""

    def __init__(self):
        self.notices = []

    def emit(self, event):
        self.notices.append(event.message)


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def root():
    return Root()


@pytest.fixture
def settings(tmp_path, root):
    folder = tmp_path / "signer"
    folder.mkdir()
    certificate, key = write_pair(folder, root)
    return SigningSettings(signing_certificate=certificate, signing_key=key)


@pytest.fixture
def sealer(settings, heard):
    return open_sealer(settings, heard)


@pytest.fixture
def declaration():
    return Declaration(
        deeds=(
            Deed("face_swapper", SourceType.COMPOSITE, {"mesh": "ab" * 32}),
            Deed("face_enhancer", SourceType.ENHANCED, {"gfpgan_1.4": "cd" * 32}),
        ),
        program="FaceFusion 9.8",
    )
