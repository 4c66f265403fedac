"""TFLite to ONNX: each operator against its definition in numpy, on files written here."""

from __future__ import annotations

import numpy as np
import pytest
import tflite as schema

from facefusion.catalogue.convert import tflite
from facefusion.core.errors import ModelError
from tests.catalogue.by_hand import Floats, bilinear, conv, run
from tests.catalogue.tflite_writer import Writer

SAME, VALID = schema.Padding.SAME, schema.Padding.VALID
RELU6 = schema.ActivationFunctionType.RELU6


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def through(writer: Writer, source: int, target: int, picture: Floats) -> Floats:
    """The one output of the file for one input."""
    return run(tflite.convert(writer.finish([source], [target])), {"in": picture})["out"]


def channels_last(planes: Floats) -> Floats:
    return planes.transpose(1, 2, 0)[np.newaxis]


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "expected"),
    [
        (8, 3, 2, 1, (0, 1)),  # the odd pixel goes to the end
        (7, 3, 2, 1, (1, 1)),
        (8, 3, 1, 1, (1, 1)),
        (8, 2, 2, 1, (0, 0)),
        (9, 5, 3, 1, (1, 1)),
        (8, 3, 1, 2, (2, 2)),
        (4, 1, 3, 1, (0, 0)),  # never negative
    ],
)
def test_same_padding_follows_tensorflow(size, kernel, stride, dilation, expected):
    assert tflite.same_padding(size, kernel, stride, dilation) == expected


@pytest.mark.parametrize("half", [False, True], ids=["float32", "float16"])
def test_a_strided_convolution_pads_at_the_end(random, half):
    kind = np.float16 if half else np.float32
    kernel = random.normal(size=(4, 3, 3, 2)).astype(kind)  # out, height, width, in
    bias = random.normal(size=4).astype(kind)
    picture = random.normal(size=(1, 6, 8, 2)).astype(np.float32)
    writer = Writer()
    source, weights, biases = writer.tensor("in", picture.shape), writer.constant(kernel), writer.constant(bias)
    if half:
        weights = writer.operator("DEQUANTIZE", [weights], writer.tensor("weights", kernel.shape))
        biases = writer.operator("DEQUANTIZE", [biases], writer.tensor("biases", bias.shape))
    target = writer.operator(
        "CONV_2D",
        [source, weights, biases],
        writer.tensor("out", (1, 3, 4, 4)),
        Padding=SAME,
        StrideH=2,
        StrideW=2,
        DilationHFactor=1,
        DilationWFactor=1,
    )

    result = through(writer, source, target, picture)

    planes = conv(
        picture[0].transpose(2, 0, 1),
        kernel.astype(np.float32).transpose(0, 3, 1, 2),
        stride=2,
        pads=(0, 0, 1, 1),
    )
    expected = channels_last(planes + bias.astype(np.float32)[:, None, None])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_half_precision_weights_stay_half_in_the_file(random):
    kernel = random.normal(size=(64, 3, 3, 32)).astype(np.float16)
    writer = Writer()
    source = writer.tensor("in", (1, 4, 4, 32))
    weights = writer.operator("DEQUANTIZE", [writer.constant(kernel)], writer.tensor("weights", kernel.shape))
    target = writer.operator(
        "CONV_2D",
        [source, weights],
        writer.tensor("out", (1, 4, 4, 64)),
        Padding=SAME,
        StrideH=1,
        StrideW=1,
        DilationHFactor=1,
        DilationWFactor=1,
    )

    size = len(tflite.convert(writer.finish([source], [target])).SerializeToString())

    assert kernel.nbytes < size < kernel.nbytes + 1000


