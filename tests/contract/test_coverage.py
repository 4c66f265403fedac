from __future__ import annotations

import pytest

from tests.contract.coverage import COMMANDS, OPTIONS, does_nothing_yet, proofs, texts

FILES = texts()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_named_in_a_test(command):
    assert proofs(command, FILES)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_that_does_something_is_named_in_a_test_of_the_code_behind_it(option):
    assert does_nothing_yet(option) or proofs(option, FILES)
