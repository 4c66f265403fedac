"""The commands that serve, without a server."""

from __future__ import annotations

import sys

import pytest

from facefusion.cli.main import main
from facefusion.config.state import Snapshot
from facefusion.service.settings import ServiceSettings
from tests.cli.fakes import FakeApplication

MISSING = (
    "error: serving, which run without --target-path and --output-path does too, needs the packages of the service, "
    "and uvicorn is not installed. Run `python -m pip install -r requirements-service.txt`.\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", [("serve",), ("run",), ("run", "-s", "face.jpg")])
def test_without_the_packages_it_is_said_what_to_install(words, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith(("facefusion.service.server", "uvicorn"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(words, FakeApplication()) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", MISSING)


class Server:
    """Stands in for the module with the server."""

    def __init__(self):
        self.served: list[Snapshot] = []

    def serve(self, snapshot, environment, executor, say, stop):
        assert executor is not None
        say("Serving.")
        self.served.append(snapshot)


@pytest.fixture
def server(monkeypatch):
    module = Server()
    monkeypatch.setitem(sys.modules, "facefusion.service.server", module)
    return module


@pytest.mark.parametrize("command", ["serve", "run"])
def test_both_commands_take_the_options_of_the_service_and_end_with_0(command, server, capsys):
    assert main((command, "--listen-port", "0", "--retention-hours", "2"), FakeApplication()) == 0
    assert capsys.readouterr().err == "Serving.\n"
    settings = server.served[0].get(ServiceSettings)
    assert (settings.listen_port, settings.listen_host, settings.retention_hours) == (0, "127.0.0.1", 2.0)


def test_an_ini_file_and_the_environment_set_them_too(server, tmp_path, monkeypatch, capsys):
    (tmp_path / "facefusion.ini").write_text("[service]\nlisten_host = auto\nupload_limit = 1.5\n", encoding="utf-8")
    monkeypatch.setenv("FACEFUSION_LISTEN_PORT", "7000")
    assert main(("serve",), FakeApplication()) == 0
    capsys.readouterr()
    settings = server.served[0].get(ServiceSettings)
    assert (settings.listen_host, settings.listen_port, settings.upload_limit) == ("auto", 7000, 1.5)


def test_a_password_does_not_stand_where_everybody_reads_it(server, capsys):
    assert main(("serve", "--redis-url", "redis://:hunter2@host/0"), FakeApplication()) == 2
    assert "redis://HOST:PORT/NUMBER, without a password" in capsys.readouterr().err
    assert server.served == []


def test_config_shows_no_secret(monkeypatch, capsys):
    monkeypatch.setenv("API_TOKEN", "hunter2" * 4)
    monkeypatch.setenv("API_JWT_SECRET", "hunter3" * 6)
    monkeypatch.setenv("REDIS_URL", "redis://:hunter4@host/0")
    assert main(("config",), FakeApplication()) == 0
    captured = capsys.readouterr()
    assert "[service]" in captured.out
    assert "hunter" not in captured.out + captured.err
