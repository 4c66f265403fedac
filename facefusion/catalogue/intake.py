"""Taking a graph of the user's own into a folder of models; see :mod:`facefusion.catalogue.imported`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection
from pathlib import Path

import filelock

from facefusion.catalogue import verify
from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.checksums import sha256_of
from facefusion.catalogue.imported import FOLDER, FROM, LIKE, LIST, LONGEST_NAME, NAME, imported_card, read_list
from facefusion.catalogue.impostor import impostor
from facefusion.catalogue.names import AUTO
from facefusion.core.errors import ModelError, UsageError
from facefusion.core.storage import refusal
from facefusion.core.wording import shown

REMEDY = "Name the ONNX file of the model."


def check_name(name: str, taken: Collection[str]) -> None:
    """Refuse a name that cannot be that of an imported model.

    Args:
        name: for it.
        taken: names that are others' already.

    Raises:
        UsageError: it is one of those, or no name of a file.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{shown(name)} cannot be the name of a model",
            f"Give it one with --name, of letters, digits, dots and dashes, no more than {LONGEST_NAME}.",
        )
    if name == AUTO:
        raise UsageError(f"{AUTO} stands for the best model at hand", "Give it another name with --name.")
    # Where a system does not tell capitals apart, the file of one would take the place of another's.
    if name.casefold() in {known.casefold() for known in taken}:
        raise UsageError(f"there is a model {name} already", "Give it another name with --name.")


def check_file(path: Path) -> None:
    """Refuse a file that is no whole ONNX graph.

    Raises:
        ModelError: it cannot be read, is something else, or lacks a part.
    """
    import onnx  # noqa: PLC0415 - takes longer to import than everything else here
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # noqa: PLC0415 - as above

    try:
        fault = impostor(path)
        graph = None if fault else onnx.load(str(path), load_external_data=False).graph
    except OSError as error:
        raise ModelError(f"{shown(str(path))} cannot be read: {error.strerror}", REMEDY) from error
    except DecodeError as error:
        raise ModelError(f"{shown(str(path))} is no ONNX file, or only a part of one", REMEDY) from error
    if graph is None:
        raise ModelError(f"{shown(str(path))} is no ONNX file: it is {fault}", REMEDY)
    if not graph.node or not graph.output:
        raise ModelError(f"{shown(str(path))} holds no graph", REMEDY)
    if any(one.data_location == onnx.TensorProto.EXTERNAL for one in graph.initializer):
        raise ModelError(
            f"{shown(str(path))} keeps its weights in other files", "Save it as one file, and import that."
        )


def import_model(source: Path, name: str, like: ModelCard, folder: Path) -> ModelCard:
    """Copy a graph into a folder of models and enter it into the list there.

    Args:
        source: its file, of which :func:`check_file` and the family of the other model think well.
        name: for it, of which :func:`check_name` thinks well.
        like: the model of the catalogue whose family and numbers it has; or one that was imported as like that.
        folder: of models.

    Raises:
        UsageError: the other model has no graph.
        OutputError: the folder cannot be written.
        ResourceError: the disk is full.
    """
    if like.graph is None:
        raise UsageError(f"{like.name} has no graph, so none can be like it", "Name another model with --like.")
    card = imported_card(name, like, str(source))
    path = folder / FOLDER / f"{name}.onnx"
    remedy = "Make room there, or let this program write there."
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / f".{LIST}.lock"):
            verify.write_atomically(path, lambda unfinished: shutil.copyfile(source, unfinished))
            if card.graph is not None:
                verify.write_record(path, card.graph, {}, sha256_of(path))
            table = read_list(folder)
            # The list names models of the catalogue, so that each can go without the others.
            kept = table[like.name][LIKE] if like.name in table else like.name
            text = json.dumps({**table, name: {LIKE: kept, FROM: str(source)}}, indent=1) + "\n"
            verify.write_atomically(folder / LIST, lambda unfinished: unfinished.write_text(text, "utf-8"))
    except OSError as error:
        raise refusal(error, path, remedy) from error
    return card
