"""Taking a graph of the user's own into a folder of models; see :mod:`facefusion.catalogue.imported`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from facefusion.catalogue import verify
from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.imported import FOLDER, FROM, LIKE, LIST, NAME, imported_card, read_list
from facefusion.core.errors import ModelError, UsageError
from facefusion.core.storage import refusal

if TYPE_CHECKING:
    import onnx

REMEDY = "Name the ONNX file of the model."


def import_model(
    source: Path, name: str, like: ModelCard, folder: Path, taken: Iterable[str] = (), pattern: Path | None = None
) -> ModelCard:
    """Copy a graph into a folder of models and enter it into the list there.

    The family itself looks at the graph when it is used.

    Args:
        source: the ONNX file.
        name: for it.
        like: the model of the catalogue whose family and numbers it has.
        folder: of models.
        taken: names that are others' already.
        pattern: file of the other model, where it is at hand: its inputs and outputs must be those of the graph.

    Raises:
        UsageError: the name cannot be used, or the other model has no graph.
        ModelError: the file is no ONNX graph, lacks a part of it, or is of another family.
        OutputError: the folder cannot be written.
        ResourceError: the disk is full.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a model", "Take letters, digits, dots and dashes.")
    if name in taken:
        raise UsageError(f"there is a model {name} already", "Give it another name with --name.")
    if like.graph is None:
        raise UsageError(f"{like.name} has no graph, so none can be like it", "Name another model with --like.")
    _check_fit(source, pattern)
    card = imported_card(name, like, str(source))
    path = folder / FOLDER / f"{name}.onnx"
    remedy = "Make room there, or let this program write there."
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / f".{LIST}.lock"):
            verify.write_atomically(path, lambda unfinished: shutil.copyfile(source, unfinished))
            if card.graph is not None:
                verify.write_record(path, card.graph, {}, verify.sha256_of(path))
            table = {**read_list(folder), name: {LIKE: like.name, FROM: str(source)}}
            text = json.dumps(table, indent=1) + "\n"
            verify.write_atomically(folder / LIST, lambda unfinished: unfinished.write_text(text, "utf-8"))
    except OSError as error:
        raise refusal(error, path, remedy) from error
    return card


def _check_fit(path: Path, pattern: Path | None) -> None:
    """Raise a :class:`ModelError` where a file is no whole ONNX graph, or has other inputs or outputs than another."""
    graph = _load(path)
    if pattern is None:
        return
    wanted = _load(pattern)
    for what in ("input", "output"):
        expected, found = _shapes(wanted, what), _shapes(graph, what)
        # Outputs are read by their position, inputs by their name.
        fits = expected == found if what == "input" else list(expected.values()) == list(found.values())
        if not fits:
            raise ModelError(
                f"{path} has the {what}s {_text(found)} where {pattern.name} has {_text(expected)}",
                "Name with --like a model of the same family.",
            )


def _load(path: Path) -> onnx.GraphProto:
    import onnx  # noqa: PLC0415 - takes longer to import than everything else here
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # noqa: PLC0415 - as above

    try:
        graph = onnx.load(str(path), load_external_data=False).graph
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", REMEDY) from error
    except DecodeError as error:
        raise ModelError(f"{path} is no ONNX file", REMEDY) from error
    if not graph.node or not graph.output:
        raise ModelError(f"{path} holds no graph", REMEDY)
    if any(one.data_location == onnx.TensorProto.EXTERNAL for one in graph.initializer):
        raise ModelError(f"{path} keeps its weights in other files", "Save it as one file, and import that.")
    return graph


def _shapes(graph: onnx.GraphProto, what: str) -> dict[str, int]:
    """Number of dimensions of each input or output."""
    constants = {one.name for one in graph.initializer}
    values = [value for value in getattr(graph, what) if value.name not in constants]
    return {value.name: len(value.type.tensor_type.shape.dim) for value in values}


def _text(shapes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} (of {rank} dimensions)" for name, rank in shapes.items())
