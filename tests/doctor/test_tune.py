from __future__ import annotations

import pytest

from facefusion.cli.commands import serve
from facefusion.cli.main import main
from facefusion.config.origin import AUTO_TUNE, COMMAND_LINE, DEFAULT
from facefusion.doctor import tune
from facefusion.doctor.advice import advise
from facefusion.doctor.tune import apply_advice, auto_tune
from facefusion.inference.providers.base import Obstacle
from facefusion.observability.events import Notice
from tests.cli.fakes import FakeApplication
from tests.doctor.machines import facts, look, settings
from tests.inference.fakes import Heard

CARD = ("NVIDIA H200", 143771, 143000)


def value(snapshot, name):
    return snapshot.value(snapshot.schema[name])


def test_what_nobody_chose_is_set_and_its_origin_says_by_whom():
    tuned = apply_advice(settings(), advise(facts(CARD, cores=8)), None)
    assert value(tuned.snapshot, "execution_providers") == ("tensorrt", "cuda", "cpu")
    assert value(tuned.snapshot, "execution_thread_count") == 16
    assert tuned.snapshot.origin("execution_providers") == AUTO_TUNE
    assert str(AUTO_TUNE) == "from auto-tune"
    assert tuned.sentence == (
        "--auto-tune found a datacentre card (NVIDIA H200) and set: execution_providers = tensorrt cuda cpu, "
        "execution_device_ids = 0, execution_thread_count = 16, inference_precision = half, video_memory_strategy = "
        "aggressive."
    )


def test_what_the_user_chose_stays_also_where_it_is_the_default():
    given = settings(video_memory_strategy="balanced", execution_thread_count=3)
    tuned = apply_advice(given, advise(facts(CARD)), None)
    assert value(tuned.snapshot, "video_memory_strategy") == "balanced"
    assert value(tuned.snapshot, "execution_thread_count") == 3
    assert tuned.snapshot.origin("video_memory_strategy") == COMMAND_LINE
    assert "execution_thread_count" not in tuned.sentence
    assert value(tuned.snapshot, "inference_precision") == "half"


def test_where_everything_is_chosen_nothing_is_set():
    given = settings(
        execution_providers=("cpu",),
        execution_thread_count=1,
        inference_precision="full",
        video_memory_strategy="conservative",
    )
    tuned = apply_advice(given, advise(facts(usable=("cpu",), cores=2)), None)
    assert tuned.sentence == (
        "--auto-tune found no graphics card that works and set: nothing, since all of it is asked for otherwise."
    )


def test_a_large_video_is_made_smaller_where_the_processor_does_everything():
    advice = advise(facts(usable=("cpu",), cores=2))
    tuned = apply_advice(settings(), advice, 1080)
    assert value(tuned.snapshot, "output_video_scale") == 0.6667
    assert tuned.sentence.endswith(", output_video_scale = 0.6667.")
    assert apply_advice(settings(), advice, 720).snapshot.origin("output_video_scale") == DEFAULT
    assert value(apply_advice(settings(output_video_scale=2.0), advice, 1080).snapshot, "output_video_scale") == 2.0
    sized = apply_advice(settings(output_video_resolution="1920x1080"), advice, 1080)
    assert sized.snapshot.origin("output_video_scale") == DEFAULT


def test_providers_that_are_asked_for_are_the_only_ones_tried(monkeypatch):
    tried = []

    def look_around(snapshot, providers):
        tried.append([provider.name for provider in providers])
        return look(works=("cpu",), obstacles={"cuda": Obstacle("no NVIDIA card was found")})

    monkeypatch.setattr(tune, "look_around", look_around)
    heard = Heard()
    tuned = auto_tune(settings(execution_providers=("cuda", "cpu")), heard, sizes_target=True)
    assert tried == [["cuda", "cpu"]]
    assert value(tuned, "execution_providers") == ("cuda", "cpu")
    said = "execution provider cuda does not work here: no NVIDIA card was found"
    assert Notice(said, warning=True) in heard.events


def test_a_card_that_is_here_and_does_not_work_is_said(monkeypatch):
    broken = {"cuda": Obstacle("the driver is too old", unexpected=True)}
    monkeypatch.setattr(tune, "look_around", lambda snapshot, providers: look(CARD, obstacles=broken))
    heard = Heard()
    tuned = auto_tune(settings(), heard, sizes_target=True)
    first, last = heard.events
    assert isinstance(last, Notice)
    assert first == Notice("execution provider cuda does not work here: the driver is too old", warning=True)
    assert last.message.startswith("--auto-tune found no graphics card that works and set: execution_providers = cpu,")
    assert value(tuned, "execution_providers") == ("cpu",)


def test_a_target_in_the_settings_that_the_command_does_not_work_on_sizes_nothing(monkeypatch):
    monkeypatch.setattr(tune, "look_around", lambda snapshot, providers: look())
    monkeypatch.setattr(tune, "target_lines", lambda paths: 1 << 12)
    scales = [
        value(auto_tune(settings(target_path="clip.mp4"), Heard(), sizes_target=sizes), "output_video_scale")
        for sizes in (True, False)
    ]
    assert scales == [0.25, None]


@pytest.mark.parametrize(
    ("words", "tuned"),
    [
        (["run", "--auto-tune"], [True]),
        (["headless-run", "--auto-tune"], [True]),
        (["batch-run", "--auto-tune"], [False]),
        (["job-run-all", "--auto-tune"], [False]),
        (["run"], []),
        (["config"], []),
    ],
)
def test_only_commands_that_process_are_tuned_and_only_where_it_is_asked_for(words, tuned, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facefusion.ini").write_text("[execution]\nauto_tune = " + ("true\n" if words == ["config"] else "\n"))
    calls = []

    def counted(snapshot, events, *, sizes_target):
        calls.append(sizes_target)
        return snapshot

    monkeypatch.setattr(tune, "auto_tune", counted)
    monkeypatch.setattr(serve, "execute", lambda context: 0)  # which "run" alone comes to, and would not come back from
    application = FakeApplication()
    main(words, application)
    assert calls == tuned
    assert len(application.calibrated) == len(tuned)
