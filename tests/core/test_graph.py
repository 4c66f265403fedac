"""Whether a graph fits its family, and what a fitting one is given."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.errors import InferenceError, ModelError
from facefusion.core.graph import FittedGraph, GraphSignature, GraphValue, check_signature

REMEDY = (
    "Its file is another model than the catalogue says: delete it and fetch it with force-download, "
    "or bring the right one."
)


def value(*shape, dtype=np.float32):
    return GraphValue(shape, np.dtype(dtype))


def signature(inputs=None, outputs=None):
    return GraphSignature(
        inputs or {"input": value(None, 3, 112, 112)}, {"output": value(1, 512)} if outputs is None else outputs
    )


def check(given, inputs=None, outputs=((1, 512),), **optional):
    check_signature("toy", given, inputs or {"input": (1, 3, 112, 112)}, outputs, optional)


@pytest.mark.parametrize(
    "given",
    [
        signature(),
        signature({"input": value(1, 3, None, None, dtype=np.float16)}),
        signature({"input": value(1, 3, 112, 112, dtype=np.uint8)}),
        signature(outputs={"a": value(None, 512), "b": value(7)}),
        signature(outputs={"undeclared": value()}),
    ],
)
def test_what_fits_is_let_through(given):
    check(given)


@pytest.mark.parametrize(
    ("given", "expected", "found"),
    [
        (signature({"data": value(1, 3, 112, 112)}), "inputs input", "inputs data"),
        (signature({"input": value(1, 3, 112, 112), "w": value(1)}), "inputs input", "inputs input, w"),
        (
            signature({"input": value(1, 112, 112, 3)}),
            "the input input as 1 x 3 x 112 x 112",
            "1 x 112 x 112 x 3 of type float32",
        ),
        (
            signature({"input": value(None, 3, 112)}),
            "the input input as 1 x 3 x 112 x 112",
            "any x 3 x 112 of type float32",
        ),
        (
            signature({"input": value(1, 3, 112, 112, dtype=object)}),
            "the input input as 1 x 3 x 112 x 112",
            "1 x 3 x 112 x 112 of type object",
        ),
        (
            signature({"input": value(1, 3, 112, 112, dtype=bool)}),
            "the input input as 1 x 3 x 112 x 112",
            "1 x 3 x 112 x 112 of type bool",
        ),
        (signature(outputs={}), "1 outputs", "0 (none)"),
        (signature(outputs={"y": value(1, 128)}), "output 0 (y) as 1 x 512", "1 x 128 of type float32"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_found(given, expected, found):
    with pytest.raises(ModelError) as refused:
        check(given)
    assert str(refused.value) == f"toy: the graph does not fit its family: expected {expected}, found {found}. {REMEDY}"


def test_an_input_that_the_graph_lacks_is_missed():
    with pytest.raises(ModelError, match="expected inputs input, source, found inputs input"):
        check(signature(), {"input": (1, 3, 112, 112), "source": (1, 512)})


def test_an_optional_input_may_be_there_and_must_fit():
    check(signature(), weight=(1,))
    check(signature({"input": value(1, 3, 112, 112), "weight": value(1)}), weight=(1,))
    with pytest.raises(ModelError, match="expected the input weight as 1, found 2 of type float32"):
        check(signature({"input": value(1, 3, 112, 112), "weight": value(2)}), weight=(1,))


class Echo:
    """Remembers what it was given; gives it back twice under names that are not in alphabetical order."""

    def __init__(self, dtype):
        self.signature = GraphSignature(
            {"input": value(None, dtype=dtype)}, {"z": value(None, dtype=dtype), "a": value(None, dtype=dtype)}
        )

    def run(self, inputs):
        self.given = inputs["input"]
        return {"a": inputs["input"] + 1, "z": inputs["input"]}


@pytest.mark.parametrize(
    ("dtype", "got"),
    [(np.float32, [0.25, 2.75]), (np.float16, [0.25, 2.75]), (np.float64, [0.25, 2.75]), (np.uint8, [0, 3])],
)
def test_a_fitting_graph_gets_its_own_type_and_gives_float_by_position(dtype, got):
    echo = Echo(dtype)
    outputs = FittedGraph("toy", echo, {"input": (None,)}, [(None,), (None,)]).run(
        {"input": np.array([0.25, 2.75], np.float32)}
    )
    assert echo.given.dtype == dtype
    assert [output.dtype for output in outputs] == [np.float32, np.float32]
    assert outputs[0].tolist() == got
    assert outputs[1].tolist() == [number + 1 for number in got]


@pytest.mark.parametrize(
    ("dtype", "given", "held"),
    [
        (np.uint8, [-1, 1], "-1 to 1"),
        (np.uint8, [0, 256], "0 to 256"),
        (np.int8, [0, 200], "0 to 200"),
        (np.uint8, [0, 0.75], "fractions from 0 to 0.75"),
        (np.int8, [-1, -0.25, 1], "fractions from -1 to 1"),
    ],
)
def test_whole_numbers_that_do_not_hold_what_the_family_gives_are_refused(dtype, given, held):
    fitted = FittedGraph("toy", Echo(dtype), {"input": (None,)}, [(None,), (None,)])
    with pytest.raises(ModelError) as refused:
        fitted.run({"input": np.array(given, np.float32)})
    assert refused.value.fault == (
        f"toy: the graph does not fit its family: expected the input input to hold {held}, found type {np.dtype(dtype)}"
    )


@pytest.mark.parametrize("given", [[0, 0], [0, 1], [-1, 1], [0.25, 1.5]])
def test_whole_numbers_are_given_black_pictures_and_fractions_that_round_to_something(given):
    echo = Echo(np.int8)
    FittedGraph("toy", echo, {"input": (None,)}, [(None,), (None,)]).run({"input": np.array(given, np.float32)})
    assert echo.given.tolist() == np.rint(given).tolist()


def test_a_graph_of_another_family_is_refused_before_it_runs():
    with pytest.raises(ModelError, match="toy: the graph does not fit its family"):
        FittedGraph("toy", Echo(np.float32), {"target": (None,)}, [None])


class Halver:
    """Halves ``input`` and adds ``more``; remembers how many rows it got at once, and may fail on more than one."""

    def __init__(self, batch=None, *, fails=False):
        self.signature = GraphSignature(
            {"input": value(batch, 2), "more": value(1)}, {"half": value(batch, 2), "extra": value(1)}
        )
        self.runs: list[int] = []
        self._fails = fails

    def run(self, inputs):
        rows = inputs["input"]
        self.runs.append(len(rows))
        if self._fails and len(rows) > 1:
            raise ModelError("toy: Reshape", "")
        return {"half": rows / 2 + inputs["more"], "extra": np.zeros(1, np.float32)}

    def last_initializer(self):
        raise AssertionError("not asked for")


@pytest.mark.parametrize(
    ("graph", "runs"),
    [
        (Halver(), [3, 3]),
        (Halver(1), [1, 1, 1, 1, 1, 1]),
        (Halver(fails=True), [3, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_rows_go_in_one_run_where_the_graph_takes_a_batch(graph, runs):
    fitted = FittedGraph("toy", graph, {"input": (1, 2), "more": (1,)}, [(1, 2)])
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    for _ in range(2):
        (half,) = fitted.run_rows("input", rows, {"more": np.ones(1, np.float32)})
        np.testing.assert_array_equal(half, rows / 2 + 1)
    assert graph.runs == runs


def test_a_single_row_that_fails_is_an_error():
    class Broken(Halver):
        def run(self, inputs):
            raise ModelError("toy: Reshape", "")

    fitted = FittedGraph("toy", Broken(), {"input": (1, 2), "more": (1,)}, [(1, 2)])
    with pytest.raises(ModelError, match="toy: Reshape"):
        fitted.run_rows("input", np.ones((2, 2), np.float32), {"more": np.ones(1, np.float32)})


class Adder:
    """Adds two inputs, of which one or both leave the number of rows open."""

    def __init__(self, second):
        self.signature = GraphSignature({"a": value(None, 2), "b": value(second, 2)}, {"sum": value(None, 2)})
        self.runs: list[int] = []

    def run(self, inputs):
        self.runs.append(len(inputs["a"]))
        return {"sum": inputs["a"] + inputs["b"]}

    def last_initializer(self):
        raise AssertionError("not asked for")


@pytest.mark.parametrize(("second", "runs"), [(None, [3]), (1, [1, 1, 1])])
def test_several_inputs_go_together_row_by_row(second, runs):
    graph = Adder(second)
    fitted = FittedGraph("toy", graph, {"a": (1, 2), "b": (1, 2)}, [(1, 2)])
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    (total,) = fitted.run_together({"a": rows, "b": 10 * rows})
    np.testing.assert_array_equal(total, 11 * rows)
    assert graph.runs == runs


class Speechless(Halver):
    """Gives no numbers where the family reads, or beside that."""

    def __init__(self, **outputs):
        super().__init__()
        self._outputs = {"half": np.zeros((1, 2)), "extra": np.zeros(1), **outputs}

    def run(self, inputs):
        return self._outputs


@pytest.mark.parametrize("no_number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_an_answer_that_is_no_number_is_none(no_number, dtype):
    answer = np.array([[0.5, no_number]], dtype)
    fitted = FittedGraph("toy", Speechless(half=answer), {"input": (1, 2), "more": (1,)}, [(1, 2)])
    with pytest.raises(InferenceError) as refused:
        fitted.run({"input": np.ones((1, 2), np.float32), "more": np.ones(1, np.float32)})
    assert refused.value.fault == "toy gave values that are no numbers"
    assert "--execution-providers" in refused.value.remedy


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((), "one number"),
        ((2,), "2"),
        ((1, 3), "1 x 3"),
        ((1, 2, 1), "1 x 2 x 1"),
        ((2, 2), "2 x 2"),
        ((0, 2), "0 x 2"),
    ],
)
def test_an_answer_of_another_shape_than_the_graph_left_open_is_refused(shape, found):
    speechless = Speechless(half=np.zeros(shape, np.float32))
    fitted = FittedGraph("toy", speechless, {"input": (1, 2), "more": (1,)}, [(1, 2)])
    for run in (fitted.run, fitted.run_together):
        with pytest.raises(ModelError) as refused:
            run({"input": np.ones((1, 2), np.float32), "more": np.ones(1, np.float32)})
        assert str(refused.value) == (
            f"toy: the graph does not fit its family: expected output 0 (half) as 1 x 2, found {found}. {REMEDY}"
        )


def test_an_answer_of_any_shape_that_is_one_number_is_a_row():
    speechless = Speechless(half=np.array(0.5, np.float32))
    fitted = FittedGraph("toy", speechless, {"input": (1, 2), "more": (1,)}, [None])
    (half,) = fitted.run_rows("input", np.ones((2, 2), np.float32), {"more": np.ones(1, np.float32)})
    assert half.tolist() == [0.5, 0.5]


def test_what_a_family_does_not_read_may_be_anything():
    speechless = Speechless(extra=np.array([np.nan]))
    fitted = FittedGraph("toy", speechless, {"input": (1, 2), "more": (1,)}, [(1, 2)])
    half, _ = fitted.run({"input": np.ones((1, 2), np.float32), "more": np.ones(1, np.float32)})
    np.testing.assert_array_equal(half, np.zeros((1, 2)))
