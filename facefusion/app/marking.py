"""What the result of a step is to say of itself, and what it says in the end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from facefusion import __version__
from facefusion.app.marks_found import Marks, marks_of
from facefusion.app.models import Models
from facefusion.app.preconditions import Chosen
from facefusion.catalogue.card import ModelCard
from facefusion.config.state import Snapshot
from facefusion.core.errors import InputError
from facefusion.core.report import MarkingReport, NotKept
from facefusion.core.stop import StopToken
from facefusion.media.finishing import Finishing
from facefusion.observability.events import EventSink, Notice
from facefusion.provenance.findings import term
from facefusion.provenance.marker import Marker, Unmarked
from facefusion.provenance.records import Declaration, Deed, Marking, Sealer, SourceType
from facefusion.provenance.settings import MarkingSettings
from facefusion.provenance.side_car import check_side_car
from facefusion.provenance.signing.rehearsal import Rehearsal, is_at_hand
from facefusion.provenance.signing.settings import SigningSettings

PROGRAM = f"FaceFusion {__version__}"
DEEP_SWAPPER = "deep_swapper"

NAMES_IT_TOO = "It tells nothing of the result, which may name it all the same."
DOES_NOT_NAME_IT = "It tells nothing of the result, which does not name it."
NOT_MARKED = "The result is not marked: nothing was done to it that could be taken for a photograph."


class ResultMarking:
    """The marks of one result.

    Args:
        mode: how much it says.
        target: what it is made of.
        found: the marks that the target carries.
        signing: signs it, or is being tried out for that; none where it is not to be signed.
        events: told of what becomes of the target's marks.
    """

    def __init__(
        self, mode: Marking, target: Path, found: Marks, signing: Sealer | Rehearsal | None, events: EventSink
    ) -> None:
        self._mode = mode
        self._target = target
        self._found = found
        self._signing = signing
        self._sealer: Sealer | None = None
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
        is_moving: bool,
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
            is_moving: whether the result is a video, whose frames may take all memory that there is.
            sealing: whether this machine makes the result; else it cannot sign, and need not.

        Raises:
            SetupError: the result cannot be signed.
            UsageError: likewise, or something else lies where its manifest would.
        """
        mode = snapshot.get(MarkingSettings).mode
        check_side_car(output, is_signed=mode is Marking.FULL)
        found = marks_of(target)
        for path in sources:
            with contextlib.suppress(InputError):  # whoever reads its faces says so
                if marks := marks_of(path):
                    events.emit(Notice(f"{path.name} {marks}."))
        is_to_be_signed = any((found.inherited, *(one.kind.makes for one in chosen)))
        if mode is not Marking.FULL or not sealing or not is_to_be_signed:
            return cls(mode, target, found, None, events)
        if is_moving and not is_at_hand():
            return cls(mode, target, found, Rehearsal(snapshot.get(SigningSettings)), events)
        return cls(mode, target, found, open_sealer(snapshot, events), events)

    def close(self) -> None:
        """Nobody waits any more for a signer that is being tried out."""
        if isinstance(self._signing, Rehearsal):
            self._signing.close()

    def finishing(self, chosen: Sequence[Chosen], snapshot: Snapshot, models: Models, stop: StopToken) -> Finishing:
        """What marks the result at its end.

        Args:
            chosen: the processors, in order.
            snapshot: the settings in force.
            models: of the step.
            stop: ends the wait for a signer that is tried out.

        Raises:
            SetupError: the result cannot be signed.
            UsageError: likewise.
            Stopped: a stop was requested.
        """
        signing = self._signing
        self._sealer = signing.sealer(self._events, stop) if isinstance(signing, Rehearsal) else signing
        deeds = tuple(Deed(one.entry.name, one.kind.makes, dict(_models_of(one, snapshot, models))) for one in chosen)
        declaration = Declaration(deeds, PROGRAM, self._found.inherited)
        self._declared = None if self._mode is Marking.OFF else declaration.source_type
        for notice in self._notices(declaration):
            self._events.emit(Notice(notice))
        if self._declared is None:
            return Unmarked()
        self._marker = Marker(declaration, self._target, self._sealer)
        return self._marker

    def report(self) -> MarkingReport:
        """What the result says, once it is in its place."""
        marker, sealer = self._marker, self._sealer
        side_car = None if marker is None else marker.side_car
        return MarkingReport(
            mode=self._mode.value,
            source_type=None if self._declared is None else self._declared.value,
            in_file=marker is not None and marker.is_told,
            signed_by=None if marker is None or sealer is None else sealer.signer,
            side_car=None if side_car is None else side_car.name,
            of_target=self._found.source_types,
            target_manifest=None if self._found.verdict is None else self._found.verdict.value,
        )

    def _notices(self, declaration: Declaration) -> Iterator[str]:
        """What becomes of the target's marks, and that a result has none."""
        if self._found.source_types:
            says = f"{self._target.name} {Marks(self._found.source_types)}"
            if self._mode is Marking.OFF:
                yield NotKept(f"{says}. With --marking off, no care is taken that the result says so too.")
            elif declaration.source_type is None:
                yield f"{says}."
            else:
                yield f"{says}. The result says: {term(declaration.source_type.value)}."
        yield from self._manifest_notices()
        if self._mode is not Marking.OFF and declaration.source_type is None:
            yield NOT_MARKED

    def _manifest_notices(self) -> Iterator[str]:
        """What becomes of the target's manifests."""
        name, found = self._target.name, self._found
        is_kept = self._mode is Marking.FULL and self._declared is not None
        if found.carries_one:
            carries = f"{name} {Marks(verdict=found.verdict)}"
            if is_kept:
                yield f"{carries}, which is kept in the result's as that of what it was made of."
            else:
                yield NotKept(f"{carries}, which the result does not keep.")
        for other in found.others:
            yield NotKept(f"{name} has another manifest beside it, in {other}, which the result does not keep.")
        if found.address is not None:
            names = f"{name} {Marks(address=found.address)}"
            yield NotKept(f"{names}. {NAMES_IT_TOO if self._declared is None else DOES_NOT_NAME_IT}")


