"""The content filter of a step: who judges, over what part of the target, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from facefusion.catalogue.card import ModelCard
from facefusion.config.state import Snapshot
from facefusion.content.analyse import ContentAnalyser
from facefusion.content.aside import JudgingThread, at_once
from facefusion.content.base import ContentModel, Vote
from facefusion.content.families import build_judge
from facefusion.content.settings import ContentAnalyserSettings
from facefusion.observability.events import EventSink, Notice
from facefusion.observability.stages import CONTENT, StageClock

if TYPE_CHECKING:
    # The doctor asks who judges where ONNX Runtime or PyAV cannot be imported.
    from facefusion.app.models import Models, Runners
    from facefusion.app.subject import Subject
    from facefusion.pipeline.video_plan import Trim

KIND = "content_analyser"


def second_models(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """Kind and name of the second model, where there is one."""
    second = snapshot.get(ContentAnalyserSettings).second
    return () if second is None else ((KIND, second),)


@contextmanager
def content_filter(
    snapshot: Snapshot,
    subject: Subject,
    trim: Trim,
    models: Models,
    runners: Runners,
    events: EventSink,
    clock: StageClock,
) -> Iterator[ContentAnalyser]:
    """What decides whether the target may be worked on. It owns a thread.

    Args:
        snapshot: the settings in force.
        subject: the target.
        trim: the part of it that is worked on.
        models: of the step.
        runners: run their graphs.
        events: told of models that are not of the catalogue, and of a second one that is the first.
        clock: counts the seconds of the judging, too.

    Raises:
        ModelError: a model's graph does not fit its family.
    """
    imported = imported_filters(models)
    for name in imported:
        message = f"The content filter {name} is not of the catalogue: it was imported on this machine."
        events.emit(Notice(message, warning=True))
    judge = _judge(snapshot.get(ContentAnalyserSettings), models, runners, events)
    info = subject.info
    with JudgingThread(partial(clock.measure, CONTENT)) as thread:
        # Beside an image there is nothing to do. One more graph at a time takes memory (some 12 MB), and a large
        # frame's own work is longer than the judging.
        aside = at_once if subject.still is not None or info.size.is_large else thread.begin
        yield ContentAnalyser(judge, aside, str(info.path), _duration(subject, trim), float(info.start_time), imported)


def imported_filters(models: Models) -> tuple[str, ...]:
    """Names of the models that judge content and that nobody but the user of the machine knows."""
    cards = (models.cards[KIND], *models.companions.values())
    named = (card for card in cards if card.kind == KIND)
    return tuple(card.name for card in named if card.graph is not None and card.graph.is_imported)


def _judge(settings: ContentAnalyserSettings, models: Models, runners: Runners, events: EventSink) -> ContentModel:
    def built(card: ModelCard) -> ContentModel:
        return build_judge(card, runners, models.companions)

    first = models.cards[KIND]
    if settings.second is None:
        return built(first)
    if settings.second == first.name:
        message = f"--content-analyser-second {first.name} has no effect: that is the first model already."
        events.emit(Notice(message, warning=True))
        return built(first)
    return Vote((built(first), built(models.companions[settings.second])), settings.needed)


def _duration(subject: Subject, trim: Trim) -> float | None:
    """Of the part that is worked on, in seconds; 0 for an image, none where that is not known."""
    whole, info = subject.duration, subject.info
    if not whole or (trim.start is None and trim.end is None):
        return whole
    frames = trim.count(info)
    if not frames or info.frame_rate <= 0:
        return None
    return min(whole, float(frames / info.frame_rate))
