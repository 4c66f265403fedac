"""What would fail on any worker is refused when a job is asked for, by the conditions of the engine's own steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from facefusion.core.errors import FaceFusionError
from facefusion.core.formats import MediaKind, kind_of
from facefusion.service.problems import FieldFault, FieldsError
from facefusion.service.records import Asset, JobRecord
from facefusion.service.rendering import JobFiles
from facefusion.service.steps import StepRules

if TYPE_CHECKING:
    from facefusion.media.probe import MediaInfo

FIELDS = {"source_paths": "sources", "output_path": "extension"}
"""Options that are fields of a request beside its step."""
NOWHERE = Path("/facefusion/nowhere")
"""Where the files of a job would be; nothing is looked for there."""


def check_job(rules: StepRules, job: JobRecord, target: Asset, sources: tuple[Asset, ...]) -> None:
    """Refuse a job that no worker could do, whatever its models find.

    Args:
        rules: what steps mean here.
        job: that is asked for.
        target: its target.
        sources: its sources, in order.

    Raises:
        FieldsError: it is one; all fields are named whose faults do not follow from those before.
    """
    # What a processor needs to know is in its code, which comes with OpenCV; a server without jobs does without.
    from facefusion.app.preconditions import conditions  # noqa: PLC0415

    files = JobFiles(
        sources=tuple(NOWHERE / f"source{number}{asset.extension}" for number, asset in enumerate(sources)),
        target=NOWHERE / f"target{target.extension}",
        segments=NOWHERE / "segments",
        output=NOWHERE / f"result{job.extension}",
    )
    info = _info(files.target, target)
    faults: list[FieldFault] = []
    for option, check in conditions(rules.snapshot(job.step, files.target, files.sources, files.output), info):
        try:
            check()
        except FaceFusionError as error:
            field = FIELDS.get(option, f"step.{option}")
            faults.append(FieldFault(field, files.without_paths(str(error))))
            if option == "output_path":
                break  # what follows asks what a result of that name can hold
    if faults:
        raise FieldsError(faults)


def _info(path: Path, asset: Asset) -> MediaInfo:
    """What the engine would know of a target, as far as the conditions ask for it."""
    from facefusion.core.values import Size  # noqa: PLC0415 - NumPy
    from facefusion.media.orientation import Orientation  # noqa: PLC0415
    from facefusion.media.probe import MediaInfo  # noqa: PLC0415 - FFmpeg

    is_moving = kind_of(path) is MediaKind.VIDEO or asset.frames not in (None, 1)
    size = Size(asset.width or 1, asset.height or 1)
    return MediaInfo(
        path,
        MediaKind.VIDEO if is_moving else MediaKind.IMAGE,
        "",
        size,
        size,
        Orientation(),
        pixel_format="",
        bit_depth=8,
        frame_count=asset.frames,
    )
