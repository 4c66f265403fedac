"""Which models a step runs."""

from __future__ import annotations

from collections.abc import Sequence

from facefusion.app.content import KIND, second_models
from facefusion.app.faces import face_models, mask_models
from facefusion.app.paths import model_folders
from facefusion.app.preconditions import Chosen, chosen_processors, needs_faces
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.store import ModelStore
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.content.settings import ContentAnalyserSettings
from facefusion.observability.events import Fanout


def step_models(snapshot: Snapshot, chosen: Sequence[Chosen]) -> dict[str, str]:
    """For each kind of model that a step runs, the name chosen, or ``auto``.

    Args:
        snapshot: the settings in force.
        chosen: the processors of the step.
    """
    choices = face_models(snapshot) if needs_faces(chosen) else {}
    choices[KIND] = snapshot.get(ContentAnalyserSettings).content_analyser_model
    for one in chosen:
        choices |= mask_models(snapshot, one.masks(snapshot))
        choices |= one.kind.models(snapshot.get(one.entry.settings))
    return choices


def missing_models(snapshot: Snapshot) -> list[str]:
    """Names of the models that a step with these settings would have to fetch first. Nothing is fetched.

    Raises:
        ModelError: a name that is set is no model's.
    """
    store = ModelStore(Catalogue.load(), model_folders(snapshot.get(PathsSettings).models_path), Fanout(()))
    wanted = (*step_models(snapshot, chosen_processors(snapshot)).items(), *second_models(snapshot))
    cards = (store.resolve(kind, name).card for kind, name in wanted)
    return list(dict.fromkeys(card.name for card in cards if not store.is_at_hand(card)))
