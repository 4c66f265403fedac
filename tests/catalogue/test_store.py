"""Finding, fetching and choosing models."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.fetch import Fetcher
from facefusion.catalogue.store import Choice, ModelStore
from facefusion.core.errors import ModelError
from tests.catalogue.toys import GRAPH, Ears, Pip, Server, card, crc32, graph_file, published_file

CODE = card("code", None)
PLAIN = card("plain", graph_file("plain.onnx"))
TWIN = card("twin", graph_file("plain.onnx"), kind="frame_enhancer")
BETTER = card("better", graph_file("better.onnx", wheel=None), embedded=False)
CATALOGUE = Catalogue([CODE, PLAIN, TWIN, BETTER], {"face_swapper": ("better", "code"), "frame_enhancer": ("twin",)})


@pytest.fixture
def ears() -> Ears:
    return Ears()


@pytest.fixture
def pip() -> Pip:
    return Pip()


@pytest.fixture
def store(tmp_path: Path, ears: Ears, pip: Pip) -> ModelStore:
    folders = [tmp_path / "models", tmp_path / "other", tmp_path / "not there"]
    return ModelStore(CATALOGUE, folders, ears, Fetcher(folders[0], ears, pip=pip))


def bring(folder: Path, name: str, content: bytes = GRAPH) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


def test_a_missing_file_is_fetched_once_for_all_models_that_use_it(store, pip, tmp_path):
    assert store.find(PLAIN) is None

    store.ensure_all([CODE, PLAIN, TWIN])

    assert store.ensure(PLAIN) == store.ensure(TWIN) == tmp_path / "models" / "plain.onnx"
    assert len(pip.calls) == 1


def test_a_verified_file_is_found_in_any_folder(store, pip, tmp_path):
    path = bring(tmp_path / "other", "better.onnx")

    assert store.find(BETTER) == path
    assert store.ensure(BETTER) == path
    assert pip.calls == []


def test_a_file_that_cannot_be_trusted_is_named_once_and_replaced_by_a_fetched_one(store, ears, tmp_path):
    path = bring(tmp_path / "models", "plain.onnx", b"damaged")

    assert store.find(PLAIN) is None
    assert store.find(PLAIN) is None
    assert ears.notices == [f"{path} is not used: its SHA-256 is not the catalogue's."]

    assert store.ensure(PLAIN).read_bytes() == GRAPH


def test_a_model_of_code_has_no_file(store):
    assert store.find(CODE) is None
    assert store.is_at_hand(CODE)
    with pytest.raises(ValueError, match="code is code only"):
        store.ensure(CODE)


def test_a_model_without_any_source_says_where_to_put_it(store, tmp_path):
    with pytest.raises(ModelError) as caught:
        store.ensure(BETTER)

    assert str(caught.value).startswith("better.onnx cannot be fetched: no address is known for it. Check")
    assert str(caught.value).endswith(f"into {tmp_path / 'models'}.")


def test_auto_takes_the_best_at_hand_and_says_how_to_get_the_better_one(store, tmp_path):
    choice = store.resolve("face_swapper", "auto")

    assert choice.card is CODE
    assert store.account([choice]) == (
        "Models taken: code. Preferred, but not on this machine: better; force-download better fetches it, or put "
        f"better.onnx into {tmp_path / 'models'}."
    )
    assert store.account([choice, Choice(PLAIN), choice]) == (
        "Models taken: code, code. Preferred, but not on this machine: better, better; force-download NAME fetches "
        f"one, or put their files into {tmp_path / 'models'}."
    )

    bring(tmp_path / "other", "better.onnx")
    choice = store.resolve("face_swapper", "auto")

    assert choice.card is BETTER
    assert store.account([choice]) == "Models taken: better."


def test_of_a_model_that_only_runs_others_theirs_are_the_files_to_bring(store, tmp_path):
    votes = dataclasses.replace(CODE, name="votes", companions=("plain", "better"))
    store.catalogue = Catalogue([*CATALOGUE.cards(), votes], {"face_swapper": ("votes", "code")})

    assert store.account([store.resolve("face_swapper", "auto")]) == (
        "Models taken: code. Preferred, but not on this machine: votes; force-download votes fetches it, or put the "
        f"files of plain, better into {tmp_path / 'models'}."
    )


def test_auto_takes_what_pip_can_bring_where_nothing_is_at_hand(store, pip):
    assert store.resolve("frame_enhancer", "auto").card is TWIN
    assert pip.calls == []


def test_auto_takes_the_best_of_all_where_pip_brings_none_of_its_kind(tmp_path, ears):
    catalogue = Catalogue([BETTER], {"face_swapper": ("better",)})
    assert ModelStore(catalogue, [tmp_path], ears).resolve("face_swapper", "auto") == Choice(BETTER, is_named=False)


def test_a_model_is_at_hand_with_all_that_it_runs_besides(tmp_path, ears):
    pair = dataclasses.replace(CODE, name="pair", companions=("plain", "better"))
    store = ModelStore(Catalogue([pair, PLAIN, BETTER], {"face_swapper": ("pair",)}), [tmp_path], ears)
    bring(tmp_path, "plain.onnx")
    assert not store.is_at_hand(pair)
    bring(tmp_path, "better.onnx")
    assert store.is_at_hand(pair)


def test_auto_takes_what_runs_beside_an_embedded_model_before_that_was_fetched(tmp_path, ears):
    pair = dataclasses.replace(BETTER, name="pair", companions=("plain",))
    catalogue = Catalogue([pair, PLAIN, CODE], {"face_swapper": ("pair", "code")})
    store = ModelStore(catalogue, [tmp_path], ears)
    assert store.resolve("face_swapper", "auto").card == CODE
    bring(tmp_path, "better.onnx")
    assert store.resolve("face_swapper", "auto").card == pair


def test_of_a_published_model_both_files_are_to_be_brought(tmp_path, ears):
    best = card("best", published_file("best.onnx"), embedded=False)
    store = ModelStore(Catalogue([best, CODE], {"face_swapper": ("best", "code")}), [tmp_path], ears)
    said = store.account([store.resolve("face_swapper", "auto")])
    assert said.endswith(f"or put best.onnx and best.hash into {tmp_path}.")


def test_a_name_is_obeyed_without_a_word(store):
    choice = store.resolve("face_swapper", "better")

    assert choice == Choice(BETTER)
    assert store.account([choice]) == ""


def test_a_name_of_another_kind_is_an_error(store):
    with pytest.raises(ModelError) as caught:
        store.resolve("face_swapper", "twin")

    assert str(caught.value) == (
        "The model 'twin' is a frame_enhancer, no face_swapper. Choose from code, plain, better."
    )


def test_a_folder_of_models_that_the_system_does_not_look_into_is_not_passed_over(tmp_path, ears):
    store = ModelStore(CATALOGUE, [tmp_path / ("x" * 300), tmp_path], ears)
    bring(tmp_path, "plain.onnx")
    with pytest.raises(ModelError) as refused:
        store.find(PLAIN)
    assert "File name too long. Change the permissions of its folder, or name another one with --models-path." in str(
        refused.value
    )


def test_a_link_that_leads_nowhere_is_named_and_a_fetched_file_takes_its_place(tmp_path, ears):
    link = tmp_path / "toy.onnx"
    link.symlink_to(tmp_path / "unmounted" / "toy.onnx")
    toy = card("toy", published_file(), embedded=False)
    with Server(GRAPH) as server:
        store = ModelStore(Catalogue([toy], {}), [tmp_path], ears, Fetcher(tmp_path, ears, mirrors=[server.mirror]))
        assert store.find(toy) is None
        assert ears.notices == [f"{link} is not used: it is a link to a file that is not there."]
        assert store.ensure(toy) == link
    assert not link.is_symlink()
    assert link.read_bytes() == GRAPH


def test_a_folder_that_cannot_be_written_serves_what_lies_in_it(tmp_path, ears):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "toy.onnx").write_bytes(GRAPH)
    (folder / "toy.hash").write_text(crc32(GRAPH))
    toy = card("toy", published_file(), embedded=False)
    mode = folder.stat().st_mode
    folder.chmod(0o555)
    try:
        store = ModelStore(Catalogue([toy], {}), [folder], ears)
        store.ensure_all([toy])
        assert store.find(toy) == folder / "toy.onnx"
    finally:
        folder.chmod(mode)
    assert ears.notices == []
    assert {path.name for path in folder.iterdir()} == {"toy.onnx", "toy.hash"}
