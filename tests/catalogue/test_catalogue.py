"""The catalogue: strict when read, and its own entries sound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from facefusion.catalogue.card import Publication
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.names import model_choices
from facefusion.core.errors import ModelError

GOOD = f"""
[preferences]
face_swapper = ["toy"]

[[wheel]]
name = "toys"
version = "1.0"
sha256 = "{"a" * 64}"
bytes = 10

[[file]]
name = "toy.onnx"
format = "ncnn"
bytes = 20

[[file.part]]
role = "param"
wheel = "toys"
member = "toys/net.param"
sha256 = "{"b" * 64}"
bytes = 3
downloads = [{{ url = "https://a.example/net.param", sha256 = "{"c" * 64}", bytes = 2 }}]

[[file.part]]
role = "weights"
sha256 = "{"d" * 64}"
bytes = 4
downloads = [{{ url = "https://a.example/net.bin" }}]

[[model]]
name = "toy"
kind = "face_swapper"
family = "toys"
file = "toy.onnx"
licence = "MIT"
vendor = "nobody"
year = 2020
origin = "this test"
numbers = {{ scale = 2, mean = [0.5, 0.5], layout = "rgb" }}
"""


def test_an_entry_becomes_a_card():
    card = Catalogue.parse(GOOD).card("toy")

    assert (card.kind, card.family, card.file, card.year) == ("face_swapper", "toys", "toy.onnx", 2020)
    assert card.numbers == {"scale": 2, "mean": (0.5, 0.5), "layout": "rgb"}
    assert not card.embedded  # one part is in no wheel
    assert card.graph is not None
    param, weights = card.graph.parts
    assert param.wheel is not None
    assert param.wheel.requirement == "toys==1.0"
    assert (param.downloads[0].sha256, param.downloads[0].bytes) == ("c" * 64, 2)
    assert (weights.downloads[0].sha256, weights.downloads[0].bytes) == ("d" * 64, 4)  # the part's own


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('licence = "MIT"\n', "", "model 'toy' lacks the field 'licence'"),
        ("year = 2020", "year = 2020\nyaer = 2021", "model 'toy' has the unknown field 'yaer'"),
        ("year = 2020", 'year = "2020"', "model 'toy' has '2020' for 'year'"),
        ("year = 2020", "year = true", "model 'toy' has True for 'year'"),
        ("scale = 2", "scale = [[2]]", r"model 'toy' has \(\[2\],\) for the number 'scale'"),
        ('file = "toy.onnx"', 'file = "boy.onnx"', "model 'toy' refers to 'boy.onnx', which is not there"),
        ('wheel = "toys"', 'wheel = "boys"', "part 'param' refers to 'boys', which is not there"),
        ('face_swapper = ["toy"]', 'face_swapper = ["boy"]', "preferences of face_swapper refers to 'boy'"),
        ('format = "ncnn"', 'format = "nccn"', "file 'toy.onnx' has the unknown format 'nccn'"),
        ('format = "ncnn"', 'format = "tflite"', "has the parts .* where tflite needs"),
        ('format = "ncnn"', 'format = "ncnn"\noptions = { free_size = true }', "has the unknown option 'free_size'"),
        ('member = "toys/net.param"\n', "", "part 'param' needs both wheel and member"),
        ('downloads = [{ url = "https://a.example/net.bin" }]', "", "part 'weights' has no source"),
        ("b" * 64, "b" * 63, "part 'param' has 'b+' for 'sha256'"),
        ("[[wheel]]", "[terms]\nMIT = 5\n[[wheel]]", "the catalogue has 5 for 'MIT' in 'terms'"),
        ("[[wheel]]", "[[whale]]", "part 'param' refers to 'toys'"),
        ("[preferences]", "[extra]\n[preferences]", "the catalogue has the unknown field 'extra'"),
        ("[preferences]", "[preferences", "no TOML"),
    ],
)
def test_a_mistake_is_named(old, new, message):
    assert old in GOOD

    with pytest.raises(ModelError, match=message):
        Catalogue.parse(GOOD.replace(old, new, 1))


PUBLISHED = """
[[model]]
name = "net_1.4"
kind = "face_enhancer"
family = "toys"
release = "3.0.0"
licence = "MIT"
vendor = "nobody"
year = 2020
origin = "this test"
stand_ins = [{ file = "old_net.onnx", release = "3.1.0" }]
"""


def test_a_model_of_a_release_runs_from_a_published_file_of_its_name():
    card = Catalogue.parse(GOOD + PUBLISHED).card("net_1.4")
    assert card.graph is not None
    assert (card.file, card.graph.name, card.graph.parts) == ("net_1.4.onnx", "net_1.4.onnx", ())
    assert card.graph.publication == Publication("models-3.0.0", ("github", "huggingface"))
    assert not card.embedded
    assert [(one.name, one.publication) for one in card.stand_ins] == [("old_net.onnx", Publication("models-3.1.0"))]
    named = Catalogue.parse(GOOD + PUBLISHED.replace("release", 'file = "net.onnx"\nrelease', 1)).card("net_1.4")
    assert named.file == "net.onnx"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '{ file = "old_net.onnx", release = "3.1.0" }',
            '{ file = "old.onnx" }',
            "'old.onnx' lacks the field 'release'",
        ),
        ("old_net.onnx", "toy.onnx", "model 'net_1.4' has another 'toy.onnx'"),
    ],
)
def test_a_mistake_in_a_release_is_named(old, new, message):
    with pytest.raises(ModelError, match=message):
        Catalogue.parse(GOOD + PUBLISHED.replace(old, new))


def test_a_card_knows_the_terms_of_its_licence():
    assert Catalogue.parse(GOOD).card("toy").terms == ""
    text = GOOD.replace("[[wheel]]", '[terms]\nMIT = "is free"\n[[wheel]]', 1)
    assert Catalogue.parse(text).card("toy").terms == "is free"


SPDX = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "GPL-3.0-only", "MIT"}
"""Identifiers of https://spdx.org/licenses that the catalogue uses; none of these licences forbids a use."""

