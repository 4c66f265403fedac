"""The models that a step means, by name: what a job file keeps, so that the job means the same later."""

from __future__ import annotations

from facefusion.app.paths import model_folders
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.names import AUTO
from facefusion.catalogue.store import Choice, ModelStore
from facefusion.config.schema import OptionSpec
from facefusion.config.settings import PathsSettings, ProcessorsSettings
from facefusion.config.state import Snapshot
from facefusion.content.settings import ContentAnalyserSettings
from facefusion.core.errors import ModelError
from facefusion.faces.settings import FACE_GROUPS, FaceMaskerSettings
from facefusion.observability.events import EventSink, Notice
from facefusion.processors.registry import find_processor

SUFFIX = "_model"
"""An option of this ending holds a model of the kind that stands before it."""


def with_model_names(snapshot: Snapshot, events: EventSink) -> Snapshot:
    """The settings with names in place of ``auto``: for faces, content filter and the processors asked for.

    Where no model is at hand or can be had, ``auto`` stays. Nothing is fetched, and no heavy library imported; a model
    file without a record is read once.

    Args:
        snapshot: the settings of a step.
        events: told once where better models than those taken are not on this machine.
    """
    open_choices = [spec for spec in _model_options(snapshot) if snapshot.value(spec) == AUTO]
    if not open_choices:
        return snapshot
    store = ModelStore(Catalogue.load(), model_folders(snapshot.get(PathsSettings).models_path), events)
    choices: dict[str, Choice] = {}
    for spec in open_choices:
        kind = spec.name.removesuffix(SUFFIX)
        try:
            choices[spec.name] = store.resolve(kind, AUTO)
        except ModelError:  # said when the step runs, if it needs the model at all
            continue
    if any(choice.missed is not None for choice in choices.values()):
        events.emit(Notice(store.account(choices.values())))
    return snapshot.with_values({name: choice.card.name for name, choice in choices.items()})


def model_choices_of(snapshot: Snapshot) -> dict[str, str]:
    """For each kind of model that the step may need, the name chosen, or ``auto``."""
    return {spec.name.removesuffix(SUFFIX): str(snapshot.value(spec)) for spec in _model_options(snapshot)}


def _model_options(snapshot: Snapshot) -> list[OptionSpec]:
    """Options that hold a model which the step may need."""
    processors = [find_processor(name).settings for name in snapshot.get(ProcessorsSettings).processors]
    groups = {*FACE_GROUPS, ContentAnalyserSettings, *processors}
    idle = snapshot.get(FaceMaskerSettings).idle_models
    return [
        spec
        for spec in snapshot.schema
        if spec.group in groups and spec.name.endswith(SUFFIX) and spec.name not in idle
    ]
