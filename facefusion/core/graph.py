"""What a model family sees of the inference engine: something that runs one graph."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np

from facefusion.core.errors import InferenceError, ModelError
from facefusion.core.values import Tensor

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT")

Shape: TypeAlias = tuple[int | None, ...]
"""Sizes by dimension; None where any size will do, or where a graph leaves the dimension open."""

WRONG_FILE = (
    "Its file is another model than the catalogue says: delete it and fetch it with force-download, "
    "or bring the right one."
)
"""What can be done about a graph that does not fit its family."""

NO_ANSWER = (
    "If other pictures fare no better, its file may be damaged, or hold numbers too coarse for what runs it: "
    "choose another model, or other --execution-providers."
)
"""What can be done about a graph that gives for a picture what is no answer."""

PICTURES_AT_ONCE = 4
PIXELS_AT_ONCE = PICTURES_AT_ONCE * 512 * 512
"""Most faces, tiles of frames or the like that go through a graph together, and most pixels of all of them.

What a run takes beside the weights grows with both, and a crowd would otherwise take a multiple of what the memory
budget counts on.
"""


@dataclass(frozen=True, slots=True)
class GraphValue:
    """One input or output of a graph."""

    shape: Shape
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class GraphSignature:
    """What a graph takes and gives, by name, in its own order."""

    inputs: Mapping[str, GraphValue]
    outputs: Mapping[str, GraphValue]

    @property
    def takes_several(self) -> bool:
        """Whether pictures may go through together: some input leaves their number open."""
        return any(value.shape[:1] == (None,) for value in self.inputs.values())


class GraphRunner(Protocol):
    """Runs one graph. Thread-safe: each call takes a lease on the session and passes the device's gate.

    Families get one from the caller and never see ONNX Runtime; tests hand in a function of their own.
    """

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Run the graph once and return its outputs by name.

        Raises:
            ModelError: the graph cannot be loaded, or rejects the inputs.
        """


class TypedGraph(GraphRunner, Protocol):
    """A graph that can be asked what it takes and gives; loads it where it is not loaded."""

    @property
    def signature(self) -> GraphSignature:
        """See there.

        Raises:
            ModelError: the graph cannot be loaded.
        """


class SignedGraph(TypedGraph, Protocol):
    """A graph as the inference engine hands it out, of whose file one can ask a little more."""

    def last_initializer(self) -> Tensor:
        """The constant that stands last in the graph's file, but for those that its own nodes read, where there is one.

        A few models keep a matrix there for what runs them.

        Raises:
            ModelError: the file holds none, or cannot be read.
        """


