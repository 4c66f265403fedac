"""Who decodes the target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from facefusion.app.decoding import decoder_card, nvidia_device
from facefusion.config.option import Scope
from facefusion.config.schema import Schema
from facefusion.core.errors import SetupError
from facefusion.inference.execution import Device, Execution
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.runtime import read_runtime
from facefusion.media.nvdec import Nvdec
from facefusion.media.probe import MediaInfo, probe
from facefusion.media.settings import DecodingSettings
from facefusion.observability.events import Event, Notice
from tests.media.clips import make_clip


class Sink(list[Event]):
    def emit(self, event: Event) -> None:
        self.append(event)


def execution(*providers: str, device: int = 0) -> Execution:
    chosen = tuple(PROVIDERS[name] for name in providers)
    return Execution(chosen, (Device(device), Device(device + 1)), read_runtime(), Path())


CARD, PROCESSOR = execution("cuda", "cpu", device=2), execution("cpu")


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> MediaInfo:
    path = tmp_path_factory.mktemp("clip") / "a.mp4"
    make_clip(path)
    return probe(path)


class Trial:
    """Stands for a trial of a card."""

    def __init__(self, answer: str = "") -> None:
        self.asked: list[tuple[int, str, str]] = []
        self._answer = answer

    def __call__(self, device: int, codec: str, pixel_format: str) -> str:
        self.asked.append((device, codec, pixel_format))
        return self._answer


@pytest.mark.parametrize(
    ("providers", "device"), [(("cuda", "cpu"), 2), (("tensorrt",), 2), (("cpu",), None), (("rocm", "cpu"), None)]
)
def test_the_card_that_graphs_run_on_is_known_by_its_provider(providers, device):
    assert nvidia_device(execution(*providers, device=2)) == device


def test_where_graphs_run_on_a_card_that_card_decodes(info, monkeypatch):
    opened: list[int] = []
    monkeypatch.setattr(Nvdec, "__init__", lambda self, device: opened.append(device))
    sink, trial = Sink(), Trial()
    card = decoder_card("auto", info, CARD, sink, trial)
    assert card is not None
    assert card.is_on
    assert (trial.asked, opened) == ([(2, "h264", "yuv420p")], [2])
    card.give_up("the sky fell")
    assert sink == [
        Notice("a.mp4 is decoded on card 2."),
        Notice("a.mp4 is decoded by the processor from here on, not by the card: the sky fell.", warning=True),
    ]


def test_the_choice_belongs_to_the_machine_and_is_no_part_of_what_a_result_is_known_by():
    assert Schema.of((DecodingSettings,))["decoder_device"].about.scope is Scope.JOB


@pytest.mark.parametrize(("choice", "where"), [("auto", PROCESSOR), ("cpu", CARD), ("cpu", PROCESSOR)])
def test_else_the_processor_decodes_and_no_card_is_touched(info, choice, where):
    sink, trial = Sink(), Trial()
    assert decoder_card(choice, info, where, sink, trial) is None
    assert (trial.asked, list(sink)) == ([], [])


def test_a_card_may_decode_where_graphs_run_on_the_processor(info):
    trial = Trial()
    assert decoder_card("gpu", info, PROCESSOR, Sink(), trial) is not None
    assert trial.asked == [(0, "h264", "yuv420p")]


def test_what_a_card_does_not_take_is_said_once_and_not_tried(info):
    sink, trial = Sink(), Trial()
    prores = replace(info, codec="prores", pixel_format="yuv422p10le")
    assert decoder_card("auto", prores, CARD, sink, trial) is None
    assert trial.asked == []
    assert sink == [
        Notice("a.mp4 is decoded by the processor, not by card 2: cards do not decode prores in yuv422p10le.")
    ]


def test_a_card_that_failed_its_trial_is_not_used(info):
    sink = Sink()
    assert decoder_card("auto", info, CARD, sink, Trial("Cannot load libnvcuvid.so.1")) is None
    assert sink == [Notice("a.mp4 is decoded by the processor, not by card 2: Cannot load libnvcuvid.so.1.")]


def test_full_range_is_tried_as_what_it_is_coded_in(info):
    trial = Trial()
    assert decoder_card("auto", replace(info, pixel_format="yuvj420p"), CARD, Sink(), trial) is not None
    assert trial.asked == [(2, "h264", "yuv420p")]


@pytest.mark.parametrize(
    ("changed", "answer", "reason"),
    [
        ({}, "Cannot load libcuda.so.1", "Cannot load libcuda.so.1"),
        ({"codec": "mpeg4"}, "", "cards do not decode mpeg4 in yuv420p"),
    ],
)
def test_a_card_that_is_asked_for_and_cannot_is_an_error(info, changed, answer, reason):
    with pytest.raises(SetupError) as caught:
        decoder_card("gpu", replace(info, **changed), PROCESSOR, Sink(), Trial(answer))
    assert str(caught.value) == (
        f"--decoder-device gpu: card 0 cannot decode {info.path} ({reason}). "
        "Choose auto, with which the processor does where a card cannot."
    )
