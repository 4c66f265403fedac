"""One step from settings to report: the list of what happens, in order."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from facefusion.app.calibration import thread_plans
from facefusion.app.content import content_filter, second_models
from facefusion.app.faces import analyser_recipe, build_analyser, build_masker
from facefusion.app.label import labels_of
from facefusion.app.marking import ResultMarking
from facefusion.app.models import Models, Runners, open_store
from facefusion.app.narrowing import narrowed, one_at_a_time, together_of
from facefusion.app.preconditions import (
    Chosen,
    check_output,
    check_selection,
    chosen_processors,
    needs_faces,
    trim_of,
    wanting_sources,
)
from facefusion.app.recollection import Recollection
from facefusion.app.resources import Resources, Sizes, threads_per_run
from facefusion.app.selection import face_selectors, nobody
from facefusion.app.sessions import Sessions
from facefusion.app.sources import Photos, read_sources, source_photos
from facefusion.app.step_models import step_models
from facefusion.app.subject import Subject, face_finder
from facefusion.app.video import VideoJob, planned_encoding
from facefusion.config.settings import MiscSettings, PathsSettings
from facefusion.config.state import Snapshot
from facefusion.content.analyse import ContentAnalyser
from facefusion.core.errors import ResourceError, UsageError, VideoMemoryError
from facefusion.core.formats import MediaKind, is_moving_image, kind_of
from facefusion.core.graph import PICTURES_AT_ONCE
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.core.values import Size
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.bench import Bench
from facefusion.faces.mask.base import MaskUse
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.inference.interruption import Interruption
from facefusion.media.codecs import check_encoder
from facefusion.media.container import container_of
from facefusion.media.encoding import Encoding
from facefusion.media.finishing import Finishing
from facefusion.media.output_size import OutputSize
from facefusion.media.settings import OutputSettings, WorkflowSettings
from facefusion.media.sound import check_sound_encoder
from facefusion.media.sound_file import SoundFile, probe_sound
from facefusion.memory.budget import LESS
from facefusion.memory.machine import read_machine
from facefusion.observability.events import Event, EventSink, Fanout, Notice
from facefusion.observability.stages import StageClock
from facefusion.pipeline.frames import FrameWork
from facefusion.pipeline.image import process_image
from facefusion.pipeline.outcome import Processed
from facefusion.pipeline.sighting import FaceFinder, NoFaces
from facefusion.processors.base import Processor, Source, Workshop


def run_step(snapshot: Snapshot, sessions: Sessions, events: EventSink, stop: StopToken) -> RunReport:
    """Process one image or video.

    Raises:
        FaceFusionError: it failed; no output was left behind.
        Stopped: a stop was requested; no output was left behind.
    """
    together = together_of(snapshot)
    try:
        with opened_step(snapshot, sessions, events, stop) as step:
            return step.run()
    except VideoMemoryError:
        if together == 1:
            raise
    # Past the error, which holds what the step had loaded.
    sessions.close()
    with opened_step(one_at_a_time(snapshot), sessions, events, stop) as step:
        step.events.emit(Notice(narrowed(together), warning=True))
        return step.run()


@contextmanager
def opened_step(snapshot: Snapshot, sessions: Sessions, events: EventSink, stop: StopToken) -> Iterator[Step]:
    """A step that nothing was done of yet; what it takes is given back at the end.

    Raises:
        ResourceError: there is no memory left for it.
    """
    try:
        with ExitStack() as stack:
            yield Step(snapshot, sessions, events, stop, stack)
    except MemoryError as error:
        raise ResourceError("there is no memory left for this step", LESS) from error


@dataclass(frozen=True, slots=True)
class Ready:
    """A step whose models are there, and whose frames may come."""

    subject: Subject
    output: Path
    work: FrameWork
    content: ContentAnalyser
    resources: Resources
    models: Models
    marking: ResultMarking
    finishing: Finishing
    """Marks the result."""
    begun: float
    """When it was ready, by the clock of :func:`time.perf_counter`."""


class Step:
    """What the parts of a step share while it is put together."""

    def __init__(
        self, snapshot: Snapshot, sessions: Sessions, events: EventSink, stop: StopToken, stack: ExitStack
    ) -> None:
        self._started = time.perf_counter()
        self._snapshot = snapshot
        self._sessions = sessions
        self._told = _Notices()
        self._events = Fanout((events, self._told))
        self._stop = stop
        self._stack = stack
        self._clock = StageClock()
        self._paths = snapshot.get(PathsSettings)
        self._trim = trim_of(snapshot)
        self._chosen = chosen_processors(snapshot)

    def run(self) -> RunReport:
        """All of it: from the settings to the result in place."""
        ready = self.prepare()
        processed = self._process(ready)
        return self.report(ready, processed)

    def prepare(self, *, sealing: bool = True) -> Ready:
        """Look at the target, refuse what cannot be done, and load models; no frame is worked on yet.

        Args:
            sealing: whether the result is made here, and signed.
        """
        target, output = self._required()
        photos = self._photos()
        subject = Subject.open(target)
        self._check_output(subject, output)
        self._check_selection()
        self._tell(subject.info.notices)
        marking = self._marking(subject, photos, output, sealing=sealing)
        store = open_store(self._snapshot, self._events, self._stop)
        threads = threads_per_run(subject.info, read_machine())
        plans = thread_plans() if subject.still is None else None
        models = Models(store, self._model_choices(), self._events, threads, plans, second_models(self._snapshot))
        self._stop.check()
        resources = Resources(self._snapshot, subject.info, self._sessions, self._events, self._stack)
        resources.pool.expect(models.files(), min(resources.together, PICTURES_AT_ONCE))
        resources.check(models, *self._foreseen(subject, models, output))
        resources.pool.preload(models.files())
        runners = models.runners(resources.pool, self._stack.enter_context(Interruption(self._stop)))
        bench = Bench(runners, models.companions)
        analyser = build_analyser(self._snapshot, models.cards, bench) if self._needs_faces() else None
        recollection = Recollection(self._sessions.remembered, analyser_recipe(self._snapshot, models.digests))
        sources = () if analyser is None else read_sources(photos, analyser, self._events, recollection)
        finder = self._finder(subject, analyser, sources, recollection)
        content = self._stack.enter_context(
            content_filter(self._snapshot, subject, self._trim, models, runners, self._events, self._clock)
        )
        work = self._work(subject, models, runners, finder, sources, output, content)
        work.check_label(subject.target.size)
        resources.pool.release_unneeded(models.files(self._kinds_per_frame()))
        self._stop.check()
        resources.pool.tally.clear()
        finishing = marking.finishing(self._chosen, self._snapshot, models, self._stop)
        return Ready(subject, output, work, content, resources, models, marking, finishing, time.perf_counter())

    def report(self, ready: Ready, processed: Processed) -> RunReport:
        """What became of the step, once its result is in place."""
        self._tell(processed.notices)
        outcome, models, resources = processed.outcome, ready.models, ready.resources
        if self._needs_faces() and outcome.faces == 0:
            self._events.emit(Notice(nobody(ready.subject, self._snapshot, outcome.faces_found), warning=True))
        return RunReport(
            output=str(ready.output),
            frames=outcome.frames,
            faces=outcome.faces,
            frames_without_face=outcome.frames_without_face if self._needs_faces() else 0,
            held_frames=tuple(outcome.held_frames),
            seconds=time.perf_counter() - ready.begun,
            start_up_seconds=ready.begun - self._started,
            peak_memory=resources.meter.peak,
            peak_video_memory=resources.video_meter.peak,
            models=models.providers(resources.pool),
            stages=self._clock.seconds(),
            processor_seconds=self._clock.processor_seconds(),
            notices=self.notices,
            model_hashes=models.digests,
            faces_found=outcome.faces_found if self._needs_faces() else None,
            dropped_frames=outcome.dropped_frames,
            repeated_frames=outcome.repeated_frames,
            damaged_frames=processed.damage.frames,
            lost_frames=processed.damage.lost,
            resumed_frames=processed.resumed,
            threads=resources.threads(models),
            content=ready.content.report,
            marking=ready.marking.report(),
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user was told so far."""
        return self._told.messages

    @property
    def clock(self) -> StageClock:
        """Counts the seconds of each stage."""
        return self._clock

    @property
    def events(self) -> EventSink:
        """Told of what happens; notices are kept for the report."""
        return self._events

    def video(self, ready: Ready) -> VideoJob:
        """What is asked for where the target is a video."""
        names = [chosen.entry.name for chosen in self._chosen]
        return VideoJob(
            self._snapshot, ready.subject.info, ready.output, self._trim, self._replacement, names, ready.finishing
        )

    def _marking(self, subject: Subject, photos: Photos, output: Path, *, sealing: bool) -> ResultMarking:
        """What the result is to say of itself; see :meth:`~facefusion.app.marking.ResultMarking.open`."""
        marking = ResultMarking.open(
            self._snapshot,
            self._chosen,
            subject.info.path,
            dict.fromkeys(path for person in photos for path in person),
            output,
            self._events,
            is_moving=subject.still is None,
            sealing=sealing,
        )
        self._stack.callback(marking.close)
        return marking

    def _required(self) -> tuple[Path, Path]:
        target, output = self._paths.target_path, self._paths.output_path
        if target is None or output is None:
            raise UsageError("a step needs a target and an output", "Give --target-path and --output-path.")
        return target, output

    def _check_output(self, subject: Subject, output: Path) -> None:
        """Refuse what cannot be written before models are fetched.

        Raises:
            UsageError: the output's extension or the workflow does not fit the target, or no part of it is meant.
            SetupError: the encoder of the picture or of the sound cannot be had here.
        """
        check_output(self._snapshot, subject.info, output)
        self._tell(self._snapshot.get(WorkflowSettings).notices(subject.info.kind))
        if subject.still is None:
            if not is_moving_image(output):
                settings = self._snapshot.get(OutputSettings)
                container = container_of(output)
                check_encoder(container.encoder_for(settings.output_video_encoder))
                check_sound_encoder(container.sound.encoder_for(settings.output_audio_encoder))
            _ = self._replacement

    def _wanted_size(self, output: Path) -> OutputSize:
        return self._snapshot.get(OutputSettings).size_of(output)

    def _check_selection(self) -> None:
        """Look at the settings that say whom and what of them to work on, before anything is fetched.

        Raises:
            UsageError: they let nobody through, or nothing of anybody.
        """
        check_selection(self._snapshot, self._chosen)
        if self._snapshot.get(FaceSelectorSettings).face_map and not self._needs_faces():
            message = "--face-map has no effect: none of the chosen processors works on faces."
            self._events.emit(Notice(message, warning=True))

    def _needs_faces(self) -> bool:
        return needs_faces(self._chosen)

    @cached_property
    def _replacement(self) -> SoundFile | None:
        """The first sound among the sources, which takes the place of the target's.

        Raises:
            MediaError: it cannot be read.
        """
        files = (path for path in self._paths.source_paths if kind_of(path) is MediaKind.AUDIO)
        return next((probe_sound(path) for path in files), None)

    def _photos(self) -> Photos:
        """Photos of sources, where a processor or a filter of faces wants any.

        Raises:
            UsageError: see :func:`~facefusion.app.sources.source_photos`.
        """
        return source_photos(self._snapshot, wanting_sources(self._snapshot, self._chosen))

    def _model_choices(self) -> dict[str, str]:
        return step_models(self._snapshot, self._chosen)

    def _masks(self, chosen: Chosen) -> MaskUse:
        """Those that a processor heeds."""
        return chosen.masks(self._snapshot)

    def _kinds_per_frame(self) -> tuple[str, ...]:
        """Kinds of models that frames need; what only sources needed may go."""
        return tuple(self._model_choices())

    def _work(
        self,
        subject: Subject,
        models: Models,
        runners: Runners,
        finder: FaceFinder,
        sources: tuple[Source, ...],
        output: Path,
        content: ContentAnalyser,
    ) -> FrameWork:
        """Put the work on a frame together: content filter, faces, processors."""
        return FrameWork(
            [self._build(chosen, models, runners, sources, subject) for chosen in self._chosen],
            finder,
            content,
            self._events,
            self._clock,
            halt_on_error=self._snapshot.get(MiscSettings).halt_on_error,
            final_size=self._wanted_size(output).of(subject.info),
            label=labels_of(self._snapshot),
        )

    def _finder(
        self,
        subject: Subject,
        analyser: FaceAnalyser | None,
        sources: tuple[Source, ...],
        recollection: Recollection,
    ) -> FaceFinder:
        if analyser is None:
            return NoFaces()
        first = self._trim.start or 0
        selectors = face_selectors(subject, self._snapshot, analyser, first, self._events, recollection, sources)
        return face_finder(subject, self._snapshot, analyser, selectors)

    def _build(
        self, chosen: Chosen, models: Models, runners: Runners, sources: tuple[Source, ...], subject: Subject
    ) -> Processor:
        workshop = Workshop(
            settings=self._snapshot.get(chosen.entry.settings),
            cards=models.cards,
            runner=runners,
            companions=models.companions,
            sources=sources,
            target=subject.target,
            events=self._events,
            masker=build_masker(self._snapshot, self._masks(chosen), models.cards, Bench(runners, models.companions)),
            remembered=self._sessions.remembered,
        )
        return chosen.kind.build(workshop)

    def _foreseen(self, subject: Subject, models: Models, output: Path) -> tuple[Sizes, Encoding | None]:
        """What will come out, as far as that is known before any processor is built."""
        size = subject.info.size
        scale = math.prod(int(card.number("scale", 1)) for card in models.cards.values())
        processed = Size(size.width * scale, size.height * scale)
        result = self._wanted_size(output).of(subject.info) or processed
        if subject.still is not None:
            return Sizes(processed, result), None
        return Sizes(processed, result), planned_encoding(self._snapshot, subject.info, result, output)

    def _process(self, ready: Ready) -> Processed:
        work, resources, models = ready.work, ready.resources, ready.models
        still = ready.subject.still
        if still is None:
            return self.video(ready).run(work, resources, models, self._events, self._stop)
        resources.plan_window(work, models)
        return process_image(
            still.picture,
            still.details,
            ready.output,
            work,
            quality=self._snapshot.get(OutputSettings).output_image_quality,
            finishing=ready.finishing,
            events=self._events,
            stop=self._stop,
        )

    def _tell(self, notices: Sequence[str]) -> None:
        for notice in notices:
            self._events.emit(Notice(notice))


class _Notices:
    """Keeps what the user was told, for the report."""

    def __init__(self) -> None:
        self._messages: dict[str, None] = {}

    @property
    def messages(self) -> tuple[str, ...]:
        """Each message once, in order."""
        return tuple(self._messages)

    def emit(self, event: Event) -> None:
        if isinstance(event, Notice):
            self._messages[event.message] = None
