"""Tries a provider out before anything depends on it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import onnxruntime

from facefusion.inference.runtime import ERRORS_ONLY, FATAL_ONLY
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession

PROBE = "probe"
"""Name of the graph in messages."""


def probe(request: LoadRequest) -> None:
    """Make a session of the smallest graph with the providers of ``request``; its model is not looked at.

    The graph copies a string, which no device takes on, so nothing is compiled and only the provider itself is
    started: its libraries, its driver and the device.

    Raises:
        ProviderError: ONNX Runtime cannot start the provider, or gave another one.
        DeviceMemoryError: the device has no memory left at all.
    """
    from onnx import TensorProto, helper, save  # noqa: PLC0415 - only where there is a device to try

    text = [helper.make_tensor_value_info(name, TensorProto.STRING, [1]) for name in ("text", "copy")]
    graph = helper.make_graph([helper.make_node("Identity", ["text"], ["copy"])], PROBE, text[:1], text[1:])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "probe.onnx")
        save(model, path)
        # What the runtime would print about a provider that does not start is told in the error.
        onnxruntime.set_default_logger_severity(FATAL_ONLY)
        try:
            OrtSession(replace(request, model=ModelFile(PROBE, path)))
        finally:
            onnxruntime.set_default_logger_severity(ERRORS_ONLY)
