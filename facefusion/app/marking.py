"""What the result of a step is to say of itself, and what it says in the end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from facefusion import __version__
from facefusion.app.models import Models
from facefusion.app.preconditions import Chosen
from facefusion.config.state import Snapshot
from facefusion.core.errors import InputError
from facefusion.core.report import MarkingReport, NotKept
from facefusion.media.finishing import Finishing
from facefusion.observability.events import EventSink, Notice
from facefusion.provenance.marker import Marker, Unmarked, check_side_car
from facefusion.provenance.records import Declaration, Deed, Marking, Sealer, SourceType
from facefusion.provenance.settings import MarkingSettings
from facefusion.provenance.xmp.read import source_types

PROGRAM = f"FaceFusion {__version__}"
NOT_MARKED = "The result is not marked: nothing was done to it that could be taken for a photograph."

MADE = frozenset(
    ("trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia", "compositeSynthetic", "algorithmicMedia")
)
"""Terms of the vocabulary for what is made by models as a whole or in part: whatever is done to such a picture, it
stays at least a composite."""
ENHANCED = "algorithmicallyEnhanced"


class ResultMarking:
    """The marks of one result.

    Args:
        mode: how much it says.
        target: what it is made of.
        said: what the target says of itself, in its own words.
        sealer: signs it; none where it is not to be signed.
        events: told of what becomes of the target's marks.
    """

    def __init__(
        self, mode: Marking, target: Path, said: Sequence[str], sealer: Sealer | None, events: EventSink
    ) -> None:
        self._mode = mode
        self._target = target
        self._said = tuple(said)
        self._sealer = sealer
        self._events = events
        self._declared: SourceType | None = None
        self._marker: Marker | None = None

    @classmethod
    def open(
        cls,
        snapshot: Snapshot,
        chosen: Sequence[Chosen],
        target: Path,
        sources: Iterable[Path],
        output: Path,
        events: EventSink,
        *,
        sealing: bool = True,
    ) -> Self:
        """Look at the marks of what is read, and make sure that the result can be marked, before anything is done.

        Args:
            snapshot: the settings in force.
            chosen: the processors, in order.
            target: what is worked on.
            sources: images that faces are taken from.
            output: the result.
            events: told of marks that sources carry, and of what becomes of the target's.
            sealing: whether this machine makes the result; else it cannot sign, and need not.

        Raises:
            SetupError: the result cannot be signed.
            UsageError: likewise, or something else lies where its manifest would.
        """
        mode = snapshot.get(MarkingSettings).mode
        check_side_car(output)
        said = source_types(target)
        makes = [one.kind.makes for one in chosen]
        is_signed = mode is Marking.FULL and sealing and any((*makes, inherited(said)))
        for path in sources:
            with contextlib.suppress(InputError):  # whoever reads its faces says so
                if terms := source_types(path):
                    events.emit(Notice(f"{path.name} says of itself: {_listed(terms)}."))
        return cls(mode, target, said, open_sealer(snapshot, events) if is_signed else None, events)

    def finishing(self, chosen: Sequence[Chosen], snapshot: Snapshot, models: Models) -> Finishing:
        """What marks the result at its end.

        Args:
            chosen: the processors, in order.
            snapshot: the settings in force.
            models: of the step.
        """
        deeds = tuple(Deed(one.entry.name, one.kind.makes, dict(_models_of(one, snapshot, models))) for one in chosen)
        declaration = Declaration(deeds, PROGRAM, inherited(self._said))
        self._declared = None if self._mode is Marking.OFF else declaration.source_type
        for notice in self._notices(declaration):
            self._events.emit(Notice(notice))
        if self._declared is None:
            return Unmarked()
        self._marker = Marker(declaration, self._target, self._sealer)
        return self._marker

    def report(self) -> MarkingReport:
        """What the result says, once it is in its place."""
        marker = self._marker
        is_signed = marker is not None and self._sealer is not None
        side_car = None if marker is None else marker.side_car
        return MarkingReport(
            mode=self._mode.value,
            source_type=None if self._declared is None else self._declared.value,
            in_file=marker is not None and marker.is_told,
            signed_by=self._sealer.signer if is_signed and self._sealer is not None else None,
            side_car=None if side_car is None else side_car.name,
            of_target=self._said,
        )

    def _notices(self, declaration: Declaration) -> Iterator[str]:
        """What becomes of the target's marks, and that a result has none."""
        if self._said:
            says = f"{self._target.name} says of itself: {_listed(self._said)}"
            if self._mode is Marking.OFF:
                yield NotKept(f"{says}. With --marking off, no care is taken that the result says so too.")
            elif declaration.source_type is None:
                yield f"{says}."
            else:
                yield f"{says}. The result says: {term_of(declaration.source_type.value)}."
        if self._mode is not Marking.OFF and declaration.source_type is None:
            yield NOT_MARKED


def open_sealer(snapshot: Snapshot, events: EventSink) -> Sealer | None:
    """What signs results, tried out.

    Raises:
        SetupError: nothing can be signed with what is set.
        UsageError: likewise.
    """
    return None


def inherited(said: Iterable[str]) -> SourceType | None:
    """What has to be said of whatever is made of a picture that says such things of itself."""
    terms = {term_of(one) for one in said}
    if terms & MADE:
        return SourceType.COMPOSITE
    return SourceType.ENHANCED if ENHANCED in terms else None


def term_of(value: str) -> str:
    """A term of the vocabulary without its address, which is written in more than one way."""
    return value.rstrip("/").rpartition("/")[2]


def _listed(values: Iterable[str]) -> str:
    return ", ".join(term_of(value) for value in values)


def _models_of(one: Chosen, snapshot: Snapshot, models: Models) -> Iterator[tuple[str, str]]:
    """The models that a processor runs, and the digests of their files."""
    kinds = one.kind.models(snapshot.get(one.entry.settings))
    digests: Mapping[str, str] = models.digests
    for file in models.files(kinds):
        yield file.name, digests[file.name]
