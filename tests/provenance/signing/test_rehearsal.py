import dataclasses
import sys
from pathlib import Path

import pytest

from facefusion.core.errors import OptionError, SetupError, SigningError, Stopped
from facefusion.core.stop import StopToken
from facefusion.provenance.manifests import Verdict, read_store
from facefusion.provenance.signing.rehearsal import Rehearsal
from facefusion.provenance.signing.settings import SigningSettings
from tests.provenance.signing.certificates import write_pair


def rehearsed(settings, heard, stop=None):
    with Rehearsal(settings) as rehearsal:
        return rehearsal.sealer(heard, stop or StopToken())


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    from PIL import Image

    path = tmp_path / "result.png"
    Image.new("RGB", (8, 6), (9, 99, 199)).save(path)
    return path


def test_a_signer_that_was_tried_elsewhere_signs(settings, heard, declaration, picture):
    sealer = rehearsed(settings, heard)
    assert sealer.seal(picture, picture, declaration, None) is None
    store = read_store(picture, None)
    assert store is not None
    assert store.verdict is Verdict.UNKNOWN_SIGNER
    assert heard.notices == []


def test_what_is_found_on_the_way_is_told(tmp_path, heard):
    folder = tmp_path / "trust"
    sealer = rehearsed(SigningSettings(trust_path=folder), heard)
    assert sealer.signer == "an unknown signer"
    (notice,) = heard.notices
    assert notice.startswith(f"Made a local certificate to sign results with, in {folder / 'identity-1'}:")


@pytest.mark.parametrize(
    ("change", "kind", "fault"),
    [
        ({"signing_key": None}, OptionError, "is given without its key"),
        ({"signing_key": Path("nowhere.pem")}, SetupError, "nowhere.pem cannot be read"),
        ({"time_stamp_authority": "ftp://a"}, OptionError, "the time-stamp authority ftp://a is no address"),
    ],
)
def test_what_cannot_sign_is_refused_in_the_same_words(settings, heard, change, kind, fault):
    with pytest.raises(kind, match=fault) as caught:
        rehearsed(dataclasses.replace(settings, **change), heard)
    assert type(caught.value) is kind
    assert caught.value.remedy


def test_what_no_longer_holds_when_there_is_something_to_sign_keeps_the_result(settings, heard, declaration, picture):
    sealer = rehearsed(settings, heard)
    settings.signing_key.unlink()
    before = picture.read_bytes()
    with pytest.raises(SigningError, match="cannot be read"):
        sealer.seal(picture, picture, declaration, None)
    assert picture.read_bytes() == before


def test_a_process_that_breaks_off_is_said(settings, heard, monkeypatch):
    monkeypatch.setattr("facefusion.provenance.signing.rehearsal.interpreter", lambda *_: [sys.executable, "-c", "x"])
    with pytest.raises(SetupError, match="whether results can be signed cannot be tried out: NameError"):
        rehearsed(settings, heard)


def test_nobody_waits_for_a_command_that_waits_once_a_stop_is_asked_for(tmp_path, root, heard):
    certificate, _ = write_pair(tmp_path, root)
    command = f"{sys.executable} -c 'import time; time.sleep(600)'"
    stop = StopToken()
    stop.request("a test")
    with (
        pytest.raises(Stopped),
        Rehearsal(SigningSettings(signing_certificate=certificate, signing_command=command)) as rehearsal,
    ):
        rehearsal.sealer(heard, stop)
    assert rehearsal._process.returncode is not None
