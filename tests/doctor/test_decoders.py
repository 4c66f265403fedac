from __future__ import annotations

from facefusion.doctor import decoders
from facefusion.doctor.decoders import decoder_findings
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Level
from facefusion.inference.devices import Gpu
from tests.doctor.machines import settings


def card(index: int) -> Gpu:
    return Gpu(index, "NVIDIA RTX 4090", f"GPU-{index}", 24 << 30, 20 << 30, "580.65", (13, 0))


def said(*gpus: Gpu, choice: str = "auto", trial=lambda *_: ""):
    return [(finding.level, finding.text) for finding in decoder_findings(gpus, choice, trial)]


def test_what_each_card_decodes_is_listed():
    def trial(device, codec, pixel_format):
        if device == 1:
            return "Failed loading nvcuvid."
        return "Hardware is lacking required capabilities" if codec == "vp9" else ""

    assert said(card(0), card(1), trial=trial) == [
        (Level.OK, "card 0 decodes h264, hevc, hevc of 10 bits"),
        (
            Level.NOTE,
            "card 0 does not decode vp9 (Hardware is lacking required capabilities); the processor does",
        ),
        (
            Level.NOTE,
            "card 1 does not decode h264, hevc, hevc of 10 bits, vp9 (Failed loading nvcuvid.); the processor does",
        ),
    ]


def test_without_a_card_the_processor_decodes_and_that_is_no_fault():
    assert said() == [(Level.NOTE, "there is no NVIDIA card, so the processor decodes")]
    assert said(choice="cpu") == said()


def test_a_card_that_is_asked_for_and_not_there_is_warned_of():
    (finding,) = decoder_findings((), "gpu")
    assert (finding.level, finding.text) == (
        Level.WARNING,
        "decoder_device = gpu is set, and there is no NVIDIA card",
    )
    assert finding.remedy == "Set decoder_device = auto: then the processor decodes where there is none."


def test_the_examination_looks_at_the_cards_that_are_here(monkeypatch):
    class Seen:
        gpus = ()

    examination = Examination(settings())
    monkeypatch.setitem(examination.__dict__, "look", Seen())
    assert [finding.topic for finding in decoders.findings(examination)] == ["decoder"]
