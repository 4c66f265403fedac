"""What a step may use of this machine, settled before its first frame."""

from __future__ import annotations

import gc
import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

import cv2

from facefusion.app.models import Models
from facefusion.app.sessions import Sessions
from facefusion.config.state import Snapshot
from facefusion.core.formats import MediaKind
from facefusion.core.graph import PICTURES_AT_ONCE
from facefusion.core.report import ThreadPlan
from facefusion.core.values import Size
from facefusion.inference.session import KEPT_WEIGHTS
from facefusion.inference.settings import ExecutionSettings
from facefusion.inference.video_memory import VideoMemoryMeter
from facefusion.media.encoder import PRESETS, EncoderSettings, encoder_options
from facefusion.media.encoding import Encoding
from facefusion.media.frame_image import FRAME_FORMATS
from facefusion.media.probe import MediaInfo
from facefusion.media.settings import WorkflowSettings
from facefusion.media.working_memory import decoder_bytes, encoded_frame_bytes, encoder_bytes
from facefusion.memory.budget import Instead, MemoryBudget, MemoryNeed, automatic_workers, least_bytes, session_bytes
from facefusion.memory.limits import hard_limit
from facefusion.memory.machine import Machine, read_machine
from facefusion.memory.mapped import unread_bytes
from facefusion.memory.meter import MemoryMeter, resident_bytes
from facefusion.memory.release import give_back, suit_frames
from facefusion.memory.settings import MemorySettings
from facefusion.observability.events import EventSink, Notice
from facefusion.pipeline.frames import FrameWork
from facefusion.pipeline.window import WindowPlan

COPIES_PER_FRAME = 2
"""The decoder's planes and the copy that processors write into."""

WORKER_MEGABYTES = 16
"""Crops, masks and tensors of one worker for each picture that goes through a graph, beside what its models say."""

MOST_DECODER_THREADS = 8
"""Each holds frames of its own. Eight decode 2160p at some 300 frames/s, more than is ever worked on."""

AUTOMATIC_TOGETHER = 1
"""Frames that are worked on together where the user leaves it to us: on the processor more gain nothing."""

MEGABYTE = 1 << 20

LARGE_FRAME = 2 * MEGABYTE
"""Bytes, as of 1080p. A decoder of such frames is worth the 20 ms that it takes to look for all that is unreachable."""

PREPARING = 32 * MEGABYTE
"""What else stays until the first frame, before graphs are loaded: 7 to 25 MiB were measured with the embedded models,
of the source photo, of processors' own tables, and of weights that ONNX Runtime lays out wider than their file."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of the pictures of a step."""

    processed: Size
    """As the last processor leaves them."""
    result: Size


