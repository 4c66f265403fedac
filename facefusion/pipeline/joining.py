"""Making the result of finished segments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from facefusion.core.formats import is_moving_image
from facefusion.core.stop import StopToken
from facefusion.media.animate import Drawing, animate
from facefusion.media.assemble import Cut, assemble
from facefusion.media.damage import Damage
from facefusion.media.probe import MediaInfo
from facefusion.observability.events import EventSink, Notice
from facefusion.pipeline.frames import FrameWork
from facefusion.pipeline.manifest import Manifest
from facefusion.pipeline.outcome import Outcome
from facefusion.pipeline.video_plan import VideoPlan


def outcome_of(manifests: Iterable[Manifest]) -> Outcome:
    """What came out of segments together."""
    total = Outcome()
    for manifest in manifests:
        total.add(manifest.outcome)
    return total


def join_segments(
    info: MediaInfo, plan: VideoPlan, manifests: Sequence[Manifest], work: FrameWork, stop: StopToken
) -> tuple[str, ...]:
    """Say the last word on the target's content, and put the segments together under the output's name.

    Args:
        info: the target.
        plan: what is made of it.
        manifests: of all segments, in order; at least one.
        work: on the frames.
        stop: asked now and then.

    Returns:
        What the user should know.

    Raises:
        ContentRefusedError: the content filter refused the target.
        SigningError: it cannot be signed; the message says where it is kept.
        OutputError: the result cannot be written, or reads back as something else.
        ResourceError: the disk is full.
        Stopped: a stop was requested.
    """
    last = manifests[-1].checkpoint
    work.content.restore(last.content)
    work.finish()
    stop.check()
    cut = Cut(
        last.origin if plan.trim.start else None,
        last.end if plan.trim.end is not None else None,
    )
    segments = [manifest.segment for manifest in manifests if manifest.segment is not None]
    with work.clock.measure("join"):
        if is_moving_image(plan.output):
            drawing = Drawing(plan.image_quality, plan.segments.start)
            notices = animate(plan.output, segments, plan.encoding, info, drawing, stop, plan.finishing)
        else:
            notices = assemble(plan.output, segments, plan.encoding, info, cut, stop, plan.sound, plan.finishing)
    outcome = outcome_of(manifests)
    dropped, repeated = outcome.dropped_frames, outcome.repeated_frames
    if dropped or repeated:
        rate = float(plan.encoding.frame_rate)
        told = f"At {rate:.6g} frames per second {dropped} frames are left out and {repeated} are shown again."
        return (*notices, told)
    return notices


def tell_damage(info: MediaInfo, damage: Damage, events: EventSink) -> None:
    """Warn of what was found in the target."""
    if damage.notice is not None:
        events.emit(Notice(f"{info.path}: {damage.notice}.", warning=True))
