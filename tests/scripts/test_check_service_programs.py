from __future__ import annotations

from scripts import check_service_programs


def test_what_is_missing_is_named_with_its_package(monkeypatch, capsys):
    """nginx lies where only some users' path leads."""
    there = {("promtool", None), ("nginx", "/usr/sbin")}
    monkeypatch.setattr("shutil.which", lambda name, path=None: name if (name, path) in there else None)
    assert check_service_programs.main() == 1
    assert capsys.readouterr().err == (
        "The tests of the service need redis-server, amtool, exiftool: apt-get install --no-install-recommends "
        "redis-server prometheus-alertmanager libimage-exiftool-perl\n"
    )


def test_nothing_is_said_where_all_are_there(monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert check_service_programs.main() == 0
    assert capsys.readouterr().err == ""