class Resources:
    """Pool, limits and meter of one step.

    Args:
        snapshot: the settings in force.
        info: the target.
        sessions: holds the pool from step to step.
        events: told which limits could not be set.
        stack: closes the meter and lifts the limits.

    Raises:
        ProviderError: no execution provider can be had.
    """

    def __init__(
        self, snapshot: Snapshot, info: MediaInfo, sessions: Sessions, events: EventSink, stack: ExitStack
    ) -> None:
        self._settings = snapshot.get(ExecutionSettings)
        self._info = info
        self._frame_format = snapshot.get(WorkflowSettings).frame_format
        self._is_video = info.kind is MediaKind.VIDEO
        self._machine = read_machine()
        self.execution, self.pool = sessions.open(snapshot, events)
        cv2.setNumThreads(threads_per_run(info, self._machine))
        suit_frames(info.size)
        limit_gb = snapshot.get(MemorySettings).system_memory_limit
        self._budget = MemoryBudget(limit_gb, self._machine, resident_bytes())
        if self._budget.chosen:
            refusal = stack.enter_context(hard_limit(self._budget.limit, uses_gpu=self.execution.on_gpu))
            if refusal:
                events.emit(Notice(refusal, warning=True))
        self.meter = stack.enter_context(MemoryMeter(self._budget.limit))
        self.video_meter = stack.enter_context(VideoMemoryMeter(device.card for device in self.execution.devices))
        self._window: WindowPlan | None = None

    @property
    def decoder_threads(self) -> int:
        """Threads for the decoder; the encoder's are part of the result and so not the machine's to say.

        One for two cores: decoding is the least part of the work, and never waited for with so many. A single thread
        needs no frames held back until those that they refer to are known to be sound.
        """
        return min(max(1, math.floor(self._machine.cores / 2)), MOST_DECODER_THREADS)

    @property
    def together(self) -> int:
        """Frames that are worked on together. It follows from the settings alone, since results may depend on it."""
        return (self._settings.execution_queue_count or AUTOMATIC_TOGETHER) if self._is_video else 1

    def check(self, models: Models, sizes: Sizes, encoding: Encoding | None) -> None:
        """Make sure that the limit may hold the step, before graphs are loaded and frames decoded.

        Args:
            models: of the step.
            sizes: of the pictures.
            encoding: of the result, where it is a video.

        Raises:
            ResourceError: it does not, even if the graphs take no more than their weights.
        """
        need = self._need(models, sizes, encoding)
        weights = 0 if self.execution.on_gpu else sum(models.bytes_to_load(self.pool))
        if least_bytes(replace(need, models=weights)) > self._budget.limit:
            # What is named has to be enough once all of it is there.
            self._budget.check(replace(need, base=need.base + PREPARING))

    def plan_window(self, work: FrameWork, models: Models, encoding: Encoding | None = None) -> WindowPlan:
        """Workers and groups of frames that fit into the memory limit.

        Args:
            work: on frames; says of which size the result's are.
            models: of the step.
            encoding: of the result, where it is a video.

        Raises:
            ResourceError: the smallest window does not fit.
        """
        on_gpu = self.execution.on_gpu
        workers = self._settings.execution_thread_count or automatic_workers(self._machine, on_gpu=on_gpu)
        sizes = Sizes(work.processed_size(self._info.size), work.output_size(self._info.size))
        plan = self._budget.plan(self._need(models, sizes, encoding), workers if self._is_video else 1)
        self._window = WindowPlan(window=plan.window, workers=plan.workers)
        return self._window

    def threads(self, models: Models) -> ThreadPlan | None:
        """How the work was divided; none where no window was planned."""
        if self._window is None:
            return None
        return ThreadPlan(
            workers=self._window.workers,
            window=self._window.window,
            together=self.together,
            decoder_threads=self.decoder_threads if self._is_video else 0,
            graph_threads={file.name: file.threads for file in models.files()},
            gates=self.pool.gate_slots(),
        )

    def _held(self) -> int:
        """Bytes that the process holds, and those that it has mapped and will read."""
        if frame_bytes(self._info, self._info.size) >= LARGE_FRAME:
            # PyAV's objects refer to each other, so a decoder that looked at the target is there until the next look.
            gc.collect()
        give_back()  # what stayed from loading and from the sources
        return self.meter.sample() + unread_bytes(KEPT_WEIGHTS)

    def _need(self, models: Models, sizes: Sizes, encoding: Encoding | None) -> MemoryNeed:
        output_size, between = sizes.result, sizes.processed
        frame = frame_bytes(self._info, self._info.size)
        result = 0 if output_size == self._info.size else frame_bytes(self._info, output_size)
        passing = 0 if between in (self._info.size, output_size) else frame_bytes(self._info, between)
        written = 0
        if self._is_video and self._frame_format is not None:
            written = FRAME_FORMATS[self._frame_format].working_bytes(output_size, self._info.bit_depth)
        in_a_run = min(self.together, PICTURES_AT_ONCE)
        return MemoryNeed(
            frame=COPIES_PER_FRAME * frame + result,
            together=self.together,
            worker=(in_a_run * WORKER_MEGABYTES + models.worker_megabytes(self.together)) * MEGABYTE
            + self.together * passing
            + written,
            models=sum(map(session_bytes, models.bytes_to_load(self.pool))),
            media=0 if encoding is None else self._coding_bytes(encoding),
            base=self._held(),
            peak=self.meter.peak,
            instead=() if encoding is None else quicker_presets(encoding),
        )

    def _coding_bytes(self, encoding: Encoding) -> int:
        decoded = decoder_bytes(self._info.size, frame_bytes(self._info, self._info.size), self.decoder_threads)
        return decoded + _encoder_bytes(encoding, dict(encoding.options))


def _encoder_bytes(encoding: Encoding, options: Mapping[str, str]) -> int:
    return encoder_bytes(encoding.encoder, options, encoded_frame_bytes(encoding.pixel_format, encoding.size))


def quicker_presets(encoding: Encoding) -> tuple[Instead, ...]:
    """Presets that take less memory than that of the encoding, the nearest first."""
    told = dict(encoding.options)
    taken = _encoder_bytes(encoding, told)
    found = []
    for preset in reversed(PRESETS):
        settings = EncoderSettings(encoding.encoder, preset=preset)
        saved = taken - _encoder_bytes(encoding, told | encoder_options(settings))
        if saved > 0:
            found.append(Instead(f"--output-video-preset {preset}", saved))
    return tuple(found)


def threads_per_run(info: MediaInfo, machine: Machine) -> int:
    """Processor threads for one run of a graph or kernel.

    Workers run side by side in a video; a single picture has all cores to itself.
    """
    return 1 if info.kind is MediaKind.VIDEO else max(1, round(machine.cores))


def frame_bytes(info: MediaInfo, size: Size) -> int:
    """Bytes of one frame of ``size`` in the pixel format of ``info``."""
    samples = 1.5 if "420" in info.pixel_format or info.pixel_format.startswith("nv") else 3.0
    return math.ceil(size.width * size.height * samples) * (2 if info.bit_depth > 8 else 1)
