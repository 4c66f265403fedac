from __future__ import annotations

import zlib

import pytest

from facefusion.catalogue.card import Publication
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.mirrors import MIRRORS, addresses
from facefusion.catalogue.store import ModelStore
from facefusion.core.errors import ModelError
from facefusion.processors.deep_swapper.processor import FAMILIES
from tests.processors.fakes import RecordingSink

TOML = """
[preferences]

[terms]
"unknown" = "has to be asked for"

[[collection]]
name = "them"
kind = "deep_swapper"
family = "dfm"
suffix = ".dfm"
base = "deepfacelive-models-them"
hosts = ["huggingface"]
licence = "unknown"
vendor = "them"
year = 2024

[[collection]]
name = "custom"
kind = "deep_swapper"
family = "dfm"
suffix = ".dfm"
licence = "own"
vendor = "you"
year = 2026
"""


@pytest.fixture
def catalogue():
    return Catalogue.parse(TOML)


def test_a_published_collection_gives_a_card_for_any_name(catalogue):
    card = catalogue.card("them/somebody_224", "deep_swapper")
    assert (card.name, card.family, card.file) == ("them/somebody_224", "dfm", "them/somebody_224.dfm")
    assert card.terms == "has to be asked for"
    assert card.origin == "FaceFusion, deepfacelive-models-them"
    assert card.graph is not None
    assert card.graph.publication == Publication("deepfacelive-models-them", ("huggingface",))
    assert not card.graph.own
    assert [one.file for one in addresses(card.graph, MIRRORS)] == [
        "https://huggingface.co/facefusion/deepfacelive-models-them/resolve/main/somebody_224.dfm",
        "https://hf-mirror.com/facefusion/deepfacelive-models-them/resolve/main/somebody_224.dfm",
    ]


def test_a_published_model_counts_only_beside_its_checksum(catalogue, tmp_path):
    card = catalogue.card("them/somebody_224")
    (tmp_path / "them").mkdir()
    path = tmp_path / "them" / "somebody_224.dfm"
    path.write_bytes(b"a network")
    sink = RecordingSink()
    assert ModelStore(catalogue, [tmp_path], sink).find(card) is None
    assert "somebody_224.hash lies beside it" in str(sink.events[0])
    path.with_suffix(".hash").write_text(f"{zlib.crc32(b'a network'):08x}")
    assert ModelStore(catalogue, [tmp_path], sink).find(card) == path


def test_the_user_s_own_model_is_taken_as_it_is(catalogue, tmp_path):
    card = catalogue.card("custom/my face", "deep_swapper")
    (tmp_path / "b" / "custom").mkdir(parents=True)
    path = tmp_path / "b" / "custom" / "my face.dfm"
    path.write_bytes(b"anything")
    store = ModelStore(catalogue, [tmp_path / "a", tmp_path / "b"], RecordingSink())
    assert store.ensure(card) == path


def test_a_model_that_only_the_user_can_bring_is_not_looked_for_elsewhere(catalogue, tmp_path):
    store = ModelStore(catalogue, [tmp_path / "a", tmp_path / "b"], RecordingSink())
    with pytest.raises(ModelError) as refused:
        store.ensure_all([catalogue.card("custom/nobody")])
    assert str(refused.value) == (
        f"There is no custom/nobody.dfm. Put the file there as {tmp_path}/a/custom/nobody.dfm or "
        f"{tmp_path}/b/custom/nobody.dfm, or choose another model."
    )


def test_an_unknown_collection_is_named(catalogue):
    with pytest.raises(ModelError) as refused:
        catalogue.card("nowhere/somebody", "deep_swapper")
    assert str(refused.value) == "There is no collection of models named 'nowhere'. Known are them, custom."


def test_a_model_of_a_collection_is_of_its_kind_alone(catalogue):
    with pytest.raises(ModelError, match="The model 'them/somebody' is a deep_swapper, no face_swapper"):
        catalogue.card("them/somebody", "face_swapper")


def test_hosts_without_an_address_are_a_mistake():
    with pytest.raises(ModelError, match="collection 'them' needs both base and hosts, or none"):
        Catalogue.parse(TOML.replace('base = "deepfacelive-models-them"\n', ""))


def test_every_collection_of_this_program_has_code_that_runs_it():
    collections = Catalogue.load().collections
    assert [one.name for one in collections] == ["druuzil", "edel", "iperov", "jen", "mats", "rumateus", "custom"]
    assert {one.kind for one in collections} == {"deep_swapper"}
    assert {one.family for one in collections} <= FAMILIES.keys()


@pytest.mark.parametrize("name", ["custom/../../somebody", "them/", "custom/a\\b"])
def test_no_name_leads_out_of_its_folder(catalogue, name):
    with pytest.raises(ModelError, match="is no name of a model"):
        catalogue.card(name)
