from __future__ import annotations

import configparser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.config.ini import IniEntry, parse_ini, read_ini
from facefusion.core.errors import OptionError, UsageError

NAMES = st.text("abcdefghij_", min_size=1, max_size=8)
VALUES = st.text("abc 019./-:=#;%\"'", max_size=20).map(str.strip)


def values(text):
    return {(entry.section, entry.key): entry.value for entry in parse_ini(text, "f.ini")}


def test_keys_are_read_with_their_line():
    entries = parse_ini("[paths]\n# note\ntarget_path = a.mp4\n\n[misc]\nLog_Level: debug\n", "f.ini")
    assert entries == (
        IniEntry("paths", "target_path", "a.mp4", "f.ini:3"),
        IniEntry("misc", "log_level", "debug", "f.ini:6"),
    )


def test_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    path = tmp_path / "f.ini"
    path.write_bytes(b"\xef\xbb\xbf[paths]\r\ntarget_path = \xc3\xa4.mp4\r\nsource_paths =\r\n")
    assert [(entry.key, entry.value, entry.place) for entry in read_ini(path)] == [
        ("target_path", "ä.mp4", f"{path}:2"),
        ("source_paths", "", f"{path}:3"),
    ]


@pytest.mark.parametrize(("written", "read"), [("50%", "50%"), ("50%%", "50%"), ("%%d", "%d"), ("100%%%%", "100%%")])
def test_percent_sign(written, read):
    assert values(f"[a]\nb = {written}\n") == {("a", "b"): read}


def test_deeper_lines_continue_a_value_and_comments_between_them_do_not_count():
    assert values("[a]\nb = one\n  two\n# note\n\n  three\nc = 4\n") == {("a", "b"): "one\ntwo\nthree", ("a", "c"): "4"}


def test_inline_comments_are_part_of_the_value():
    assert values("[a]\nb = 0.5 ; x\n") == {("a", "b"): "0.5 ; x"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\nb = 1\nB = 2\n", "f.ini:3: key b is there twice in [a], first at f.ini:2. Keep one."),
        ("[a]\nb = 1\n[c]\n[a]\n", "f.ini:4: section [a] is there twice, first at f.ini:1. Join the two."),
        ("b = 1\n", "f.ini:1: key b stands before the first section. Put it below its [section]."),
        ("[a]\nnonsense\n", "f.ini:2: 'nonsense' is neither a section nor a key. Write it as: key = value."),
        ("[a]\n= 3\n", "f.ini:2: '= 3' is neither a section nor a key. Write it as: key = value."),
        (
            "[" * 9998,
            f"f.ini:1: '{'[' * 199}... (10000 characters) is neither a section nor a key. Write it as: key = value.",
        ),
    ],
)
def test_what_cannot_be_understood_is_named_with_its_line(text, message):
    with pytest.raises(OptionError) as caught:
        parse_ini(text, "f.ini")
    assert str(caught.value) == message


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "f.ini"
    path.write_bytes("[a]\nb = \xe4\n".encode("latin-1"))
    with pytest.raises(UsageError) as caught:
        read_ini(path)
    assert str(caught.value) == f"the ini file {path} is not in UTF-8. Save it in UTF-8."


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=4), max_size=4))
def test_a_flat_file_reads_as_python_reads_it(content):
    text = "".join(
        f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
        for section, keys in content.items()
    )
    reference = configparser.ConfigParser(interpolation=None)
    reference.read_string(text)
    expected = {
        (section, key): value.replace("%%", "%")
        for section in reference.sections()
        for key, value in reference[section].items()
    }
    assert values(text) == expected