def test_a_depthwise_convolution_with_dilation_and_activation(random):
    kernel = random.normal(size=(1, 3, 3, 4)).astype(np.float32)
    picture = random.normal(size=(1, 7, 6, 4)).astype(np.float32) * 4
    writer = Writer()
    source = writer.tensor("in", picture.shape)
    target = writer.operator(
        "DEPTHWISE_CONV_2D",
        [source, writer.constant(kernel), -1],
        writer.tensor("out", (1, 7, 6, 4)),
        Padding=SAME,
        StrideH=1,
        StrideW=1,
        DilationHFactor=2,
        DilationWFactor=2,
        FusedActivationFunction=RELU6,
    )

    result = through(writer, source, target, picture)

    planes = [
        conv(
            picture[0, :, :, c][np.newaxis], kernel[0, :, :, c][np.newaxis, np.newaxis], dilation=2, pads=(2, 2, 2, 2)
        )[0]
        for c in range(4)
    ]
    np.testing.assert_allclose(result, channels_last(np.stack(planes)).clip(0, 6), rtol=1e-5, atol=1e-5)


def test_prelu_add_and_a_padding_of_channels(random):
    """The residual branch of a BlazeFace block: channels are filled with zeros, then added and bent."""
    picture = random.normal(size=(1, 3, 5, 2)).astype(np.float32)
    other = random.normal(size=(1, 3, 5, 4)).astype(np.float32)
    slopes = random.normal(size=(1, 1, 4)).astype(np.float32)
    writer = Writer()
    source = writer.tensor("in", picture.shape)
    amounts = writer.constant(np.array([[0, 0], [0, 0], [0, 0], [0, 2]], np.int32))
    padded = writer.operator("PAD", [source, amounts], writer.tensor("padded", other.shape))
    added = writer.operator("ADD", [padded, writer.constant(other)], writer.tensor("added", other.shape))
    target = writer.operator("PRELU", [added, writer.constant(slopes)], writer.tensor("out", other.shape))

    result = through(writer, source, target, picture)

    filled = np.concatenate([picture, np.zeros_like(picture)], axis=3) + other
    np.testing.assert_allclose(result, np.where(filled < 0, filled * slopes, filled), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("code", "reduce"), [("MAX_POOL_2D", np.max), ("AVERAGE_POOL_2D", np.mean)])
def test_pools_leave_the_padding_out(random, code, reduce):
    picture = random.normal(size=(1, 5, 5, 2)).astype(np.float32)
    writer = Writer()
    source = writer.tensor("in", picture.shape)
    target = writer.operator(
        code,
        [source],
        writer.tensor("out", (1, 3, 3, 2)),
        Padding=SAME,
        StrideH=2,
        StrideW=2,
        FilterHeight=2,
        FilterWidth=2,
    )

    result = through(writer, source, target, picture)

    for y in range(3):
        for x in range(3):
            window = picture[0, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2]
            np.testing.assert_allclose(result[0, y, x], reduce(window, axis=(0, 1)), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({}, lambda i, inside, outside: i * inside / outside),
        ({"HalfPixelCenters": True}, lambda i, inside, outside: (i + 0.5) * inside / outside - 0.5),
        ({"AlignCorners": True}, lambda i, inside, outside: i * (inside - 1) / (outside - 1)),
    ],
    ids=["asymmetric", "half pixel", "align corners"],
)
def test_resize_bilinear_honours_its_modes(random, options, place):
    picture = random.normal(size=(1, 3, 4, 1)).astype(np.float32)
    writer = Writer()
    source = writer.tensor("in", picture.shape)
    size = writer.constant(np.array([7, 9], np.int32))
    target = writer.operator("RESIZE_BILINEAR", [source, size], writer.tensor("out", (1, 7, 9, 1)), **options)

    result = through(writer, source, target, picture)

    for y in range(7):
        for x in range(9):
            inside = np.clip(place(x, 4, 9), 0, 3), np.clip(place(y, 3, 7), 0, 2)
            assert result[0, y, x, 0] == pytest.approx(bilinear(picture[0, :, :, 0], *inside), abs=1e-5)


