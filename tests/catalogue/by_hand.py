"""What graphs must give, worked out slowly and directly from each operator's definition, and a way to run a graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

Floats = npt.NDArray[np.float32]


def run(model: onnx.ModelProto | bytes, inputs: Mapping[str, Floats]) -> dict[str, Floats]:
    """Run a graph on the CPU."""
    data = model if isinstance(model, bytes) else model.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(inputs)), strict=True))


def conv(
    picture: Floats,
    kernel: Floats,
    *,
    stride: int = 1,
    dilation: int = 1,
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> Floats:
    """Convolution of (C, H, W) with (O, C, h, w); pads are top, left, bottom, right."""
    top, left, bottom, right = pads
    padded = np.pad(picture, ((0, 0), (top, bottom), (left, right)))
    channels, _, kernel_height, kernel_width = kernel.shape
    height = (padded.shape[1] - (kernel_height - 1) * dilation - 1) // stride + 1
    width = (padded.shape[2] - (kernel_width - 1) * dilation - 1) // stride + 1
    result = np.zeros((channels, height, width), np.float32)
    for y in range(height):
        for x in range(width):
            rows = slice(y * stride, y * stride + kernel_height * dilation, dilation)
            columns = slice(x * stride, x * stride + kernel_width * dilation, dilation)
            result[:, y, x] = np.einsum("ochw,chw->o", kernel, padded[:, rows, columns])
    return result


def deconv(picture: Floats, kernel: Floats, *, stride: int, pad: int) -> Floats:
    """Transposed convolution of (C, H, W) with (C, O, h, w): each pixel stamps the kernel, then the rim is cut off."""
    _, height, width = picture.shape
    _, channels, kernel_height, kernel_width = kernel.shape
    stamped = np.zeros(
        (channels, (height - 1) * stride + kernel_height, (width - 1) * stride + kernel_width), np.float32
    )
    for y in range(height):
        for x in range(width):
            stamped[:, y * stride : y * stride + kernel_height, x * stride : x * stride + kernel_width] += np.einsum(
                "c,cohw->ohw", picture[:, y, x], kernel
            )
    return stamped[:, pad : stamped.shape[1] - pad, pad : stamped.shape[2] - pad]


def bilinear(plane: Floats, x: float, y: float) -> float:
    """Sample of (H, W) between pixel centres at whole numbers; zero outside."""
    total = 0.0
    for row in (int(np.floor(y)), int(np.floor(y)) + 1):
        for column in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= row < plane.shape[0] and 0 <= column < plane.shape[1]:
                total += (1 - abs(y - row)) * (1 - abs(x - column)) * float(plane[row, column])
    return total
