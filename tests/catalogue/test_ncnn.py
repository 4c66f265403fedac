"""ncnn to ONNX: files written here, each layer against its definition in numpy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from facefusion.catalogue.convert import ncnn
from facefusion.core.errors import ModelError
from tests.catalogue.by_hand import Floats, conv, deconv, run


def param(*layers: str) -> bytes:
    """A parameter file whose first layer is the input."""
    lines = ["7767517", f"{len(layers) + 1} 99", "Input data 0 1 data", *layers]
    return "\r\n".join(lines).encode()


def half(values: np.ndarray) -> bytes:
    data = struct.pack("<I", 0x01306B47) + values.astype("<f2").tobytes()
    return data + b"\0" * (-len(data) % 4)


def single(values: np.ndarray) -> bytes:
    return struct.pack("<I", 0) + values.astype("<f4").tobytes()


def through(parameters: bytes, weights: bytes, picture: Floats) -> Floats:
    return run(ncnn.convert(parameters, weights), {"input": picture[np.newaxis]})["output"][0]


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(23)


@pytest.mark.parametrize("stored", [half, single])
def test_convolution_with_bias_and_leaky_activation(random, stored):
    kernel = random.normal(size=(3, 3, 3, 3)).astype(np.float16).astype(np.float32)
    bias = random.normal(size=3).astype(np.float32)
    picture = random.normal(size=(3, 6, 7)).astype(np.float32)
    layer = f"Convolution c 1 1 data out 0=3 1=3 3=2 4=1 5=1 6={kernel.size} 9=2 -23310=1,0.1"

    result = through(param(layer), stored(kernel) + bias.astype("<f4").tobytes(), picture)

    linear = conv(picture, kernel, stride=2, pads=(1, 1, 1, 1)) + bias[:, None, None]
    np.testing.assert_allclose(result, np.where(linear < 0, 0.1 * linear, linear), rtol=1e-4, atol=1e-5)


def test_an_odd_number_of_half_weights_is_padded_to_whole_words(random):
    kernel = random.normal(size=(1, 1, 3, 3)).astype(np.float16).astype(np.float32)
    picture = random.normal(size=(1, 4, 4)).astype(np.float32)

    result = through(param("Convolution c 1 1 data out 0=1 1=3 6=9"), half(kernel), picture)

    np.testing.assert_allclose(result, conv(picture, kernel), rtol=1e-4, atol=1e-5)


def test_kernel_stride_and_padding_may_differ_by_axis(random):
    kernel = random.normal(size=(2, 1, 3, 1)).astype(np.float32)  # height 3, width 1
    picture = random.normal(size=(1, 5, 4)).astype(np.float32)
    layer = "Convolution c 1 1 data out 0=2 1=1 11=3 3=1 4=0 14=1 6=6"

    result = through(param(layer), single(kernel), picture)

    np.testing.assert_allclose(result, conv(picture, kernel, pads=(1, 0, 1, 0)), rtol=1e-5, atol=1e-6)


def test_deconvolution_turns_its_weights(random):
    kernel = random.normal(size=(3, 2, 4, 4)).astype(np.float32)  # out, in, height, width
    picture = random.normal(size=(2, 3, 4)).astype(np.float32)

    result = through(param("Deconvolution d 1 1 data out 0=3 1=4 3=2 4=3 6=96"), single(kernel), picture)

    expected = deconv(picture, kernel.transpose(1, 0, 2, 3), stride=2, pad=3)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_split_concat_and_weighted_sum(random):
    picture = random.normal(size=(2, 2, 3)).astype(np.float32)
    layers = (
        "Split s 1 3 data a b c",
        "Concat k 2 1 a b both",
        "Concat l 2 1 c c twice",
        "Eltwise e 2 1 both twice out 0=1 -23301=2,0.25,1.0",
    )

    result = through(param(*layers), b"", picture)

    np.testing.assert_allclose(result, 1.25 * np.concatenate([picture, picture]), rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ("BinaryOp b 2 1 a b out 0=1", np.zeros_like),
        ("BinaryOp b 1 1 a out 0=2 1=1 2=3.0", lambda x: 3 * x),
        ("Eltwise e 2 1 a b out 0=0", np.square),
        ("ReLU r 1 1 a out", lambda x: np.maximum(x, 0)),
        ("ReLU r 1 1 a out 0=0.5", lambda x: np.where(x < 0, x / 2, x)),
    ],
)
def test_arithmetic(random, layer, expected):
    picture = random.normal(size=(2, 2, 3)).astype(np.float32)

    result = through(param("Split s 1 2 data a b", layer), b"", picture)

    np.testing.assert_allclose(result, expected(picture), rtol=1e-6)


def test_prelu_has_slopes_without_a_flag(random):
    picture = random.normal(size=(2, 3, 3)).astype(np.float32)
    slopes = np.array([0.5, -2], np.float32)

    result = through(param("PReLU p 1 1 data out 0=2"), slopes.tobytes(), picture)

    np.testing.assert_allclose(result, np.where(picture < 0, picture * slopes[:, None, None], picture), rtol=1e-6)


def test_nearest_resize_repeats_pixels(random):
    picture = random.normal(size=(1, 2, 3)).astype(np.float32)

    result = through(param("Interp i 1 1 data out 0=1 1=2.0 2=3.0"), b"", picture)

    np.testing.assert_array_equal(result, picture.repeat(2, axis=1).repeat(3, axis=2))


def test_bilinear_resize_samples_between_pixel_centres():
    picture = np.array([[[0, 4, 8]]], np.float32)

    result = through(param("Interp i 1 1 data out 0=2 1=1.0 2=2.0"), b"", picture)

    np.testing.assert_allclose(result, [[[0, 1, 3, 5, 7, 8]]], atol=1e-6)


def test_pixel_shuffle_spreads_channels_over_a_square():
    picture = np.arange(4, dtype=np.float32).reshape(4, 1, 1)

    result = through(param("PixelShuffle p 1 1 data out 0=2"), b"", picture)

    np.testing.assert_array_equal(result, [[[0, 1], [2, 3]]])


@pytest.mark.parametrize(
    ("parameters", "weights", "message"),
    [
        (param("Convolution c 1 1 data out 0=1 1=1 6=1"), b"\0" * 12, "uses 8 of 12 bytes of weights"),
        (param("Convolution c 1 1 data out 0=1 1=1 6=1"), b"\0" * 6, "needs more than its 6 bytes of weights"),
        (param("Convolution c 1 1 data out 0=1 1=1 6=1"), b"\1\2\3\4" * 2, r"unknown way \(flag 0x04030201\)"),
        (param("Convolution c 1 1 data out 0=1 1=1 4=-233 6=1"), b"\0" * 8, "'c' of the ncnn model pads automatically"),
        (param("Swish s 1 1 data out"), b"", "not supported: Swish 's'"),
        (b"7767517\n3 3\nInput data 0 1 data", b"", "1 layers where 3 are announced"),
        (b"PK\x03\x04", b"", "no ncnn parameter file"),
        (b"", b"", "no ncnn parameter file"),
    ],
)
def test_damage_is_named(parameters, weights, message):
    with pytest.raises(ModelError, match=message):
        ncnn.convert(parameters, weights)


def test_the_real_enlarger_gives_what_its_layers_say(model_path: Callable[[str], Path]):
    """Nothing but plain grey goes in: each convolution is then a sum, which is short to compute for all layers."""
    import onnx
    from onnx import numpy_helper

    path = model_path("waifu2x_photo_2x")
    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor).astype(np.float32) for tensor in graph.initializer}
    casts = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Cast"}
    values = np.full(3, 0.4, np.float32)
    for node in graph.node:
        if node.op_type == "Conv":
            kernel, bias = (stored[casts.get(name, name)] for name in node.input[1:])
            values = np.einsum("ochw,c->o", kernel, values) + bias
            values = np.where(values < 0, 0.1 * values, values)
    (last,) = (node for node in graph.node if node.op_type == "ConvTranspose")
    kernel, bias = (stored[casts.get(name, name)] for name in last.input[1:])

    result = run(path.read_bytes(), {"input": np.full((1, 3, 24, 20), 0.4, np.float32)})["output"]

    assert result.shape == (1, 3, 20, 12)  # twice what 7 pixels on each side leave
    # An output pixel sees every second row and column of the 4x4 stamp, which ones by its place.
    for y, x in ((8, 4), (8, 5), (9, 4), (9, 5)):
        stamp = kernel[:, :, (y + 3) % 2 :: 2, (x + 3) % 2 :: 2].sum(axis=(2, 3))
        np.testing.assert_allclose(result[0, :, y, x], values @ stamp + bias, atol=1e-4)
    assert result.mean() == pytest.approx(0.4, abs=0.03)
