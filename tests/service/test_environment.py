import pytest

from facefusion.core.errors import SetupError
from facefusion.service.environment import Secrets

TOKEN = "t" * 16


def test_secrets_come_from_variables():
    secrets = Secrets.of({"API_TOKEN": f" {TOKEN}\n", "API_JWT_SECRET": "k" * 32, "REDIS_URL": "redis://:pass@host/0"})
    assert secrets == Secrets(TOKEN, "k" * 32, "redis://:pass@host/0")


def test_what_is_empty_is_not_set():
    assert Secrets.of({"API_TOKEN": " ", "API_JWT_SECRET": "", "OTHER": "x"}) == Secrets()


def test_a_file_holds_what_the_variable_would(tmp_path):
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert Secrets.of({"API_TOKEN_FILE": str(tmp_path / "token"), "API_TOKEN": "x" * 20}).token == TOKEN


def test_a_file_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "nothing"
    with pytest.raises(SetupError) as failed:
        Secrets.of({"REDIS_URL_FILE": str(path)})
    assert str(failed.value) == (
        f"REDIS_URL_FILE: {path} cannot be read (No such file or directory). "
        "Name a file that holds what REDIS_URL would, or set REDIS_URL."
    )


@pytest.mark.parametrize(("name", "least"), [("API_TOKEN", 16), ("API_JWT_SECRET", 32), ("API_CALLBACK_SECRET", 32)])
def test_what_can_be_guessed_is_refused_and_not_repeated(name, least):
    with pytest.raises(SetupError) as failed:
        Secrets.of({name: "qx" * (least // 2 - 1)})
    assert str(failed.value).startswith(f"{name} is shorter than {least} characters")
    assert "qx" not in str(failed.value)


def test_the_text_of_secrets_tells_none():
    assert repr(Secrets(TOKEN, "k" * 32, "redis://:pass@host/0")) == "Secrets()"
