"""Taking in a model of the user's own: looked at by the family that will run it, then copied."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from facefusion.app.fitting import check_fit, models_fitting, opened
from facefusion.app.model_names import SUFFIX
from facefusion.catalogue import verify
from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.collection import SEPARATOR
from facefusion.catalogue.intake import check_file, check_name, import_model
from facefusion.config.state import Snapshot
from facefusion.core.errors import ModelError, UsageError
from facefusion.core.graph import WRONG_FILE, SignedGraph
from facefusion.core.home import own_models
from facefusion.core.wording import shown


@dataclass(frozen=True, slots=True)
class Taken:
    """A model that was taken in."""

    card: ModelCard
    like: ModelCard
    """Whose family, size and template it has."""


def take_in(snapshot: Snapshot, source: Path, name: str | None, like: str | None) -> Taken:
    """Import a graph into the program's own folder of models, or refuse it before anything is written.

    Args:
        snapshot: settings in force, of which those that name models count.
        source: the ONNX file.
        name: for it; that of its file where none is given.
        like: name of the model whose family and numbers it has; where none is given, the graph itself has to tell.

    Raises:
        UsageError: the name cannot be used; no other model can be like the one named, or several could be.
        ModelError: there is no model to be like; the file is no graph, or does not fit.
        OutputError: the folder cannot be written.
        ResourceError: the disk is full.
    """
    catalogue = Catalogue.load()
    kinds = {spec.name.removesuffix(SUFFIX) for spec in snapshot.schema if spec.name.endswith(SUFFIX)}
    name = source.stem if name is None else name
    taken = {known for kind in catalogue.kinds for known in catalogue.choices(kind)}
    check_name(name, taken - {card.name for card in catalogue.cards() if card.name == name and _is_lost(card)})
    model = None if like is None else _model_to_be_like(catalogue, like, kinds)
    check_file(source)
    with opened(source) as graph:
        if model is None:
            model = _only_one(catalogue, source, graph, kinds)
        else:
            _check(catalogue, source, model, graph)
    return Taken(import_model(source, name, model, own_models()), model)


def _is_lost(card: ModelCard) -> bool:
    """Whether a model was imported and its file is gone or altered, so that it has to be imported again."""
    if card.graph is None or not card.graph.is_imported:
        return False
    path = own_models() / card.graph.name
    return not path.is_file() or verify.fault(path, card.graph) != ""


def _model_to_be_like(catalogue: Catalogue, name: str, kinds: Set[str]) -> ModelCard:
    card = catalogue.card(name)
    if card.graph is None:
        raise UsageError(f"{name} has no graph, so none can be like it", "Name another model with --like.")
    if SEPARATOR in name:
        own = next(one for one in catalogue.collections if one.kind == card.kind and one.publication is None)
        raise UsageError(
            f"{name} is of a collection, whose files are used as they lie",
            f"Put the file into a folder of models as {own.name}/NAME{own.suffix}, and choose {own.name}/NAME.",
        )
    if card.kind not in kinds:
        raise UsageError(
            f"{name} is of the kind {wording(card.kind)}, which no option chooses: another one would never be run",
            "Name another model with --like.",
        )
    return card


def _check(catalogue: Catalogue, source: Path, like: ModelCard, graph: SignedGraph) -> None:
    _load(source, graph)
    try:
        check_fit(catalogue, like, graph)
    except ModelError as error:
        # The family speaks of the model that it takes the graph for, whose file would have to be fetched again.
        fault = error.fault.removeprefix(f"{like.name}: ")
        remedy = "Name with --like a model of its family, or leave that out to have it looked for."
        raise ModelError(
            f"{shown(str(source))} cannot be like {like.name}: {fault}",
            remedy if error.remedy == WRONG_FILE else error.remedy,
        ) from error


def _only_one(catalogue: Catalogue, source: Path, graph: SignedGraph, kinds: Set[str]) -> ModelCard:
    """The model whose family alone can run a graph."""
    _load(source, graph)
    found = [card for card in models_fitting(catalogue, graph) if card.kind in kinds]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ModelError(
            f"{shown(str(source))} fits no family of models: {_described(graph)}",
            "Bring a graph of a model that this program can run; models lists those.",
        )
    names = ", ".join(f"{card.name} ({wording(card.kind)})" for card in found)
    raise UsageError(
        f"{shown(str(source))} may be like any of these: {names}", "Name the one that it is like with --like."
    )


def _load(source: Path, graph: SignedGraph) -> None:
    try:
        _ = graph.signature
    except ModelError as error:
        raise ModelError(error.fault, "Bring a graph that ONNX Runtime can run.") from error


def wording(kind: str) -> str:
    """A kind of model as people call it."""
    return kind.replace("_", " ")


def _described(graph: SignedGraph) -> str:
    inputs, outputs = graph.signature.inputs, graph.signature.outputs
    return f"it takes {', '.join(inputs) or 'nothing'} and gives {', '.join(outputs)}"