OWN = {"Non-Commercial", "OpenRAIL-M", "ResearchRAIL", "S-Lab-1.0", "unknown"}
"""What SPDX has no identifier for: named as FaceFusion names it."""

CODE = {"that of this program; topology data Apache-2.0", "those of its companions", "of the user's own"}


def test_every_licence_is_one_that_is_known_and_says_what_it_does_not_allow():
    collected = [collection.card("somebody_224") for collection in Catalogue.load().collections]
    everything = (*Catalogue.load().cards(), *collected)
    assert {card.licence for card in everything} <= SPDX | OWN | CODE
    assert {card.licence for card in everything if card.terms} == OWN
    assert not [card.name for card in everything if card.licence in OWN and not card.terms]


@pytest.mark.parametrize("licence", sorted(SPDX | OWN))
def test_every_licence_is_explained(licence):
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    assert f"| `{licence}` |" in page


def test_models_that_may_not_be_used_commercially_say_so():
    restricted = {card.name for card in Catalogue.load().cards() if card.terms}
    assert {"inswapper_128", "hyperswap_1a_256", "codeformer", "retinaface", "arcface_w600k_r50"} <= restricted
    assert restricted & {"yunet", "sface", "mesh", "gfpgan_1.4", "ghost_1_256", "xseg_1", "2dfan4"} == set()


def test_a_name_used_twice_is_an_error():
    twice = GOOD + GOOD[GOOD.index("[[model]]") :]

    with pytest.raises(ModelError, match="model 'toy' is there twice"):
        Catalogue.parse(twice)


def test_an_unknown_name_brings_the_nearest():
    with pytest.raises(ModelError) as caught:
        Catalogue.load().card("real_esrgan_x3")
    assert str(caught.value) == "There is no model named 'real_esrgan_x3'. Did you mean real_esrgan_x4?"

    with pytest.raises(ModelError, match=r"no model named '\?'. Known models: .*yunet"):
        Catalogue.load().card("?")


