"""What of a step can be refused by its settings and what is known of its target, before a model is fetched.

Nothing is opened here, so that whoever takes orders for other machines refuses what none of them could do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from facefusion.app.faces import check_padding
from facefusion.app.label import label_of
from facefusion.app.sources import source_photos
from facefusion.config.request import check_output_kind
from facefusion.config.settings import PathsSettings, ProcessorsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import UsageError
from facefusion.core.formats import MediaKind, is_moving_image
from facefusion.core.values import Size
from facefusion.faces.mask.base import MaskUse
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.traits import automatic_filters, check_ages
from facefusion.media.container import container_of
from facefusion.media.encoding import check_size
from facefusion.media.image.formats import format_of
from facefusion.media.output_format import check_format
from facefusion.media.probe import MediaInfo
from facefusion.media.settings import OutputSettings, TrimSettings, WorkflowSettings
from facefusion.pipeline.video_plan import Trim
from facefusion.processors.base import ProcessorKind
from facefusion.processors.registry import ProcessorEntry, find_processor

DOUBT = 1.5
"""How many times the frames that its header promises a video may have: where it tells no number, length and rate do."""

Condition: TypeAlias = tuple[str, Callable[[], object]]
"""The option that somebody would change, and what raises a :class:`~facefusion.core.errors.FaceFusionError` unless a
step can be done. One holds only where those before it do."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A processor that the user asked for."""

    entry: ProcessorEntry
    kind: ProcessorKind

    def masks(self, snapshot: Snapshot) -> MaskUse:
        """Those that it heeds with these settings."""
        return self.kind.masks(snapshot.get(self.entry.settings))


def chosen_processors(snapshot: Snapshot) -> tuple[Chosen, ...]:
    """The processors of a step, in order."""
    entries = [find_processor(name) for name in snapshot.get(ProcessorsSettings).processors]
    return tuple(Chosen(entry, entry.load()) for entry in entries)


def needs_faces(chosen: Iterable[Chosen]) -> bool:
    """Whether any of them works on faces."""
    return any(one.kind.needs_faces or one.kind.needs_sources for one in chosen)


def wanting_sources(snapshot: Snapshot, chosen: Sequence[Chosen]) -> list[str]:
    """What needs a photo of somebody who is put in, for messages."""
    wanting = [one.entry.name for one in chosen if one.kind.needs_sources]
    if needs_faces(chosen):
        wanting += [f"{name} = auto" for name in automatic_filters(snapshot.get(FaceSelectorSettings))]
    return wanting


def trim_of(snapshot: Snapshot) -> Trim:
    """The part of a video that is meant."""
    return Trim(*snapshot.get(TrimSettings).bounds)


def check_selection(snapshot: Snapshot, chosen: Sequence[Chosen]) -> None:
    """Refuse settings that let nobody through, or nothing of anybody.

    Raises:
        UsageError: they do so.
    """
    for _, check in _selection_conditions(snapshot, chosen):
        check()


def check_output(snapshot: Snapshot, info: MediaInfo, output: Path) -> None:
    """Refuse a result that cannot be written of a target, on whatever machine.

    Args:
        snapshot: the settings in force.
        info: of the target: path, kind, size, turn and number of frames count.
        output: the file to write; it need not be there.

    Raises:
        UsageError: its extension or the workflow does not fit the target, or no part of that is meant.
        OptionError: the encoder does not take the pixel format, or the label cannot be drawn.
        OutputError: format or encoder hold no pictures of that size.
    """
    for _, check in _output_conditions(snapshot, info, output):
        check()


def conditions(snapshot: Snapshot, info: MediaInfo) -> Iterator[Condition]:
    """All that a step has to meet, on whatever machine.

    Args:
        snapshot: the settings in force; of its paths the extensions count, no file is looked at.
        info: of the target, as for :func:`check_output`.

    Raises:
        UsageError: target or output is not given.
    """
    paths, chosen = snapshot.get(PathsSettings), chosen_processors(snapshot)
    target, output = paths.target_path, paths.output_path
    if target is None or output is None:
        raise UsageError("a step needs a target and an output", "Give --target-path and --output-path.")
    yield "source_paths", lambda: source_photos(snapshot, wanting_sources(snapshot, chosen))
    yield from _selection_conditions(snapshot, chosen)
    yield from _output_conditions(snapshot, info, output)
    if info.kind is MediaKind.VIDEO:
        yield "trim_frame_start", lambda: _check_start(trim_of(snapshot), info)


def _selection_conditions(snapshot: Snapshot, chosen: Sequence[Chosen]) -> Iterator[Condition]:
    yield "face_selector_age_start", lambda: check_ages(snapshot.get(FaceSelectorSettings))
    yield "face_mask_padding", lambda: check_padding(snapshot, (one.masks(snapshot) for one in chosen))


def _output_conditions(snapshot: Snapshot, info: MediaInfo, output: Path) -> Iterator[Condition]:
    settings = snapshot.get(OutputSettings)
    yield "workflow_mode", lambda: snapshot.get(WorkflowSettings).check_target(info.path, info.kind)
    yield "output_path", lambda: check_output_kind(info.path, output, info.kind)
    if info.kind is MediaKind.IMAGE or is_moving_image(output):
        yield "output_image_resolution", lambda: format_of(output).check_size(output, *_size(settings, info, output))
    else:
        yield "output_video_pixel_format", lambda: _check_format(settings, output)
        yield "output_video_resolution", lambda: check_size(_size(settings, info, output), *_encoder(settings, output))
    yield "label", lambda: label_of(snapshot)
    if info.kind is MediaKind.VIDEO:
        yield "trim_frame_end", trim_of(snapshot).check


def _size(settings: OutputSettings, info: MediaInfo, output: Path) -> Size:
    """Of the result, or the least that it can have: no processor makes pictures smaller."""
    return settings.size_of(output).of(info) or info.size


def _encoder(settings: OutputSettings, output: Path) -> tuple[str, Path]:
    return container_of(output).encoder_for(settings.output_video_encoder), output


def _check_format(settings: OutputSettings, output: Path) -> None:
    encoder, _ = _encoder(settings, output)
    check_format(settings.output_video_pixel_format, encoder, container_of(output))


def _check_start(trim: Trim, info: MediaInfo) -> None:
    if info.frame_count and (trim.start or 0) > DOUBT * info.frame_count:
        raise trim.none_in(info)
