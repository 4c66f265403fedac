"""How each content model is fed, what its numbers mean, and how several decide together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.content.analyse import ContentAnalyser
from facefusion.content.aside import at_once
from facefusion.content.base import Judge, Vote
from facefusion.content.families import build_judge
from facefusion.content.open_nsfw import OpenNsfw
from facefusion.core.errors import InferenceError, ModelError
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Frame
from tests.faces.fakes import ArrayPicture, blank
from tests.faces.stage import card

CATALOGUE = Catalogue.load()


class Graph:
    """Gives the same numbers whatever it sees, and keeps what it was given."""

    def __init__(self, taken, answer):
        self.answer = np.asarray(answer, np.float32)
        float32 = np.dtype(np.float32)
        self.signature = GraphSignature(
            {"input": GraphValue(taken, float32)}, {"output": GraphValue((1, *self.answer.shape[1:]), float32)}
        )

    def run(self, inputs):
        self.tensor = inputs["input"]
        return {"output": self.answer}


def open_nsfw_graph(*answer, side=224):
    return Graph((None, side, side, 3), [answer])


def graph_of(name, answer):
    side = {"nsfw_1": 640, "nsfw_2": 384, "nsfw_3": 448}[name]
    return Graph((1, 3, side, side), answer)


def candidates(*rows):
    """What a detector gives: for each candidate its place and its classes."""
    return np.array(rows, np.float32).T[None]


def alone(name, graph):
    return build_judge(CATALOGUE.card(name), lambda _: graph, {})


def test_open_nsfw_sees_the_middle_in_blue_green_red():
    graph = open_nsfw_graph(0.25, 0.75)
    pixels = np.zeros((512, 512, 3), np.uint8)
    pixels[:] = (104, 117, 123)
    pixels[:32] = pixels[:, :32] = 255
    pixels[32:34, 32:34] = (105, 119, 126)
    network = OpenNsfw(card("open_nsfw"), graph)
    assert network.score(network.thumbnail(ArrayPicture(pixels))) == 0.75
    assert graph.tensor.shape == (1, 224, 224, 3)
    assert graph.tensor.dtype == np.float32
    assert graph.tensor[0, 0, 0].tolist() == [1, 2, 3]
    graph.tensor[0, 0, 0] = 0
    assert not graph.tensor.any()


def test_a_judge_that_does_not_answer_lets_nothing_pass():
    judge = alone("open_nsfw", open_nsfw_graph(np.nan, np.nan))
    with pytest.raises(InferenceError, match="open_nsfw gave values that are no numbers"):
        ContentAnalyser(judge, at_once, "photo.jpg", 0.0).observe(Frame(0, Fraction(0), blank(8, 8)))


def test_a_graph_of_another_family_is_refused():
    with pytest.raises(ModelError, match="open_nsfw: the graph does not fit its family: expected the input input"):
        alone("open_nsfw", open_nsfw_graph(0, 1, side=192))


def test_a_family_that_is_not_known_is_named():
    stranger = replace(CATALOGUE.card("open_nsfw"), family="other")
    with pytest.raises(ModelError, match="belongs to the family other, which the content analyser does not know"):
        build_judge(stranger, lambda _: open_nsfw_graph(0, 1), {})


@pytest.mark.parametrize(
    ("name", "answer", "score", "counts"),
    [
        ("open_nsfw", [[0.2, 0.8125]], 0.8125, True),
        ("open_nsfw", [[0.25, 0.75]], 0.75, False),
        ("nsfw_1", candidates((9, 9, 9, 9, 0.1, 0.25), (9, 9, 9, 9, 0.0, 0.125)), 0.25, True),
        ("nsfw_1", candidates((9, 9, 9, 9, 0.1875, 0), (9, 9, 9, 9, 0.125, 0)), 0.1875, False),
        ("nsfw_2", [[2.0, 1.5]], 0.5, True),
        ("nsfw_2", [[2.0, 1.75]], 0.25, False),
        ("nsfw_3", [[-4.0, -2.0, 1.0, 4.0]], 11.0, True),
        ("nsfw_3", [[-4.0, -2.0, 0.5, 4.0]], 10.5, False),
    ],
)
def test_each_network_has_a_scale_and_a_limit_of_its_own(name, answer, score, counts):
    graph = open_nsfw_graph(*answer[0]) if name == "open_nsfw" else graph_of(name, answer)
    opinion = alone(name, graph).look(blank(8, 8))()
    assert opinion.scores == {name: score}
    assert opinion.counts is counts


@pytest.mark.parametrize(
    ("name", "answer", "black", "red"),
    [
        ("nsfw_1", candidates((0, 0, 0, 0, 0)), (0, 0, 0), (1, 0, 0)),
        ("nsfw_2", [[0, 0]], (-1, -1, -1), (1, -1, -1)),
        ("nsfw_3", [[0] * 4], (-1.792261, -1.752093, -1.480221), (1.930331, -1.752093, -1.480221)),
    ],
)
def test_facefusions_networks_see_the_whole_picture_on_black_in_red_green_blue(name, answer, black, red):
    graph = graph_of(name, answer)
    pixels = np.zeros((50, 100, 3), np.uint8)
    pixels[:] = (0, 0, 255)
    alone(name, graph).look(ArrayPicture(pixels))()
    side = graph.tensor.shape[2]
    assert graph.tensor.shape == (1, 3, side, side)
    quarter = side // 4
    for row, colour in ((0, black), (quarter - 1, black), (quarter, red), (-quarter - 1, red), (-quarter, black)):
        for column in (0, -1):
            assert graph.tensor[0, :, row, column] == pytest.approx(colour, abs=1e-5)


@pytest.mark.parametrize(("name", "side"), [("open_nsfw", 256), ("nsfw_1", 640), ("nsfw_2", 384), ("nsfw_3", 448)])
def test_what_becomes_of_a_picture_does_not_change_what_was_looked_at(name, side):
    """Not even where it is as large as what the network takes, and need not be resized."""
    answer = {"nsfw_1": candidates((0, 0, 0, 0, 0)), "nsfw_2": [[0, 0]], "nsfw_3": [[0] * 4]}.get(name)
    graph = open_nsfw_graph(0, 1) if answer is None else graph_of(name, answer)
    pixels = np.full((side, side, 3), 90, np.uint8)
    judgement = alone(name, graph).look(ArrayPicture(pixels))
    pixels[:] = 255
    judgement()
    late = graph.tensor
    alone(name, graph).look(ArrayPicture(np.full((side, side, 3), 90, np.uint8)))()
    assert np.array_equal(late, graph.tensor)


def test_a_picture_a_pixel_high_is_seen_too():
    graph = graph_of("nsfw_2", [[1, 0]])
    assert alone("nsfw_2", graph).look(ArrayPicture(np.full((1, 4000, 3), 255, np.uint8)))().counts
    assert (graph.tensor[0, 0] == 1).any(axis=1).sum() == 1


def test_a_detector_without_classes_is_refused_when_it_is_run():
    with pytest.raises(ModelError, match="nsfw_1: the graph gives candidates of no class"):
        alone("nsfw_1", graph_of("nsfw_1", candidates((0, 0, 0, 0)))).look(blank(8, 8))()


COUNTED = {"nsfw_1": candidates((0, 0, 0, 0, 1)), "nsfw_2": [[1, 0]], "nsfw_3": [[0, 0, 0, 20]]}
PASSED = {"nsfw_1": candidates((0, 0, 0, 0, 0)), "nsfw_2": [[0, 1]], "nsfw_3": [[20, 0, 0, 0]]}


@pytest.mark.parametrize(
    ("counting", "counts"),
    [
        ((), False),
        (("nsfw_1",), False),
        (("nsfw_3",), False),
        (("nsfw_1", "nsfw_2"), True),
        (("nsfw_1", "nsfw_3"), True),
        (("nsfw_1", "nsfw_2", "nsfw_3"), True),
    ],
)
def test_of_facefusions_three_two_have_to_agree(counting, counts):
    many = CATALOGUE.card("nsfw_many")
    companions = {one.name: one for one in CATALOGUE.companions([many])}

    def runner(one):
        return graph_of(one.name, (COUNTED if one.name in counting else PASSED)[one.name])

    judge = build_judge(many, runner, companions)
    opinion = judge.look(blank(8, 8))()
    assert opinion.counts is counts
    assert list(opinion.scores) == ["nsfw_1", "nsfw_2", "nsfw_3"]
    assert judge.limits == {"nsfw_1": 0.2, "nsfw_2": 0.25, "nsfw_3": 10.5}


class Says:
    def __init__(self, score):
        self._score = score

    def thumbnail(self, picture):
        return picture.thumbnail(picture.size)

    def score(self, thumbnail):
        return self._score


@pytest.mark.parametrize(
    ("first", "second", "either", "both"),
    [(1, 1, True, True), (1, 0, True, False), (0, 1, True, False), (0, 0, False, False)],
)
def test_a_second_vote_makes_it_stricter_or_surer(first, second, either, both):
    models = (Judge("a", Says(first), 0.5), Judge("b", Says(second), 0.5))
    assert Vote(models, 1).look(blank(8, 8))().counts is either
    assert Vote(models, 2).look(blank(8, 8))().counts is both
