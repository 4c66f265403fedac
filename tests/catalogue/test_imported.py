"""Models of the user's own: taken in under a name, like a model of the catalogue, and found again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.imported import LIST, imported_cards
from facefusion.catalogue.intake import import_model
from facefusion.catalogue.store import ModelStore
from facefusion.core.errors import FaceFusionError, ModelError, UsageError
from tests.catalogue.toys import GRAPH, Ears, card, published_file

TOY = dataclasses.replace(
    card("toy", published_file(), embedded=False), numbers={"input_size": 128}, terms="is bound", companions=("code",)
)
CODE = card("code", None, kind="face_recognizer")
CATALOGUE = Catalogue([TOY, CODE], {"face_swapper": ("toy",)})


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.onnx"
    path.write_bytes(GRAPH)
    return path


def take_in(source, folder, name="mine", like=TOY, **options):
    return import_model(source, name, like, folder, **options)


def test_an_imported_model_has_the_numbers_of_the_one_that_it_is_like(mine, tmp_path):
    folder = tmp_path / "models"
    made = take_in(mine, folder)
    (found,) = imported_cards(folder, CATALOGUE.cards())
    assert found == made
    assert (found.name, found.kind, found.family, found.companions) == ("mine", "face_swapper", "toy", ("code",))
    assert found.number("input_size") == 128
    assert (found.licence, found.terms, found.origin) == ("unknown", "", f"imported from {mine}")


def test_its_file_is_a_copy_that_is_trusted_until_it_is_altered(mine, tmp_path):
    folder, ears = tmp_path / "models", Ears()
    made = take_in(mine, folder)
    mine.unlink()
    store = ModelStore(CATALOGUE.with_cards([made]), [folder], ears)
    path = folder / "imported" / "mine.onnx"
    assert store.resolve("face_swapper", "mine").card == made
    assert store.ensure(made) == path
    path.write_bytes(GRAPH + b"?")
    assert store.find(made) is None
    assert ears.notices == [f"{path} is not used: its content is not what was fetched."]
    with pytest.raises(ModelError, match=r"^imported/mine\.onnx is not there, and cannot be fetched from anywhere\."):
        store.ensure(made)


def test_several_may_be_imported(mine, tmp_path):
    take_in(mine, tmp_path, "first")
    take_in(mine, tmp_path, "second")
    assert [one.name for one in imported_cards(tmp_path, CATALOGUE.cards())] == ["first", "second"]


@pytest.mark.parametrize("name", ["", "../mine", "a/b", ".hidden", "two words", "auto\n"])
def test_a_name_that_is_no_name_of_a_file_is_refused(mine, tmp_path, name):
    with pytest.raises(UsageError, match="cannot be the name of a model"):
        take_in(mine, tmp_path, name)


def test_what_cannot_be_is_refused_and_leaves_nothing(mine, tmp_path):
    folder = tmp_path / "models"
    with pytest.raises(UsageError, match=r"^there is a model toy already\. Give it another name with --name\.$"):
        take_in(mine, folder, "toy", taken={"toy"})
    with pytest.raises(UsageError, match=r"^code has no graph, so none can be like it\."):
        take_in(mine, folder, like=CODE)
    assert not folder.exists()


def graph(path, inputs, outputs):
    """A graph that gives its inputs back, of the ranks asked for."""
    nodes = [helper.make_node("Identity", [next(iter(inputs))], [name]) for name in outputs]
    takes, gives = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1] * rank) for name, rank in ranks.items()]
        for ranks in (inputs, outputs)
    )
    onnx.save(helper.make_model(helper.make_graph(nodes, "toy", takes, gives)), str(path))
    return path


def test_a_file_that_is_no_graph_is_named(tmp_path):
    path = tmp_path / "odd.onnx"
    with pytest.raises(ModelError, match=r"odd\.onnx cannot be read: No such file or directory"):
        take_in(path, tmp_path)
    path.write_bytes(b"PK\x03\x04 something else altogether")
    with pytest.raises(ModelError, match=r"odd\.onnx is no ONNX file"):
        take_in(path, tmp_path)
    path.write_bytes(b"")
    with pytest.raises(ModelError, match=r"odd\.onnx holds no graph"):
        take_in(path, tmp_path)


def test_a_graph_whose_weights_lie_elsewhere_is_refused(mine, tmp_path):
    path = tmp_path / "outside.onnx"
    onnx.save(onnx.load(str(mine)), str(path), save_as_external_data=True, size_threshold=0)
    with pytest.raises(ModelError, match=r"outside\.onnx keeps its weights in other files"):
        take_in(path, tmp_path)


def test_a_graph_of_another_family_is_refused(tmp_path):
    pattern = graph(tmp_path / "pattern.onnx", {"target": 4, "source": 2}, {"output": 4})
    fitting = graph(tmp_path / "fitting.onnx", {"target": 4, "source": 2}, {"another": 4})
    assert take_in(fitting, tmp_path, pattern=pattern).name == "mine"
    other = graph(tmp_path / "other.onnx", {"input": 4}, {"output": 4})
    with pytest.raises(ModelError) as refused:
        take_in(other, tmp_path, "other", pattern=pattern)
    assert str(refused.value) == (
        f"{other} has the inputs input (of 4 dimensions) where pattern.onnx has target (of 4 dimensions), "
        "source (of 2 dimensions). Name with --like a model of the same family."
    )
    shallow = graph(tmp_path / "shallow.onnx", {"target": 4, "source": 2}, {"output": 3})
    with pytest.raises(ModelError, match=r"has the outputs output \(of 3 dimensions\) where"):
        take_in(shallow, tmp_path, "shallow", pattern=pattern)


@pytest.mark.parametrize("text", ["", "[]", '{"mine": {}}', '{"../mine": {"like": "toy", "from": "x"}}', '{"a": 5}'])
def test_a_damaged_list_is_named(tmp_path, text):
    (tmp_path / LIST).write_text(text)
    with pytest.raises(FaceFusionError, match=r"imported\.json, the list of imported models, cannot be read"):
        imported_cards(tmp_path, CATALOGUE.cards())


def test_a_model_like_one_that_is_gone_is_named(mine, tmp_path):
    take_in(mine, tmp_path)
    with pytest.raises(ModelError, match="The imported model mine is like 'toy', which this version does not have"):
        imported_cards(tmp_path, [CODE])


def test_where_nothing_was_imported_nothing_is_found(tmp_path):
    assert imported_cards(tmp_path / "not there", CATALOGUE.cards()) == ()
