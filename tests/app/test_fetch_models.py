"""Fetching many models: one that cannot be had does not keep the others from coming."""

from __future__ import annotations

import dataclasses

import pytest

from facefusion.app.models import fetch_models, models_meant
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.fetch import Fetcher
from facefusion.catalogue.store import ModelStore
from facefusion.core.errors import ModelError
from tests.catalogue.toys import GRAPH, Ears, Pip, Server, card, graph_file, published_file

PACKED = card("packed", graph_file("packed.onnx"))
FIRST = card("first", published_file("first.onnx"), embedded=False)
SECOND = card("second", published_file("second.onnx"), embedded=False)
PAIR = dataclasses.replace(card("pair", None, embedded=False), companions=("first", "second"))
CATALOGUE = Catalogue([PACKED, FIRST, SECOND, PAIR], {})


def fetch(folder, cards, server):
    ears = Ears()
    fetcher = Fetcher(folder, ears, mirrors=[server.mirror], pip=Pip())
    fetch_models(ModelStore(CATALOGUE, [folder], ears, fetcher), cards, ears)


def found(folder):
    return {path.name for path in folder.glob("*.onnx")}


def test_models_come_with_those_that_they_run_besides(tmp_path):
    with Server(GRAPH) as server:
        fetch(tmp_path, [PAIR, FIRST], server)
    assert found(tmp_path) == {"first.onnx", "second.onnx"}
    assert len(server.asked) == 2


def test_the_others_come_where_one_cannot_be_had_and_its_error_is_the_commands(tmp_path):
    with Server(GRAPH, status=[404]) as server, pytest.raises(ModelError, match=r"^first\.onnx cannot be fetched: "):
        fetch(tmp_path, [PACKED, PAIR], server)
    assert found(tmp_path) == {"packed.onnx", "second.onnx"}


def test_where_several_cannot_be_had_all_are_named(tmp_path):
    with (
        Server(GRAPH, status=[404, 404]) as server,
        pytest.raises(ModelError, match=r"^2 models cannot be fetched: first, second\. See above why\.$"),
    ):
        fetch(tmp_path, [PAIR, PACKED], server)
    assert (tmp_path / "packed.onnx").is_file()


@pytest.mark.parametrize("download_scope", ["lite", "full", "embedded"])
def test_a_scope_means_all_models_or_those_that_pip_brings(download_scope):
    expected = [PACKED] if download_scope == "embedded" else [PACKED, FIRST, SECOND, PAIR]
    assert list(models_meant(CATALOGUE, (), download_scope)) == expected


def test_names_are_meant_whatever_the_scope():
    assert models_meant(CATALOGUE, ("second", "packed"), "embedded") == (SECOND, PACKED)
    with pytest.raises(ModelError, match="There is no model named 'third'"):
        models_meant(CATALOGUE, ("third",), "lite")