def most_in_a_run(width: int, height: int) -> int:
    """How many pictures of a size may go through a graph together, at least one."""
    return max(1, min(PICTURES_AT_ONCE, PIXELS_AT_ONCE // (width * height)))


def in_runs(items: Sequence[ItemT], width: int, height: int) -> Iterator[Sequence[ItemT]]:
    """Items in order, as many together as may be made ready for a graph and go through it in one run.

    Args:
        items: each stands for a picture that the graph is given.
        width: of the pictures.
        height: of the pictures.
    """
    at_once = most_in_a_run(width, height)
    for first in range(0, len(items), at_once):
        yield items[first : first + at_once]


def check_signature(
    model: str,
    signature: GraphSignature,
    inputs: Mapping[str, Shape],
    outputs: Sequence[Shape | None],
    optional: Mapping[str, Shape] = MappingProxyType({}),
) -> None:
    """Refuse a graph that its family cannot run.

    A dimension that the graph leaves open fits every size. Outputs count by position; a graph may give more of them.

    Args:
        model: its name, for the message.
        signature: what the graph takes and gives.
        inputs: by name, the shape that the family feeds.
        outputs: the shape of each output that the family reads; None where any shape will do.
        optional: inputs that the family can feed to a graph that has them.

    Raises:
        ModelError: an input is missing, unknown, or of another shape or no numbers; an output likewise. The message
            names what was expected and what was found.
    """
    known = {**optional, **inputs}
    for name, value in signature.inputs.items():
        if name not in known:
            _refuse(model, f"inputs {_listed(inputs)}", f"inputs {_listed(signature.inputs)}")
        if value.dtype.kind == "b" or not _fits(value, known[name]):
            # Of numbers a truth value leaves nothing but whether they are 0.
            _refuse(model, f"the input {name} as {_shape(known[name])}", _value(value))
    if not inputs.keys() <= signature.inputs.keys():
        _refuse(model, f"inputs {_listed(inputs)}", f"inputs {_listed(signature.inputs)}")
    if len(signature.outputs) < len(outputs):
        _refuse(model, f"{len(outputs)} outputs", f"{len(signature.outputs)} ({_listed(signature.outputs)})")
    for position, ((name, value), shape) in enumerate(zip(signature.outputs.items(), outputs, strict=False)):
        # ONNX Runtime says () too of an output whose shape nobody declared.
        if not _is_numbers(value) or (value.shape and shape is not None and not _fits(value, shape)):
            wanted = "numbers" if shape is None else _shape(shape)
            _refuse(model, f"output {position} ({name}) as {wanted}", _value(value))


class FittedGraph:
    """A graph that fits its family: takes what the family computes in float32, gives float32 by position.

    Inputs are cast to the types that the graph declares (rounded where those are whole numbers, unless little but
    the signs of fractions would be left), outputs to float32.
    Thread-safe as far as the graph is.

    Args:
        model: its name, for messages.
        graph: what runs it.
        inputs: see :func:`check_signature`, as the others.
        outputs: see there.
        optional: see there.

    Raises:
        ModelError: the graph cannot be loaded, or does not fit.
    """

    def __init__(
        self,
        model: str,
        graph: TypedGraph,
        inputs: Mapping[str, Shape],
        outputs: Sequence[Shape | None],
        optional: Mapping[str, Shape] = MappingProxyType({}),
    ) -> None:
        self.signature = graph.signature
        """What the graph takes and gives."""
        check_signature(model, self.signature, inputs, outputs, optional)
        self._model = model
        self._graph = graph
        self._outputs = tuple(outputs)
        self._read = len(outputs)
        self._refuses_batches = False

    def run(self, inputs: Mapping[str, Tensor]) -> list[Tensor]:
        """Run the graph once; all its outputs in its own order.

        Raises:
            ModelError: the graph rejects the inputs, or takes whole numbers that cannot hold them, or gives an output
                of another shape than the family reads, as one may that leaves its shapes open.
            InferenceError: an output that the family reads holds values that are no numbers, as half precision may
                give where it overflows.
        """
        declared = self.signature.inputs
        given = {name: self._cast(name, tensor, declared[name].dtype) for name, tensor in inputs.items()}
        count = max(len(tensor) for tensor in inputs.values() if tensor.ndim)
        outputs = self._graph.run(given)
        answers = [outputs[name].astype(np.float32, copy=False) for name in self.signature.outputs]
        self._check_shapes(answers, count)
        # Taken on, they would blacken a picture, or pass for the answer that nothing is there.
        if not all(np.isfinite(answer).all() for answer in answers[: self._read]):
            raise InferenceError(f"{self._model} gave values that are no numbers", NO_ANSWER)
        return answers

    def run_rows(self, name: str, rows: Tensor, others: Mapping[str, Tensor] = MappingProxyType({})) -> list[Tensor]:
        """:meth:`run_together` where one input alone has a row per picture."""
        return self.run_together({name: rows}, others)

    def run_together(
        self, rows: Mapping[str, Tensor], others: Mapping[str, Tensor] = MappingProxyType({})
    ) -> list[Tensor]:
        """Run the graph over several pictures: in one call where it takes a batch, else one after the other.

        Graphs are known that leave the batch open and fail on more than one; those are run row by row from then on.

        Args:
            rows: what goes to each input, one picture or more along the first dimension.
            others: what the other inputs get, the same for every picture.

        Returns:
            All outputs that the family reads, in order, each with one row per picture.

        Raises:
            ModelError: the graph rejects the inputs, also one by one.
            InferenceError: see :meth:`run`.
        """
        count = len(next(iter(rows.values())))
        if count > 1 and not self._refuses_batches and self._takes_batches(rows):
            try:
                outputs = self.run({**others, **rows})[: self._read]
            except ModelError as error:
                logger.info("%s takes one picture at a time from now on: %s", self._model, error)
            else:
                if all(output.shape[:1] == (count,) for output in outputs):
                    return outputs
            self._refuses_batches = True
        each = []
        for index in range(count):
            row = {name: tensor[index : index + 1] for name, tensor in rows.items()}
            each.append(self.run({**others, **row})[: self._read])
        if count == 1:
            return [np.atleast_1d(output) for output in each[0]]
        return [np.concatenate([np.atleast_1d(part) for part in parts]) for parts in zip(*each, strict=True)]

    def _cast(self, name: str, tensor: Tensor, dtype: np.dtype[Any]) -> Any:  # noqa: ANN401 - as the graph declares
        if tensor.dtype == dtype:
            return tensor
        if dtype.kind not in "iu":
            return tensor.astype(dtype)
        low, high = float(tensor.min()), float(tensor.max())
        if low < np.iinfo(dtype).min or high > np.iinfo(dtype).max:
            # What does not fit would come out at the other end: white for black.
            _refuse(self._model, f"the input {name} to hold {low:g} to {high:g}", f"type {dtype}")
        rounded = np.rint(tensor)
        if low >= -1 and high <= 1 and not np.array_equal(rounded, tensor):
            # A picture in 0..1 would keep two tones, its halves.
            _refuse(self._model, f"the input {name} to hold fractions from {low:g} to {high:g}", f"type {dtype}")
        return rounded.astype(dtype)

    def _check_shapes(self, answers: Sequence[Tensor], count: int) -> None:
        """Refuse what the family cannot read; what it expects for one picture holds for as many as were given."""
        names = self.signature.outputs
        for position, (name, answer, shape) in enumerate(zip(names, answers, self._outputs, strict=False)):
            if shape is None:
                continue
            expected = (count, *shape[1:]) if shape[:1] == (1,) else shape
            if not _is_within(answer.shape, expected):
                _refuse(self._model, f"output {position} ({name}) as {_shape(expected)}", _shape(answer.shape))

    def _takes_batches(self, names: Iterable[str]) -> bool:
        inputs = [self.signature.inputs[name] for name in names]
        outputs = tuple(self.signature.outputs.values())[: self._read]
        return all(value.shape[:1] == (None,) for value in (*inputs, *outputs))


def _fits(value: GraphValue, shape: Shape) -> bool:
    return _is_numbers(value) and _is_within(value.shape, shape)


def _is_within(found: Shape, shape: Shape) -> bool:
    return len(found) == len(shape) and all(
        None in (own, wanted) or own == wanted for own, wanted in zip(found, shape, strict=True)
    )


def _is_numbers(value: GraphValue) -> bool:
    return value.dtype.kind in "fiub"


def _refuse(model: str, expected: str, found: str) -> NoReturn:
    raise ModelError(
        f"{model}: the graph does not fit its family: expected {expected}, found {found}",
        WRONG_FILE,
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _shape(shape: Shape) -> str:
    return " x ".join("any" if size is None else str(size) for size in shape) or "one number"


def _value(value: GraphValue) -> str:
    return f"{_shape(value.shape)} of type {value.dtype}"
