"""Graphs in half precision, for providers that compute in what the graph says.

TensorRT, MIGraphX and others choose their own precision; CUDA computes in that of the graph's weights. So where half is
asked for, a copy of the graph is made with ONNX Runtime's own converter: weights and what passes between nodes are
float16, while inputs, outputs and the operators that have no such kernel or lose too much stay as they are.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from facefusion.core.errors import ModelError, ResourceError
from facefusion.inference.compiled import compiling, is_filled

LARGEST = 2**31 - 1
"""Bytes of the largest graph that one file can hold."""


def half_graph(path: Path, folder: Path) -> Path:
    """The copy in half precision, made where it is not there yet.

    It takes some seconds and several times the file's size in memory, once for each graph.

    Args:
        path: of the graph.
        folder: where the copy is kept; its name tells from which graph and by which converter it is made.

    Raises:
        ModelError: the graph cannot be read or converted.
        ResourceError: the copy cannot be written.
    """
    copy = folder / "graph.onnx"
    try:
        with compiling([folder]):
            if not is_filled(folder):
                copy.write_bytes(_converted(path))
    except OSError as error:
        with contextlib.suppress(OSError):
            copy.unlink()  # it may be half a file, which would count as whole
        raise ResourceError(
            f"the copy of {path.name} in half precision cannot be written to {folder} ({error.strerror or error})",
            "Free some space there, or leave --inference-precision at auto.",
        ) from error
    return copy


def _converted(path: Path) -> bytes:
    import onnx  # noqa: PLC0415 - few need it, and it takes a quarter of a second
    from onnxruntime.transformers.float16 import convert_float_to_float16  # noqa: PLC0415 - likewise

    try:
        model = onnx.load(path)
        if model.ByteSize() > LARGEST:
            raise ValueError("it is larger than one file may be")
        half = convert_float_to_float16(model, keep_io_types=True)
        return bytes(half.SerializeToString())
    except Exception as error:  # of the converter, protobuf and ONNX, which share no base
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelError(
            f"{path} cannot be converted to half precision ({reason})",
            "Leave --inference-precision at auto, or choose tensorrt with --execution-providers, which does without.",
        ) from error
