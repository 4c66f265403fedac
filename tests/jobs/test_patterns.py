from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.formats import MediaKind
from facefusion.jobs.patterns import find_files

FILES = (
    "a.jpg",
    "b.PNG",
    "c.mp4",
    "notes.txt",
    ".hidden.jpg",
    "take [1].mp4",
    "take 1.mp4",
    "deep/d.jpg",
    "deep/er/e.mp4",
    "trip [2024]/f.jpg",
    "trip 2/g.jpg",
)
IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(pattern, *kinds):
    return [str(path) for path in find_files(pattern, kinds or (IMAGE, VIDEO)).files]


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*", ["a.jpg", "b.PNG", "c.mp4", "take 1.mp4", "take [1].mp4"]),
        ("*.jpg", ["a.jpg"]),
        ("?.*", ["a.jpg", "b.PNG", "c.mp4"]),
        ("[ac].*", ["a.jpg", "c.mp4"]),
        (".*", [".hidden.jpg"]),
        ("deep/*", ["deep/d.jpg"]),
        ("d*/*", ["deep/d.jpg"]),
        ("**/*.jpg", ["a.jpg", "deep/d.jpg", "trip 2/g.jpg", "trip [2024]/f.jpg"]),
        ("deep/**", ["deep/d.jpg", "deep/er/e.mp4"]),
        ("**/**/e.mp4", ["deep/er/e.mp4"]),
        ("none*", []),
        ("none", []),
        ("none/a.jpg", []),
        ("a.jpg/*", []),
        ("*" + "x" * 5000, []),
    ],
)
def test_wildcards(folder, pattern, files):
    assert names(pattern) == files
    assert names(f"{folder}/{pattern}") == [f"{folder}/{name}" for name in files]


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("a.jpg", ["a.jpg"]),
        (".hidden.jpg", [".hidden.jpg"]),
        ("take [1].mp4", ["take [1].mp4"]),
        ("./take [[]1].mp4", ["take [1].mp4"]),
        ("trip [2024]", ["trip [2024]/f.jpg"]),
        ("trip [2024]/", ["trip [2024]/f.jpg"]),
        ("trip [2024]/*.jpg", ["trip [2024]/f.jpg"]),
        ("trip [2345]/*.jpg", ["trip 2/g.jpg"]),
        (".", ["a.jpg", "b.PNG", "c.mp4", "take 1.mp4", "take [1].mp4"]),
        ("deep", ["deep/d.jpg"]),
        ("deep/er", ["deep/er/e.mp4"]),
    ],
)
def test_what_is_there_under_the_name_of_the_pattern_is_meant(folder, pattern, files):
    assert names(pattern) == files


@pytest.mark.parametrize("pattern", ["x" * 300, "deep/" + "x" * 300, "x/" * 3000])
def test_a_name_that_the_system_does_not_look_for_is_no_pattern_without_files(folder, pattern):
    with pytest.raises(OSError, match="File name too long"):
        find_files(pattern, (IMAGE,))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions that hold")
@pytest.mark.parametrize(
    ("mode", "pattern"),
    [(0o000, "deep/d.jpg"), (0o000, "deep/*.jpg"), (0o000, "deep"), (0o100, "deep/*.jpg"), (0o100, "deep")],
)
def test_a_folder_that_may_not_be_read_is_no_empty_one(folder, mode, pattern):
    Path("deep").chmod(mode)
    try:
        with pytest.raises(PermissionError):
            find_files(pattern, (IMAGE,))
    finally:
        Path("deep").chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions that hold")
def test_a_file_that_may_not_be_looked_at_is_for_its_step_to_say(folder):
    Path("deep").chmod(0o400)
    try:
        assert "deep/d.jpg" in names("**/*.jpg")
    finally:
        Path("deep").chmod(0o700)


def test_what_is_of_another_kind_is_told_apart(folder):
    found = find_files("*", (IMAGE,))
    assert [str(path) for path in found.files] == ["a.jpg", "b.PNG"]
    assert [str(path) for path in found.others] == ["c.mp4", "notes.txt", "take 1.mp4", "take [1].mp4"]
    assert find_files("notes.txt", (IMAGE,)).others == (Path("notes.txt"),)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes and symbolic links")
def test_only_files_are_taken(folder):
    os.mkfifo("pipe.jpg")
    Path("gone.jpg").symlink_to("nowhere.jpg")
    Path("link.jpg").symlink_to("a.jpg")
    Path("folder.jpg").mkdir()
    found = find_files("*.jpg", (IMAGE,))
    assert [str(path) for path in found.files] == ["a.jpg", "link.jpg"]
    assert [str(path) for path in found.others] == ["gone.jpg", "pipe.jpg"]


@given(name=st.text(st.sampled_from("ab*?[]-! "), min_size=1, max_size=8))
def test_a_file_is_always_found_under_its_own_name(tmp_path_factory, name):
    path = tmp_path_factory.mktemp("files") / f"{name} [x]" / f"{name}.png"
    path.parent.mkdir()
    path.write_bytes(b"x")
    assert find_files(str(path), (IMAGE,)).files == (path,)
    assert find_files(str(path.parent / "*.png"), (IMAGE,)).files == (path,)
    assert find_files(str(path.parent), (IMAGE,)).files == (path,)