def test_every_embedded_model_has_a_pinned_wheel_and_another_address():
    cards = Catalogue.load().cards()

    assert [card.name for card in cards if card.graph is None and not card.companions] == ["mesh"] * 2
    for card in (card for card in cards if card.embedded):
        for part in card.graph.parts if card.graph else ():
            assert part.wheel is not None, card.name
            assert all(download.url.startswith("https://") for download in part.downloads)
            assert part.downloads, card.name


def test_no_embedded_file_takes_the_place_of_one_of_facefusions():
    names = {card.graph.name for card in Catalogue.load().embedded() if card.graph is not None}
    assert names & {"open_nsfw.onnx", "real_esrgan_x4.onnx", "yunet_2023_mar.onnx"} == set()


def test_every_kind_of_embedded_models_prefers_one_last_that_pip_can_bring():
    catalogue = Catalogue.load()

    for kind in {card.kind for card in catalogue.embedded()}:
        preferred = catalogue.preferred(kind)
        assert {card.kind for card in preferred} == {kind}
        assert preferred[-1].embedded


def test_a_kind_without_preference_is_an_error():
    with pytest.raises(ModelError, match="no preferred model for lip_syncer"):
        Catalogue.load().preferred("lip_syncer")


def test_choices_of_an_option_are_auto_and_all_names_that_users_know():
    assert model_choices("frame_enhancer")()[:4] == ("auto", "waifu2x_x2", "real_esrgan_x4", "clear_reality_x4")
    assert model_choices("face_parser")() == ("auto", "mesh", "bisenet_resnet_18", "bisenet_resnet_34")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "span_kendata_x4",
            "The frame enhancer span_kendata_x4 cannot be run by this version. Those that can: auto, waifu2x_x2, "
            "real_esrgan_x4.",
        ),
        ("ddcolor", "The frame colorizer ddcolor cannot be run by this version. Those that can: none."),
    ],
)
def test_a_model_that_users_know_and_no_code_runs_is_refused_by_name(name, message):
    with pytest.raises(ModelError) as refused:
        Catalogue.load().card(name)
    assert str(refused.value) == message


def test_a_model_that_is_awaited_may_have_its_entry_and_is_refused_all_the_same():
    text = GOOD.replace("[[wheel]]", '[awaited]\nface_swapper = ["toy", "boy"]\n[[wheel]]', 1)
    catalogue = Catalogue.parse(text)
    assert catalogue.cards() == ()
    assert catalogue.choices("face_swapper") == ("toy", "boy")
    with pytest.raises(ModelError, match=r"^The face swapper toy cannot be run by this version\."):
        catalogue.card("toy")
    with pytest.raises(ModelError, match="The catalogue says no preferred model for face_swapper"):
        catalogue.preferred("face_swapper")


def test_no_model_runs_one_that_is_awaited():
    text = GOOD + COMPANIONS.format(name="first", companions='["toy"]')
    text = text.replace("[[wheel]]", '[awaited]\nface_swapper = ["toy"]\n[[wheel]]', 1)
    with pytest.raises(ModelError, match="model 'first' runs 'toy', which is awaited"):
        Catalogue.parse(text)


def test_models_of_code_may_share_a_name_where_their_kinds_differ():
    many = COMPANIONS.format(name="many", companions='["toy"]')
    text = GOOD + many + many.replace("face_swapper", "face_enhancer")
    catalogue = Catalogue.parse(text)
    assert [card.kind for card in catalogue.named("many")] == ["face_swapper", "face_enhancer"]
    assert catalogue.card("many", "face_enhancer").kind == "face_enhancer"
    with pytest.raises(ModelError, match="model 'many' is there twice"):
        Catalogue.parse(text + many)
    with pytest.raises(ModelError, match="model 'toy' is there twice"):
        Catalogue.parse(GOOD + COMPANIONS.format(name="toy", companions="[]").replace("face_swapper", "face_enhancer"))


