"""Who judges a target, in whole steps: the embedded model, FaceFusion's three, two together, and one of the user's."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

import pytest

from facefusion.app.content import imported_filters
from facefusion.app.models import Models
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.imported import imported_card
from facefusion.content.base import Thumbnail
from facefusion.content.open_nsfw import OpenNsfw
from facefusion.core.errors import ContentRefusedError
from facefusion.core.values import Size
from facefusion.observability.events import Notice
from tests.app.conftest import Run, Still, put
from tests.processors.fakes import RecordingSink
from tests.toys.judges import SIDES, judge

QUICK: dict[str, Any] = {"processors": ("face_debugger",), "source_paths": ()}


def bring(models: Path, *counting: str, names: tuple[str, ...] = tuple(SIDES)) -> None:
    for name in names:
        put(models, name, judge(name, counts=name in counting))


def test_the_embedded_model_judges_where_no_other_is_here(still: Still) -> None:
    content = still.report(**QUICK).content
    assert content is not None
    assert (content.looked_at, content.counted, content.times, content.imported) == (1, 0, (), ())
    assert content.limits == {"open_nsfw": 0.8}
    assert 0 <= content.scores["open_nsfw"] < 0.5


def test_facefusions_three_judge_where_all_of_them_are_here(still: Still, models: Path) -> None:
    bring(models, "nsfw_3", names=("nsfw_1", "nsfw_3"))
    assert "open_nsfw" in still.report(**QUICK).models
    bring(models, "nsfw_3")
    report = still.report(**QUICK)
    assert report.models.keys() >= set(SIDES)
    assert "open_nsfw" not in report.models
    assert report.model_hashes.keys() >= set(SIDES)
    content = report.content
    assert content is not None
    assert content.limits == {"nsfw_1": 0.2, "nsfw_2": 0.25, "nsfw_3": 10.5}
    assert content.scores == pytest.approx({"nsfw_1": 0.1, "nsfw_2": -1.0, "nsfw_3": 18.0})
    assert content.counted == 0


def test_two_of_the_three_refuse_and_nothing_is_left(run: Run, tmp_path: Path, models: Path) -> None:
    bring(models, "nsfw_1", "nsfw_2")
    output = tmp_path / "result" / "out.mp4"
    output.parent.mkdir()
    with pytest.raises(ContentRefusedError) as refused:
        run(output, models_path=models, temp_path=tmp_path / "work", trim_frame_start=50, trim_frame_end=60, **QUICK)
    assert refused.value.fault.endswith(": 1 of 1 picture looked at most likely shows sexual content, at 0:02")
    assert list(output.parent.iterdir()) == []
    assert [path for path in (tmp_path / "work").rglob("*") if path.suffix in {".mkv", ".json"}] == []


@pytest.mark.parametrize(("is_large", "thread"), [(False, "content_0"), (True, "frames_0")])
def test_a_thread_of_its_own_judges_but_where_frames_are_large(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool, thread: str
) -> None:
    threads = []

    def score(network: OpenNsfw, thumbnail: Thumbnail) -> float:
        threads.append(threading.current_thread().name)
        return 0.1

    monkeypatch.setattr(OpenNsfw, "score", score)
    monkeypatch.setattr(Size, "is_large", is_large)
    run(tmp_path / "out.mp4", temp_path=tmp_path / "work", trim_frame_end=30, **QUICK)
    assert threads == [thread] * 2


@pytest.mark.parametrize(("vote", "refuses"), [("either", True), ("both", False)])
def test_a_second_model_is_asked_too(still: Still, models: Path, vote: str, refuses: bool) -> None:
    bring(models, "nsfw_2")
    chosen = {"content_analyser_model": "open_nsfw", "content_analyser_second": "nsfw_2", "content_analyser_vote": vote}
    if refuses:
        with pytest.raises(ContentRefusedError):
            still.report(**QUICK, **chosen)
        return
    report = still.report(**QUICK, **chosen)
    assert report.content is not None
    assert list(report.content.scores) == ["open_nsfw", "nsfw_2"]
    assert report.models.keys() >= {"open_nsfw", "nsfw_2"}
    assert report.model_hashes.keys() >= {"open_nsfw", "nsfw_2"}


def test_a_second_model_may_be_a_vote_of_several(still: Still, models: Path) -> None:
    bring(models, "nsfw_1")
    chosen = {"content_analyser_model": "open_nsfw", "content_analyser_second": "nsfw_many"}
    report = still.report(**QUICK, **chosen)
    assert report.content is not None
    assert list(report.content.scores) == ["open_nsfw", *SIDES]


def test_the_same_model_twice_is_one(still: Still, sink: RecordingSink) -> None:
    report = still.report(**QUICK, content_analyser_model="open_nsfw", content_analyser_second="open_nsfw")
    assert report.content is not None
    assert report.content.limits == {"open_nsfw": 0.8}
    told = "--content-analyser-second open_nsfw has no effect: that is the first model already."
    assert Notice(told, warning=True) in sink.events


def test_what_the_user_brought_in_is_named_as_that() -> None:
    catalogue = Catalogue.load()
    mine = imported_card("mine", catalogue.card("open_nsfw"), "mine.onnx")
    mesh = replace(mine, name="other", kind="face_landmarker")

    def named(first: str, *others: Any) -> tuple[str, ...]:
        card = mine if first == "mine" else catalogue.card(first)
        beside = MappingProxyType({one.name: one for one in others})
        found = SimpleNamespace(cards={"content_analyser": card}, companions=beside)
        return imported_filters(cast("Models", found))

    assert named("open_nsfw") == ()
    assert named("mine", mesh) == ("mine",)
    assert named("nsfw_many", *catalogue.companions([catalogue.card("nsfw_many")]), mine) == ("mine",)
