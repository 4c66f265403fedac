"""Licences that do not allow every use are said once for each model."""

from __future__ import annotations

import dataclasses

from facefusion.catalogue.terms import TOLD, tell_terms
from tests.catalogue.toys import Ears, card

FREE = card("free", None)
BOUND = dataclasses.replace(card("bound", None), licence="Non-Commercial", terms="may not be used commercially")
OTHER = dataclasses.replace(BOUND, name="other")
SAID = "The model {} (by nobody, licence: Non-Commercial) may not be used commercially. This is said once."


def test_terms_are_told_once_for_each_model(tmp_path):
    folder, ears = tmp_path / "models", Ears()
    tell_terms([FREE, BOUND], folder, ears)
    tell_terms([FREE, BOUND], folder, ears)
    tell_terms([OTHER, BOUND], folder, ears)
    assert ears.notices == [SAID.format("bound"), SAID.format("other")]
    assert (folder / TOLD).read_text() == "bound\nother\n"


def test_a_model_that_is_chosen_and_a_companion_too_is_told_of_once(tmp_path):
    ears = Ears()
    tell_terms([BOUND, FREE, BOUND], tmp_path, ears)
    assert ears.notices == [SAID.format("bound")]
    assert (tmp_path / TOLD).read_text() == "bound\n"


def test_nothing_is_written_where_nothing_is_to_be_told(tmp_path):
    tell_terms([FREE], tmp_path, Ears())
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_terms_are_told_each_time_and_no_promise_is_made(tmp_path):
    (tmp_path / "models").write_text("a file")
    ears = Ears()
    tell_terms([BOUND], tmp_path / "models", ears)
    tell_terms([BOUND], tmp_path / "models", ears)
    why = f"This is said each time, as {tmp_path / 'models' / TOLD} cannot be written."
    assert ears.notices == [SAID.format("bound").replace("This is said once.", why)] * 2
