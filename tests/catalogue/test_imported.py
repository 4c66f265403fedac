"""Models of the user's own: taken in under a name, like a model of the catalogue, and found again."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import onnx
import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.imported import LIST, imported_cards
from facefusion.catalogue.intake import check_file, check_name, import_model
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


def take_in(source, folder, name="mine", like=TOY):
    return import_model(source, name, like, folder)


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
    assert ears.notices == [f"{path} is not used: its content is not what was imported."]
    again = "Import it again, or choose another model."
    with pytest.raises(ModelError) as refused:
        store.ensure(made)
    assert str(refused.value) == f"The imported model {path} was altered: its content is not what was imported. {again}"
    path.unlink()
    with pytest.raises(ModelError) as refused:
        store.ensure(made)
    assert str(refused.value) == f"The imported model {path} is not there any more. {again}"


def test_several_may_be_imported(mine, tmp_path):
    take_in(mine, tmp_path, "first")
    take_in(mine, tmp_path, "second")
    assert [one.name for one in imported_cards(tmp_path, CATALOGUE.cards())] == ["first", "second"]


@pytest.mark.parametrize("name", ["", "../mine", "a/b", ".hidden", "two words", "auto\n"])
def test_a_name_that_is_no_name_of_a_file_is_refused(name):
    with pytest.raises(UsageError, match="cannot be the name of a model"):
        check_name(name, ())


def test_a_name_may_be_long_but_not_too_long_for_the_files_made_of_it(mine, tmp_path):
    longest = "a" * 128
    check_name(longest, ())
    take_in(mine, tmp_path, longest)
    assert [one.name for one in imported_cards(tmp_path, CATALOGUE.cards())] == [longest]
    with pytest.raises(UsageError) as refused:
        check_name("a" * 300, ())
    assert str(refused.value) == (
        f"{'a' * 200}... (300 characters) cannot be the name of a model. "
        "Give it one with --name, of letters, digits, dots and dashes, no more than 128."
    )


def test_a_name_that_another_model_has_is_refused():
    with pytest.raises(UsageError, match=r"^there is a model toy already\. Give it another name with --name\.$"):
        check_name("toy", {"toy"})
    with pytest.raises(UsageError, match="there is a model TOY already"):
        check_name("TOY", {"toy"})
    check_name("toy", {"boy"})


def test_a_model_cannot_be_called_what_stands_for_the_best_one():
    with pytest.raises(
        UsageError, match=r"^auto stands for the best model at hand\. Give it another name with --name\.$"
    ):
        check_name("auto", ())


def test_a_model_without_a_graph_is_like_no_graph(mine, tmp_path):
    folder = tmp_path / "models"
    with pytest.raises(UsageError, match=r"^code has no graph, so none can be like it\."):
        take_in(mine, folder, like=CODE)
    assert not folder.exists()


def test_one_that_is_like_an_imported_one_is_like_what_that_is_like(mine, tmp_path):
    first = take_in(mine, tmp_path, "first")
    take_in(mine, tmp_path, "second", like=first)
    (tmp_path / "imported" / "first.onnx").unlink()
    table = json.loads((tmp_path / LIST).read_text())
    assert [table[name]["like"] for name in ("first", "second")] == ["toy", "toy"]
    assert [one.name for one in imported_cards(tmp_path, CATALOGUE.cards())] == ["first", "second"]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "is no ONNX file: it is empty"),
        (b"\n\n<!DOCTYPE html><title>Sign in</title>", "is no ONNX file: it is a web page, not the file itself."),
        (b"\xef\xbb\xbf<?xml version='1.0'?>", "is no ONNX file: it is a web page"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n",
            "is no ONNX file: it is a Git LFS pointer, which git lfs pull turns into the file.",
        ),
        (b"PK\x03\x04 and so on", "is no ONNX file: it is a zip archive."),
        (b"\x93NUMPY something else altogether", "is no ONNX file, or only a part of one"),
        (GRAPH[:5000], "is no ONNX file, or only a part of one"),
        (onnx.ModelProto(ir_version=8).SerializeToString(), "holds no graph"),
    ],
)
def test_a_file_that_is_no_graph_is_named_for_what_it_is(tmp_path, data, fault):
    path = tmp_path / "odd.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError) as refused:
        check_file(path)
    assert str(refused.value).startswith(f"{path} {fault}")
    assert str(refused.value).endswith(". Name the ONNX file of the model.")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"odd\.onnx cannot be read: No such file or directory"):
        check_file(tmp_path / "odd.onnx")
    with pytest.raises(ModelError, match="cannot be read: Is a directory"):
        check_file(tmp_path)


def test_a_link_to_a_graph_is_a_graph_and_its_copy_no_link(mine, tmp_path):
    link = tmp_path / "link.onnx"
    link.symlink_to(mine)
    check_file(link)
    take_in(link, tmp_path / "models")
    copy = tmp_path / "models" / "imported" / "mine.onnx"
    assert not copy.is_symlink()
    assert copy.read_bytes() == GRAPH


def test_a_graph_whose_weights_lie_elsewhere_is_refused(mine, tmp_path):
    path = tmp_path / "outside.onnx"
    onnx.save(onnx.load(str(mine)), str(path), save_as_external_data=True, size_threshold=0)
    with pytest.raises(ModelError, match=r"outside\.onnx keeps its weights in other files"):
        check_file(path)


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