def test_every_model_with_a_graph_says_what_a_worker_takes():
    catalogue = Catalogue.load()
    graphs = [card for card in catalogue.cards() if card.graph is not None]
    collected = [collection.card("somebody_224") for collection in catalogue.collections]
    taken = {card.name: card.number("worker_megabytes") for card in (*graphs, *collected)}
    assert all(10 <= megabytes <= 2040 and megabytes % 10 == 0 for megabytes in taken.values())
    assert taken["waifu2x_photo_2x"] == taken["waifu2x_x2"]
    assert taken["gpen_bfr_256"] < taken["gpen_bfr_512"] < taken["gpen_bfr_1024"] < taken["gpen_bfr_2048"]


def test_a_number_of_an_entry_must_be_one():
    card = Catalogue.load().card("yunet")
    assert card.number("overlap_limit") == 0.3
    assert card.number("missing", 3) == 3.0
    odd = replace(card, numbers={"input_size": "big"})
    with pytest.raises(
        ModelError, match=r"^Model yunet: input_size is 'big' in the catalogue\. It must be a number\.$"
    ):
        odd.number("input_size", 1)
    with pytest.raises(ModelError, match=r"^Model yunet: missing is None in the catalogue\."):
        card.number("missing")


COMPANIONS = """
[[model]]
name = "{name}"
kind = "face_swapper"
family = "toys"
licence = "MIT"
vendor = "nobody"
year = 2020
origin = "this test"
companions = {companions}
"""


def test_companions_come_with_those_that_they_run_themselves_each_once():
    parts = {"first": '["second", "third"]', "second": '["third"]', "third": "[]"}
    text = GOOD + "".join(COMPANIONS.format(name=name, companions=names) for name, names in parts.items())
    catalogue = Catalogue.parse(text)
    found = catalogue.companions([catalogue.card("first"), catalogue.card("toy")])
    assert [card.name for card in found] == ["second", "third"]
    assert catalogue.companions([catalogue.card("toy")]) == ()


def test_a_model_of_code_is_embedded_only_with_its_companions():
    text = GOOD + PUBLISHED + COMPANIONS.format(name="many", companions='["net_1.4"]')
    assert not Catalogue.parse(text).card("many").embedded
    assert Catalogue.parse(text.replace('companions = ["net_1.4"]', "companions = []")).card("many").embedded


def test_companions_of_companions_count_too():
    chain = COMPANIONS.format(name="many", companions='["few"]') + COMPANIONS.format(
        name="few", companions='["net_1.4"]'
    )
    catalogue = Catalogue.parse(GOOD + PUBLISHED + chain)
    assert not catalogue.card("few").embedded
    assert not catalogue.card("many").embedded
    assert "many" not in {card.name for card in catalogue.embedded()}
    assert Catalogue.parse(GOOD + chain.replace('"net_1.4"', "")).card("many").embedded


@pytest.mark.parametrize(
    ("parts", "circle"),
    [
        ({"first": "first"}, "'first' runs 'first'"),
        ({"first": "second", "second": "first"}, "'first' runs 'second' runs 'first'"),
        ({"zero": "first", "first": "second", "second": "first"}, "'first' runs 'second' runs 'first'"),
    ],
)
def test_a_model_that_runs_itself_is_a_mistake_of_the_catalogue(parts, circle):
    text = "".join(COMPANIONS.format(name=name, companions=f'["{other}"]') for name, other in parts.items())
    with pytest.raises(ModelError) as refused:
        Catalogue.parse(GOOD + text)
    assert str(refused.value) == f"The model catalogue is wrong: model {circle}."


def test_a_companion_that_is_not_there_is_a_mistake_of_the_catalogue():
    with pytest.raises(ModelError, match="model 'first' refers to 'nobody', which is not there"):
        Catalogue.parse(GOOD + COMPANIONS.format(name="first", companions='["nobody"]'))