def check_signer(snapshot: Snapshot, events: EventSink) -> None:
    """Make sure that results can be signed here, unless none are to be.

    Raises:
        OptionError: the settings contradict each other.
        SetupError: nothing can be signed with what is set.
    """
    if snapshot.get(MarkingSettings).mode is Marking.FULL:
        open_sealer(snapshot, events)


def open_sealer(snapshot: Snapshot, events: EventSink) -> Sealer:
    """What signs results, tried out.

    Raises:
        OptionError: the settings contradict each other.
        SetupError: nothing can be signed with what is set.
    """
    from facefusion.provenance.signing.sealer import open_sealer as opened  # noqa: PLC0415 - brings in 30 MB

    return opened(snapshot.get(SigningSettings), events)


def told_name(card: ModelCard, digest: str) -> str:
    """What a result calls a model: its name, or the digest's beginning where the name may tell of a person.

    Models of the deep swapper are called after those whom they make, and what a user brought is called as they like.
    """
    is_of_user = card.graph is not None and (card.graph.is_imported or card.graph.own)
    return f"{card.kind} {digest[:12]}" if is_of_user or card.kind == DEEP_SWAPPER else card.name


def _models_of(one: Chosen, snapshot: Snapshot, models: Models) -> Iterator[tuple[str, str]]:
    """The models that a processor runs, and the digests of their files."""
    kinds = one.kind.models(snapshot.get(one.entry.settings))
    digests: Mapping[str, str] = models.digests
    cards = {card.name: card for card in (*models.cards.values(), *models.companions.values())}
    for file in models.files(kinds):
        yield told_name(cards[file.name], digests[file.name]), digests[file.name]
