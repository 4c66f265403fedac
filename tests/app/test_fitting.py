"""Whether a graph can be run as a model of the catalogue is, told before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from facefusion.app.fitting import check_fit, models_fitting, opened
from facefusion.catalogue.catalogue import Catalogue
from facefusion.core.errors import ModelError
from facefusion.core.graph import GraphSignature, GraphValue, Shape
from facefusion.core.values import Tensor
from tests.toys.swappers import colour_swapper, recogniser

CATALOGUE = Catalogue.load()
MATRIX = np.eye(512, dtype=np.float32)


class Outside:
    """A graph of which nothing is known but what it takes and gives."""

    def __init__(self, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape], last: Tensor = MATRIX) -> None:
        self.signature = GraphSignature(_values(inputs), _values(outputs))
        self._last = last

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        raise AssertionError("nothing is run")

    def last_initializer(self) -> Tensor:
        return self._last


def _values(shapes: Mapping[str, Shape]) -> dict[str, GraphValue]:
    return {name: GraphValue(shape, np.dtype(np.float32)) for name, shape in shapes.items()}


def swapper(source: Shape, size: int, last: Tensor = MATRIX) -> Outside:
    image = (1, 3, size, size)
    return Outside({"target": image, "source": source}, {"output": image}, last)


def fitting(graph: Outside) -> list[str]:
    return [card.name for card in models_fitting(CATALOGUE, graph)]


@pytest.mark.parametrize("name", sorted({card.name for card in CATALOGUE.cards() if card.graph is not None}))
def test_every_family_refuses_a_graph_of_another_and_says_what_it_expects(name: str) -> None:
    odd = Outside({"odd": (7,)}, {"sum": ()})
    with pytest.raises(ModelError, match=r": the graph does not fit its family: expected .+, found inputs odd\."):
        check_fit(CATALOGUE, CATALOGUE.card(name), odd)


@pytest.mark.parametrize("collection", [one.name for one in CATALOGUE.collections])
def test_so_does_every_collection(collection: str) -> None:
    with pytest.raises(ModelError, match=r"the graph does not say the size of an input in_face:0"):
        check_fit(CATALOGUE, CATALOGUE.card(f"{collection}/somebody"), Outside({"odd": (7,)}, {"sum": ()}))


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("blendswap_256", swapper((1, 3, 112, 112), 256)),
        ("ghost_2_256", swapper((1, 512), 256)),
        ("hififace_unofficial_256", swapper((1, 512), 256)),
        ("hyperswap_1b_256", swapper((1, 512), 256)),
        ("inswapper_128_fp16", swapper((1, 512), 128)),
        ("simswap_unofficial_512", swapper((1, 512), 512)),
        ("uniface_256", swapper((1, 3, 256, 256), 256)),
        ("crossface_ghost", Outside({"input": (1, 512)}, {"output": (1, 512)})),
        ("arcface_w600k_r50", Outside({"input": (None, 3, 112, 112)}, {"683": (None, 512)})),
        ("2dfan4", Outside({"input": (1, 3, 256, 256)}, {"points": (1, 68, 3), "maps": (1, 68, 64, 64)})),
        ("open_nsfw", Outside({"input": (None, 224, 224, 3)}, {"output": (None, 2)})),
        ("xseg_3", Outside({"input": (None, 256, 256, 3)}, {"output": (None, 256, 256, 1)})),
        ("gpen_bfr_1024", Outside({"input": (1, 3, 1024, 1024)}, {"output": (1, 3, 1024, 1024)})),
        ("jen/somebody_224", Outside({"in_face:0": (None, 224, 224, 3)}, dict.fromkeys("abc", (None, 224, 224, None)))),
    ],
)
def test_a_graph_that_fits_is_taken_though_no_companion_is_here(name: str, graph: Outside) -> None:
    check_fit(CATALOGUE, CATALOGUE.card(name), graph)


def test_what_was_expected_and_what_was_found_is_said() -> None:
    with pytest.raises(ModelError) as refused:
        check_fit(CATALOGUE, CATALOGUE.card("ghost_1_256"), swapper((1, 512), 128))
    assert refused.value.fault == (
        "ghost_1_256: the graph does not fit its family: expected the input target as 1 x 3 x 256 x 256, "
        "found 1 x 3 x 128 x 128 of type float32"
    )


def test_the_matrix_of_identities_is_looked_for() -> None:
    with pytest.raises(ModelError, match="the last constant of its file is 3 x 3 and must be the 512 x 512 matrix"):
        check_fit(CATALOGUE, CATALOGUE.card("inswapper_128"), swapper((1, 512), 128, np.eye(3, dtype=np.float32)))


def test_what_is_of_another_family_is_not_said_to_have_lost_its_matrix() -> None:
    with pytest.raises(ModelError, match="expected the input target as 1 x 3 x 128 x 128, found 1 x 3 x 256 x 256"):
        check_fit(CATALOGUE, CATALOGUE.card("inswapper_128"), swapper((1, 512), 256, np.eye(3, dtype=np.float32)))


def test_models_that_only_their_weights_tell_apart_are_one() -> None:
    assert fitting(swapper((1, 512), 128)) == ["inswapper_128"]
    assert fitting(swapper((1, 3, 112, 112), 256)) == ["blendswap_256"]
    assert fitting(Outside({"input": (1, 3, 112, 112)}, {"a": (1, 512)})) == ["arcface_w600k_r50"]
    assert fitting(Outside({"input": (1, 3, 512, 512)}, {"a": (1, 3, 512, 512)})) == ["codeformer"]


def test_all_that_a_graph_may_be_is_named() -> None:
    assert fitting(swapper((1, 512), 256)) == [
        "ghost_1_256",
        "hififace_unofficial_256",
        "hyperswap_1a_256",
        "simswap_256",
    ]
    assert fitting(Outside({"odd": (7,)}, {"sum": ()})) == []


def test_a_file_is_opened_by_the_engine(tmp_path) -> None:
    path = tmp_path / "mine.onnx"
    path.write_bytes(colour_swapper((512,), 128, matrix=MATRIX, precision="float16", batch="n").SerializeToString())
    with opened(path) as graph:
        assert [card.name for card in models_fitting(CATALOGUE, graph)] == ["inswapper_128"]
        assert graph.signature.inputs["target"] == GraphValue((None, 3, 128, 128), np.dtype(np.float16))
    path = tmp_path / "other.onnx"
    path.write_bytes(recogniser(np.ones((3, 512), np.float32), np.ones(512, np.float32)).SerializeToString())
    with opened(path) as graph, pytest.raises(ModelError, match=r"inputs target, source, found inputs input\."):
        check_fit(CATALOGUE, CATALOGUE.card("ghost_1_256"), graph)


def test_a_file_that_the_engine_cannot_load_is_refused(tmp_path) -> None:
    path = tmp_path / "odd.onnx"
    path.write_bytes(b"nothing of the kind")
    with opened(path) as graph, pytest.raises(ModelError, match=r"odd\.onnx: .* cannot be read as a graph"):
        models_fitting(CATALOGUE, graph)
