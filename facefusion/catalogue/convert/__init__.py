"""Turning graphs of other formats into ONNX, once, when a model is fetched."""
