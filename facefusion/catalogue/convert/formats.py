"""The formats that parts come in, and their converters: the one list that the catalogue's ``format`` chooses from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from facefusion.catalogue.card import GraphFile
from facefusion.core.errors import ModelError

if TYPE_CHECKING:
    import onnx

VERBATIM = "verbatim"
"""A finished graph, stored as it comes."""


@dataclass(frozen=True, slots=True)
class Format:
    """What a converter takes."""

    version: int
    """Counted up when the converter's output changes, so that files made by an older one are made again."""
    roles: tuple[str, ...] = ("graph",)
    """The parts."""
    options: Mapping[str, type] = field(default_factory=dict)
    """What it may be told, by type."""


FORMATS: Mapping[str, Format] = {
    "block_int8": Format(version=1, options={"free_size": bool}),
    "face_mesh": Format(version=1),
    "ncnn": Format(version=1, roles=("param", "weights")),
    "renamed": Format(version=1, options={"names": dict}),
    "tflite": Format(version=1),
    VERBATIM: Format(version=1),
}


def fault(graph: GraphFile) -> str:
    """What is wrong with a catalogue entry's format, options and parts; empty where nothing is."""
    if graph.format not in FORMATS:
        return f"has the unknown format {graph.format!r}"
    known = FORMATS[graph.format]
    roles = tuple(part.role for part in graph.parts)
    if sorted(roles) != sorted(known.roles):
        return f"has the parts {roles} where {graph.format} needs {known.roles}"
    for name, value in graph.options.items():
        if not isinstance(value, known.options.get(name, type(None))):
            return f"has the unknown option {name!r}"
    return ""


def convert(graph: GraphFile, parts: Mapping[str, bytes]) -> bytes:
    """Make the graph from its parts, by role. The same parts give the same bytes.

    Raises:
        ModelError: a part is damaged or not what the format wants, or the result is no valid graph.
    """
    # Importing onnx and tflite takes longer than everything else at start-up, and most runs convert nothing.
    import onnx  # noqa: PLC0415

    from facefusion.catalogue.convert.block_int8 import load  # noqa: PLC0415

    if graph.format == VERBATIM:
        model, data = load(parts["graph"]), parts["graph"]
    else:
        model = _converters()[graph.format](graph, parts)
        data = bytes(model.SerializeToString(deterministic=True))
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ModelError(f"{graph.name} is no valid graph: {error}", "Please report this.") from error
    return data


def _converters() -> Mapping[str, Callable[[GraphFile, Mapping[str, bytes]], onnx.ModelProto]]:
    from facefusion.catalogue.convert import block_int8, face_mesh, ncnn, renamed, tflite  # noqa: PLC0415

    def names(graph: GraphFile) -> Mapping[str, str]:
        found = graph.options.get("names", {})
        return found if isinstance(found, Mapping) else {}

    return {
        "block_int8": lambda graph, parts: block_int8.convert(
            parts["graph"], free_size=bool(graph.options.get("free_size"))
        ),
        "face_mesh": lambda _graph, parts: face_mesh.convert(parts["graph"]),
        "ncnn": lambda _graph, parts: ncnn.convert(parts["param"], parts["weights"]),
        "renamed": lambda graph, parts: renamed.convert(parts["graph"], names(graph)),
        "tflite": lambda _graph, parts: tflite.convert(parts["graph"]),
    }