def test_order_of_elements_survives_reshape_slice_and_concatenation(random):
    """After a convolution the graph holds channels first; a reshape must see channels last all the same."""
    picture = random.normal(size=(1, 2, 3, 4)).astype(np.float32)
    identity = np.eye(4, dtype=np.float32).reshape(4, 1, 1, 4)
    writer = Writer()
    source = writer.tensor("in", picture.shape)
    turned = writer.operator(
        "CONV_2D",
        [source, writer.constant(identity)],
        writer.tensor("turned", picture.shape),
        Padding=VALID,
        StrideH=1,
        StrideW=1,
        DilationHFactor=1,
        DilationWFactor=1,
    )
    flat = writer.operator("RESHAPE", [turned], writer.tensor("flat", (1, 24)))
    bounds = [writer.constant(np.array(values, np.int32)) for values in ([9, 5], [9, 20], [1, 3])]
    part = writer.operator("STRIDED_SLICE", [flat, *bounds], writer.tensor("part", (1, 5)), BeginMask=1, EndMask=1)
    target = writer.operator("CONCATENATION", [part, flat], writer.tensor("out", (1, 29)), Axis=1)

    result = through(writer, source, target, picture)

    plain = picture.reshape(1, 24)
    np.testing.assert_array_equal(result, np.concatenate([plain[:, 5:20:3], plain], axis=1))


@pytest.mark.parametrize("kept", [False, True])
def test_a_mean_over_rows_and_columns(random, kept):
    picture = random.normal(size=(1, 5, 4, 3)).astype(np.float32)
    writer = Writer()
    source = writer.tensor("in", picture.shape)
    pooled = writer.operator(
        "MAX_POOL_2D",
        [source],
        writer.tensor("pooled", picture.shape),
        Padding=SAME,
        StrideH=1,
        StrideW=1,
        FilterHeight=1,
        FilterWidth=1,
    )
    axes = writer.constant(np.array([1, 2], np.int32))
    shape = (1, 1, 1, 3) if kept else (1, 3)
    target = writer.operator("MEAN", [pooled, axes], writer.tensor("out", shape), KeepDims=kept)

    result = through(writer, source, target, picture)

    assert result.shape == shape
    np.testing.assert_allclose(result.ravel(), picture.mean(axis=(0, 1, 2)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("biased", [False, True])
def test_a_fully_connected_layer_and_what_bounds_it(random, biased):
    """A picture goes in row by row, channels last, as TensorFlow flattens it."""
    picture = random.normal(size=(1, 2, 2, 3)).astype(np.float32)
    weights, bias = random.normal(size=(5, 12)).astype(np.float16), random.normal(size=5).astype(np.float32)
    writer = Writer()
    source = writer.tensor("in", picture.shape)
    whole = writer.operator("DEQUANTIZE", [writer.constant(weights)], writer.tensor("weights", weights.shape))
    added = writer.constant(bias) if biased else -1
    dense = writer.operator("FULLY_CONNECTED", [source, whole, added], writer.tensor("dense", (1, 5)))
    target = writer.operator("LOGISTIC", [dense], writer.tensor("out", (1, 5)))

    result = through(writer, source, target, picture)

    plain = picture.ravel() @ weights.astype(np.float32).T + (bias if biased else 0)
    np.testing.assert_allclose(result, 1 / (1 + np.exp(-plain[None])), rtol=1e-5, atol=1e-6)


def test_the_same_file_gives_the_same_bytes(random):
    writer = Writer()
    source = writer.tensor("in", (1, 2, 2, 1))
    other = writer.constant(random.normal(size=(1, 2, 2, 1)).astype(np.float32))
    target = writer.operator("MUL", [source, other], writer.tensor("out", (1, 2, 2, 1)))
    data = writer.finish([source], [target])

    assert tflite.convert(data).SerializeToString(deterministic=True) == tflite.convert(data).SerializeToString(
        deterministic=True
    )


def test_an_operator_that_is_not_known_is_named():
    writer = Writer()
    source = writer.tensor("in", (1, 2, 2, 1))
    target = writer.operator("ArgusEyes", [source], writer.tensor("out", (1, 2, 2, 1)))

    with pytest.raises(ModelError, match="an operator that is not supported: ArgusEyes"):
        tflite.convert(writer.finish([source], [target]))


def test_other_bytes_are_refused():
    with pytest.raises(ModelError, match="no TFLite model"):
        tflite.convert(b"PK\x03\x04 something else entirely")
