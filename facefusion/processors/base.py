"""What a processor is.

A processor sees every frame twice. :meth:`Processor.observe` is called in frame order, one frame at a time, before any
processor has changed the frame; it may keep state from frame to frame (smoothing) and must be cheap.
:meth:`Processor.process` is called from any worker thread, in any order, and depends on its arguments only. This
lets frames run in parallel without flicker, and a segment of a video be rendered on its own. It gets several frames at
once, so that their faces can go through a graph together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import SignedGraph
from facefusion.core.remembered import Remembered
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.faces.mask.base import NO_MASKS, MaskUse
from facefusion.faces.mask.masker import PLAIN, FaceMasker
from facefusion.observability.events import EventSink
from facefusion.provenance.records import SourceType


@dataclass(frozen=True, slots=True)
class Source:
    """A source photo and the face that was taken from it."""

    path: str
    picture: Picture
    face: Face
    person: int = 0
    """Who it shows. The person is put in the place of those faces whose ``source`` is this number."""


def people(sources: Sequence[Source]) -> tuple[tuple[Source, ...], ...]:
    """The sources of each person, by the person's number.

    Raises:
        ValueError: the numbers do not run from 0 without a gap.
    """
    numbers = sorted({source.person for source in sources})
    if numbers != list(range(len(numbers))):
        raise ValueError(f"the people of the sources are numbered {numbers}")
    return tuple(tuple(source for source in sources if source.person == number) for number in numbers)


@dataclass(frozen=True, slots=True)
class Target:
    """What a processor may know about the target before the first frame."""

    size: Size
    frame_rate: float
    """Frames per second, for smoothing over time; 0 for an image."""
    is_video: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """A frame on its way through the processors."""

    picture: Picture
    """As the processor before left it."""
    faces: Sequence[Face]
    """To work on."""
    observation: object
    """What the processor's :meth:`Processor.observe` gave for the frame."""


class Processor(Protocol):
    """One way to change frames, with its models loaded and its sources prepared."""

    name: str

    def output_size(self, size: Size) -> Size:
        """Size of the picture that comes out for one of ``size``; the same for all but frame enhancers."""

    def observe(self, frame: Frame, faces: Sequence[Face]) -> object:
        """Look at an untouched frame, in order. What it returns is handed to :meth:`process` for the same frame."""

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        """Work on the pictures and return them in order, or new ones. Any thread; no state of its own.

        What becomes of a picture does not depend on the others, but for what a graph rounds otherwise in a larger run.
        """

    def afresh(self) -> Processor:
        """The same processor, knowing nothing of any frame: a new video or segment begins. What is costly is shared."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a processor is built from: everything it may use, and nothing it has to look for."""

    settings: Any
    """An instance of the processor's own settings group."""
    cards: Mapping[str, ModelCard]
    """The model chosen for each kind of model that the processor asked for."""
    runner: Callable[[ModelCard], SignedGraph]
    """Makes the runner of a card's graph."""
    companions: Mapping[str, ModelCard]
    """The models that those cards run beside their own, by name."""
    sources: Sequence[Source]
    """Of one person; of several where the user says who becomes whom: see :func:`people`. None where a processor
    is only built to see whether its graphs fit."""
    target: Target
    events: EventSink
    masker: FaceMasker = PLAIN
    """Bounds what of a face is changed, by the masks that the processor's kind names."""
    remembered: Remembered = field(default_factory=Remembered)
    """What processors of earlier steps made and this one may want again."""


def always(masks: MaskUse) -> Callable[[Any], MaskUse]:
    """The masks that a processor heeds whatever its settings are."""
    return lambda _settings: masks


UNMASKED = always(NO_MASKS)
"""Of a processor that heeds none."""


@dataclass(frozen=True, slots=True)
class ProcessorKind:
    """How the rest of the program sees a processor before it is built."""

    build: Callable[[Workshop], Processor]
    models: Callable[[Any], Mapping[str, str]]
    """From the settings to the models needed: kind of model to the name chosen, or ``auto``."""
    makes: SourceType | None
    """What results are called that it has worked on; none where nobody takes them for photographs, as drawings over
    faces are not."""
    needs_sources: bool = False
    needs_faces: bool = True
    masks: Callable[[Any], MaskUse] = UNMASKED
    """From the settings to the masks it heeds; no model is fetched for one that no processor heeds."""
