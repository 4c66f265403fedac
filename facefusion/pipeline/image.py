"""Processing one image."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from facefusion.core.report import NotKept
from facefusion.core.stop import StopToken
from facefusion.core.values import Frame, Picture
from facefusion.media.finishing import AS_WRITTEN, Finishing
from facefusion.media.image import ImageDetails, write_image
from facefusion.observability.events import EventSink, StageFinished, StageProgress, StageStarted
from facefusion.pipeline.frames import FrameTask, FrameWork
from facefusion.pipeline.outcome import Outcome, Processed


def process_image(
    picture: Picture,
    details: ImageDetails,
    output: Path,
    work: FrameWork,
    *,
    quality: int,
    finishing: Finishing = AS_WRITTEN,
    events: EventSink,
    stop: StopToken,
) -> Processed:
    """Run the processors over a picture and write it.

    Raises:
        ContentRefusedError: the content filter refused it.
        SigningError: it cannot be signed; the message says where it is kept.
        OutputError: the result cannot be written, or nothing could be done to the picture.
        Stopped: a stop was requested.
    """
    events.emit(StageStarted("process", 1))
    outcome = Outcome()
    complete = False
    try:
        frame = Frame(0, Fraction(0), picture)
        tasks = [FrameTask(frame, work.follow(frame, work.strand()))]
        work.read(tasks)
        work.observe(tasks)
        (result,) = work.process(tasks)
        outcome.count(result)
        outcome.check(output)
        work.finish()
        stop.check()
        with work.clock.measure("encode"):
            notices = write_image(
                result.frame.picture, output, quality=quality, details=details, finishing=finishing, stop=stop
            )
        events.emit(StageProgress())
        complete = True
    finally:
        events.emit(StageFinished(complete))
    return Processed(outcome, notices=tuple(NotKept(notice) for notice in notices))
