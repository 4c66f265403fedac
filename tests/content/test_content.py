"""What the content filter looks at and when it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.content.analyse import ContentAnalyser
from facefusion.content.families import build_judge
from facefusion.content.open_nsfw import OpenNsfw
from facefusion.core.errors import ContentRefusedError, InferenceError, ModelError
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Frame
from tests.faces.fakes import ArrayPicture, blank
from tests.faces.stage import card


class Scores:
    """Judges by the second a frame belongs to."""

    def __init__(self, by_second):
        self.by_second = by_second
        self.times: list[Fraction] = []
        self.now = Fraction(0)

    def score(self, picture):
        self.times.append(self.now)
        return self.by_second[int(self.now)]


def watch(by_second, duration, rate=10, start=Fraction(0)):
    """Frame at which the target was refused (-1 at the end), none where it passed; and the model."""
    model = Scores(by_second)
    analyser = ContentAnalyser(model, "clip.mp4", duration)
    for index in range(len(by_second) * rate):
        model.now = Fraction(index, rate)
        try:
            analyser.observe(Frame(index, start + model.now, blank(8, 8)))
        except ContentRefusedError:
            return index, model
    try:
        analyser.finish()
    except ContentRefusedError:
        return -1, model
    return None, model


def test_one_frame_a_second_is_looked_at():
    outcome, model = watch([0.0] * 5, None)
    assert outcome is None
    assert model.times == [0, 1, 2, 3, 4]


def test_seconds_count_from_the_first_frame():
    _, model = watch([0.0] * 3, None, start=Fraction(17, 10))
    assert model.times == [0, 1, 2]


def test_slow_videos_are_looked_at_frame_by_frame():
    model = Scores([0.0] * 12)
    analyser = ContentAnalyser(model, "slides.mp4", 12.0)
    for index in range(4):
        model.now = Fraction(index * 3)
        analyser.observe(Frame(index, model.now, blank(8, 8)))
    assert model.times == [0, 3, 6, 9]


@pytest.mark.parametrize(
    ("length", "bad", "refused_at"),
    [
        (1, [0], 0),
        (5, [2], 20),
        (9, [8], 80),
        (10, [3], None),
        (10, [3, 7], 70),
        (20, [0, 1], None),
        (20, [0, 1, 2], 20),
        (30, [0, 29], None),
        (30, [0, 1, 28, 29], 290),
    ],
)
def test_more_than_a_tenth_is_refused_as_soon_as_it_is_certain(length, bad, refused_at):
    scores = [0.95 if second in bad else 0.1 for second in range(length)]
    assert watch(scores, float(length))[0] == refused_at


def test_score_of_the_limit_itself_passes():
    assert watch([0.8], 1.0)[0] is None
    assert watch([0.81], 1.0)[0] == 0


def test_unknown_duration_is_decided_at_the_end():
    assert watch([0.9, 0.0, 0.0], None)[0] == -1
    assert watch([0.9] + [0.0] * 9, None)[0] is None


def test_no_frame_is_looked_at_once_the_target_must_pass():
    _, model = watch([0.0] * 20, 20.0)
    # Two of the twenty may be counted, so after eighteen nothing can change.
    assert len(model.times) == 18


def test_refusal_names_the_target_and_has_its_own_exit_code():
    with pytest.raises(ContentRefusedError) as caught:
        ContentAnalyser(Scores([0.99]), "photo.jpg", 0.0).observe(Frame(0, Fraction(0), blank(8, 8)))
    assert str(caught.value) == (
        "photo.jpg was refused by the content filter: the picture most likely shows sexual content. "
        "Nothing was written. Use another target."
    )
    assert caught.value.exit_code == 3


def test_refusal_of_a_video_says_how_much():
    analyser = ContentAnalyser(Scores([0.99, 0.99]), "clip.mp4", 20.0)
    analyser.counted, analyser.looked_at = 2, 2
    with pytest.raises(ContentRefusedError, match="3 of 3 pictures looked at most likely"):
        analyser.observe(Frame(0, Fraction(0), blank(8, 8)))


class Judge:
    """Gives the same two numbers whatever it sees, and keeps what it was given."""

    def __init__(self, *answer, side=224):
        self.answer = answer
        self.signature = GraphSignature(
            {"input": GraphValue((None, side, side, 3), np.dtype(np.float32))},
            {"output": GraphValue((None, 2), np.dtype(np.float32))},
        )

    def run(self, inputs):
        self.tensor = inputs["input"]
        return {"output": np.array([self.answer], np.float32)}


def test_open_nsfw_sees_the_middle_in_blue_green_red():
    graph = Judge(0.25, 0.75)
    pixels = np.zeros((512, 512, 3), np.uint8)
    pixels[:] = (104, 117, 123)
    pixels[:32] = pixels[:, :32] = 255
    pixels[32:34, 32:34] = (105, 119, 126)
    assert OpenNsfw(card("open_nsfw"), graph).score(ArrayPicture(pixels)) == 0.75
    assert graph.tensor.shape == (1, 224, 224, 3)
    assert graph.tensor.dtype == np.float32
    assert graph.tensor[0, 0, 0].tolist() == [1, 2, 3]
    graph.tensor[0, 0, 0] = 0
    assert not graph.tensor.any()


def test_a_judge_that_does_not_answer_lets_nothing_pass():
    judge = OpenNsfw(card("open_nsfw"), Judge(np.nan, np.nan))
    with pytest.raises(InferenceError, match="open_nsfw gave values that are no numbers"):
        ContentAnalyser(judge, "photo.jpg", 0.0).observe(Frame(0, Fraction(0), blank(8, 8)))


def test_a_graph_of_another_family_is_refused():
    with pytest.raises(ModelError, match="open_nsfw: the graph does not fit its family: expected the input input"):
        build_judge(card("open_nsfw"), Judge(0, 1, side=192))


def test_a_family_that_is_not_known_is_named():
    with pytest.raises(ModelError, match="belongs to the family other, which the content analyser does not know"):
        build_judge(replace(Catalogue.load().card("open_nsfw"), family="other"), Judge(0, 1))
