"""A video target: what is made of it, and the folder in which that is kept until it is whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from facefusion.app.decoding import decoder_card, nvidia_device
from facefusion.app.fingerprint import fingerprint
from facefusion.app.models import Models
from facefusion.app.resources import Resources
from facefusion.config.settings import MiscSettings, PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.stop import StopToken
from facefusion.core.values import Size
from facefusion.media.assemble import Sound
from facefusion.media.codecs import check_encoder, is_nvenc
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.finishing import Finishing
from facefusion.media.frame_image import FRAME_FORMATS
from facefusion.media.probe import MediaInfo
from facefusion.media.settings import DecodingSettings, OutputSettings, WorkflowSettings
from facefusion.media.sound_file import SoundFile
from facefusion.media.space import NOTHING, check_space, needed_bytes
from facefusion.observability.events import EventSink, Notice
from facefusion.pipeline.frames import FrameWork
from facefusion.pipeline.outcome import Processed
from facefusion.pipeline.segments import segment_frames
from facefusion.pipeline.video import process_video
from facefusion.pipeline.video_plan import Trim, VideoPlan
from facefusion.pipeline.work_folder import WorkFolder, address_of, work_root


@dataclass(frozen=True, slots=True)
class VideoJob:
    """What a step asks for where its target is a video."""

    snapshot: Snapshot
    info: MediaInfo
    output: Path
    trim: Trim
    replacement: SoundFile | None
    """Sound that takes the place of the target's."""
    processors: Sequence[str]
    """Names, in order."""
    finishing: Finishing
    """Marks the result."""

    def run(
        self, work: FrameWork, resources: Resources, models: Models, events: EventSink, stop: StopToken
    ) -> Processed:
        """Make the result, going on from what an earlier run of the same step finished.

        Raises:
            FaceFusionError: it failed; nothing lies under the output's name that was not there before.
            Stopped: a stop was requested.
        """
        plan = self.plan(work, resources, models, events)
        for notice in plan.encoding.notices:
            events.emit(Notice(notice))
        with self._folder(self.fingerprint(models, resources, plan.encoding)) as folder:
            for notice in folder.notices:
                events.emit(Notice(notice))
            self._check_space(folder.path, plan, events)
            try:
                return process_video(self.info, plan, folder, work, resources.meter, events, stop)
            except BaseException:
                if folder.promise is not None:
                    events.emit(Notice(folder.promise))
                raise

    @property
    def segment_frames(self) -> int:
        """How many frames a segment has."""
        return segment_frames(self.processors, self.info.size)

    def plan(self, work: FrameWork, resources: Resources, models: Models, events: EventSink) -> VideoPlan:
        """What is made of the video, and how much of it at once.

        Raises:
            OutputError: the container or the encoder cannot hold such pictures.
            ResourceError: the memory limit is too low.
        """
        choice = self.snapshot.get(DecodingSettings).decoder_device
        settings, workflow = self.snapshot.get(OutputSettings), self.snapshot.get(WorkflowSettings)
        frame_format = None if workflow.frame_format is None else FRAME_FORMATS[workflow.frame_format]
        encoding = planned_encoding(self.snapshot, self.info, work.output_size(self.info.size), self.output)
        encoding = replace(encoding, device=nvidia_device(resources.execution))
        if is_nvenc(encoding.encoder):
            check_encoder(encoding.encoder, encoding.device)
        return VideoPlan(
            output=self.output,
            encoding=encoding,
            sound=Sound(settings.sound, self.replacement),
            image_quality=settings.output_image_quality,
            trim=self.trim,
            segment_frames=self.segment_frames,
            together=resources.together,
            window=resources.plan_window(work, models, encoding),
            decoder_threads=resources.decoder_threads,
            decoder_card=decoder_card(choice, self.info, resources.execution, events),
            frame_format=frame_format,
            keep_folder=workflow.keep_temp and frame_format is not None,
            finishing=self.finishing,
        )

    def fingerprint(
        self, models: Models, resources: Resources, encoding: Encoding, *, dated: bool = True
    ) -> Mapping[str, str]:
        """All that decides what segments hold; see :func:`~facefusion.app.fingerprint.fingerprint`."""
        return fingerprint(
            self.snapshot, self.info.path, models, resources.execution, encoding, resources.together, dated=dated
        )

    def _folder(self, traces: Mapping[str, str]) -> WorkFolder:
        return WorkFolder.open(
            work_root(self.snapshot.get(PathsSettings).temp_path),
            address_of(self.info.path, self.output),
            traces,
            resume=not self.snapshot.get(MiscSettings).no_resume,
        )

    def _check_space(self, folder: Path, plan: VideoPlan, events: EventSink) -> None:
        frames = self.trim.count(self.info)
        if frames is None:
            return
        encoding, form = plan.encoding, plan.frame_format
        files = NOTHING if form is None else form.need(encoding.source_size, self.info.bit_depth, frames)
        warning = check_space(
            folder, self.output, needed_bytes(encoding, frames), files, self.finishing.copies(self.output)
        )
        if warning is not None:
            events.emit(Notice(warning, warning=True))


def planned_encoding(snapshot: Snapshot, info: MediaInfo, size: Size, output: Path) -> Encoding:
    """What the encoder is told.

    Args:
        snapshot: the settings in force.
        info: the target.
        size: of the frames that come.
        output: the result; its extension names the container.

    Raises:
        OutputError: the container or the encoder cannot hold such pictures.
    """
    settings = snapshot.get(OutputSettings)
    shown = replace(info, sample_aspect=settings.size_of(output).sample_aspect(info))
    encoder = EncoderSettings(
        settings.output_video_encoder,
        settings.output_video_quality,
        settings.output_video_preset,
        settings.output_video_pixel_format,
    )
    return Encoding.plan(shown, size, encoder, output, settings.output_video_rate)
