from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import FaceFusionError, OptionError
from facefusion.jobs.output_template import OutputTemplate

SOURCE, TARGET = Path("faces/Ann [1].JPG"), Path("clips/Trip.2.MP4")
ALL = "Placeholders are {index}, {source_name}, {target_name} and {target_extension}."


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("out/{index}.mp4", "out/7.mp4"),
        ("out/{index:04d}{target_extension}", "out/0007.mp4"),
        ("{source_name}-{target_name}{target_extension}", "Ann [1]-Trip.2.mp4"),
        ("{target_name}/{source_name}/x.mp4", "Trip.2/Ann [1]/x.mp4"),
        ("{target_name:_>8}{index:+d}", "__Trip.2+7"),
        ("{target_name:.4}", "Trip"),
        ("{target_name!r}{index!s:>3}", "'Trip.2'  7"),
        ("{index:0{index}}", "0000007"),
        ("{{index}}{{}}", "{index}{}"),
        ("always.mp4", "always.mp4"),
    ],
)
def test_placeholders_are_filled_in(text, path):
    assert OutputTemplate(text).path(7, SOURCE, TARGET) == Path(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("out/{name}.png", f"there is no placeholder {{name}}. {ALL}"),
        ("{target_extention}", f"there is no placeholder {{target_extention}}. {ALL}"),
        ("{ index }", f"there is no placeholder {{ index }}. {ALL}"),
        ("{index.real}", f"there is no placeholder {{index.real}}. {ALL}"),
        ("{target_name[0]}", f"there is no placeholder {{target_name[0]}}. {ALL}"),
        ("{index:{width}}", f"there is no placeholder {{width}}. {ALL}"),
        ("{0}", f"there is no placeholder {{0}}. {ALL}"),
        ("{}", f"empty braces name nothing. {ALL}"),
        ("{:04d}", f"empty braces name nothing. {ALL}"),
        ("{index:{}}", f"empty braces name nothing. {ALL}"),
        *(
            (text, f"its braces do not match. Write {{{{ and }}}} for braces of the name itself. {ALL}")
            for text in ("{", "}", "{index", "index}", "{index}}", "{{index}", "{index!}", "{index:{", "}{")
        ),
        ("{index:q}", "the format of {index:q} does not fit. {index} is a number, such as {index:04d}."),
        ("{index!x}", "the format of {index!x} does not fit. {index} is a number, such as {index:04d}."),
        ("{index:c}", "the format of {index:c} does not fit. {index} is a number, such as {index:04d}."),
        ("{target_name:04d}", "the format of {target_name:04d} does not fit. {target_name} is text."),
        (
            "{index:{target_name}}",
            "the format of {index:{target_name}} does not fit. {index} is a number, such as {index:04d}.",
        ),
        *(
            (text, f"{text} would be too long for a name. It may have 255 characters at most.")
            for text in ("{index:999999d}", "{index:0256}", "{target_name:>99999999999}", "{target_name:.999}")
        ),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(OptionError) as caught:
        OutputTemplate(text)
    assert str(caught.value) == f"--output-pattern {text}: {message}"


@pytest.mark.parametrize(
    "text", ["x" * 10**5 + "{", "{" + "x" * 10**5 + "}", "{index:" + "9" * 10**5 + "}", "{index:" * 3000 + "}" * 3000]
)
def test_what_is_wrong_is_named_in_few_words(text):
    with pytest.raises(OptionError) as caught:
        OutputTemplate(text)
    assert len(str(caught.value)) < 800


def test_names_as_long_as_names_may_be_are_made():
    assert OutputTemplate("{index:0255d}").path(7, SOURCE, TARGET) == Path("7".zfill(255))


def test_without_sources_there_is_no_source_name():
    assert OutputTemplate("{target_name}.mp4", has_sources=False).path(0, None, TARGET) == Path("Trip.2.mp4")
    with pytest.raises(OptionError) as caught:
        OutputTemplate("{source_name}.mp4", has_sources=False)
    assert str(caught.value) == (
        "--output-pattern {source_name}.mp4: {source_name} has no value without sources. "
        "Give --source-pattern, or leave it out."
    )
    with pytest.raises(OptionError, match=r"Placeholders are \{index\}, \{target_name\} and \{target_extension\}\.$"):
        OutputTemplate("{x}", has_sources=False)


PIECES = (
    *("{", "}", "{{", "}}", ":", "!", "0", "4", "d", "s", "r", ".", "/", ">", "c"),
    *("index", "{index}", "{source_name", "{target_name", "target_extension}", "{index:"),
)


@given(text=st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join), index=st.integers(0, 10**6))
def test_a_template_is_refused_at_once_or_never(text, index):
    try:
        template = OutputTemplate(text)
    except FaceFusionError:
        return
    assert "\0" not in str(template.path(index, SOURCE, TARGET))
