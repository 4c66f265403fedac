"""Running graphs on ONNX Runtime: providers, sessions, the pool and its gates."""
