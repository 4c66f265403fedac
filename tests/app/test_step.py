"""Whole steps on the demo: results, reports, repeatability, refusals, and what is left behind."""

from __future__ import annotations

import sys
import threading
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from facefusion.app import resources
from facefusion.app.engine import Engine
from facefusion.core.errors import (
    FaceNotFoundError,
    MediaError,
    OptionError,
    ResourceError,
    SetupError,
    Stopped,
    UsageError,
)
from facefusion.core.stop import StopToken
from facefusion.faces.detect.base import ScoreScale
from facefusion.media import codecs
from facefusion.media.segment import Segment, SegmentEncoder
from facefusion.memory.machine import read_machine
from facefusion.observability.events import ModelLoaded, Notice
from facefusion.observability.stages import WAIT_FOR_RESULTS
from tests.app.conftest import SOURCE, TARGET, Run
from tests.media.clips import make_clip
from tests.processors.fakes import RecordingSink

FRAMES = 10


def pictures(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]


def image(path: Path) -> np.ndarray:
    pixels = cv2.imread(str(path))
    assert pixels is not None
    return pixels


def planes(path: Path, count: int) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        decoded = container.decode(video=0)
        return [next(decoded).to_ndarray() for _ in range(count)]


def sound(path: Path) -> list[bytes]:
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(audio=0) if packet.size]


def times(path: Path) -> list[Fraction]:
    with av.open(str(path)) as container:
        return [(frame.pts or 0) * (frame.time_base or Fraction(0)) for frame in container.decode(video=0)]


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target's first frame as an image."""
    path = tmp_path_factory.mktemp("still") / "frame.png"
    cv2.imwrite(str(path), pictures(TARGET)[0])
    return path


def test_a_video_is_swapped_and_keeps_times_and_size(run: Run, tmp_path: Path) -> None:
    report = run(tmp_path / "out.mp4")
    assert (report.frames, report.faces, report.frames_without_face, report.held_frames) == (FRAMES, FRAMES, 0, ())
    assert report.output == str(tmp_path / "out.mp4")
    assert report.models == {
        "yunet": "cpu",
        "face_mesh": "cpu",
        "sface": "cpu",
        "open_nsfw": "cpu",
        "mesh": "code",
    }
    assert report.peak_memory > 0
    assert times(tmp_path / "out.mp4") == times(TARGET)[:FRAMES]
    before, after = pictures(TARGET)[:FRAMES], pictures(tmp_path / "out.mp4")
    assert len(after) == FRAMES
    changed = np.abs(after[0].astype(int) - before[0]).max(axis=2) > 30
    rows, columns = np.nonzero(changed)
    height, width = changed.shape
    assert 0.005 < changed.mean() < 0.15, "a face, not the whole picture"
    assert np.ptp(rows) < 0.7 * height
    assert np.ptp(columns) < 0.5 * width


def test_whole_sound_is_copied_packet_by_packet(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "in.mp4"
    make_clip(target, stamps=range(0, 60 * 512, 512), audio=("aac",))
    run(tmp_path / "out.mp4", target_path=target, trim_frame_end=None, processors=("face_debugger",))
    assert len(sound(target)) > 100
    assert sound(tmp_path / "out.mp4") == sound(target)


def test_what_no_mask_covers_reaches_the_encoder_untouched(run: Run, tmp_path: Path) -> None:
    """Losslessly encoded, every plane is the decoder's outside the face."""
    run(tmp_path / "out.mkv", output_video_quality=100, trim_frame_end=3)
    for before, after in zip(planes(TARGET, 3), planes(tmp_path / "out.mkv", 3), strict=True):
        luma_before, luma_after = before[:720], after[:720]
        assert not np.array_equal(luma_before, luma_after)
        rows, columns = np.nonzero(luma_before != luma_after)
        outside = np.ones(luma_before.shape, bool)
        outside[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] = False
        assert outside.mean() > 0.8
        np.testing.assert_array_equal(luma_before[outside], luma_after[outside])


def test_the_same_input_gives_the_same_bytes_whatever_the_threads(run: Run, tmp_path: Path) -> None:
    run(tmp_path / "one.mp4", execution_thread_count=1)
    run(tmp_path / "two.mp4", execution_thread_count=3, execution_queue_count=2)
    assert (tmp_path / "one.mp4").read_bytes() == (tmp_path / "two.mp4").read_bytes()


def test_the_report_says_how_the_work_was_divided_and_what_was_waited_for(run: Run, tmp_path: Path) -> None:
    report = run(tmp_path / "out.mp4", execution_thread_count=3, execution_queue_count=2)
    threads = report.threads
    assert threads is not None
    assert (threads.workers, threads.together) == (3, 2)
    assert threads.window >= threads.workers + 2
    assert threads.decoder_threads >= 1
    assert set(threads.graph_threads) == {name for name, provider in report.models.items() if provider != "code"}
    assert set(threads.graph_threads.values()) == {1}
    assert threads.gates == {"cpu:0": None}
    assert report.stages[WAIT_FOR_RESULTS] > 0


def test_models_are_loaded_once_however_many_threads(
    run: Run, sink: RecordingSink, engine: Engine, tmp_path: Path
) -> None:
    engine.release_models()
    run(tmp_path / "out.mp4", execution_thread_count=4, processors=("face_swapper", "face_enhancer"), trim_frame_end=4)
    loaded = [event.model for event in sink.events if isinstance(event, ModelLoaded)]
    assert sorted(loaded) == ["face_mesh", "open_nsfw", "sface", "waifu2x_photo_2x", "yunet"]


def test_images_and_videos_in_turn_load_nothing_twice(
    run: Run, sink: RecordingSink, engine: Engine, still: Path, tmp_path: Path
) -> None:
    engine.release_models()

    def loads() -> int:
        return sum(isinstance(event, ModelLoaded) for event in sink.events)

    run(tmp_path / "out.png", target_path=still)
    run(tmp_path / "out.mp4", trim_frame_end=2)
    before = loads()
    run(tmp_path / "out.png", target_path=still)
    run(tmp_path / "out.mp4", trim_frame_end=2)
    assert before >= 4
    assert loads() == before


def test_an_image_is_swapped(run: Run, still: Path, tmp_path: Path) -> None:
    report = run(tmp_path / "out.png", target_path=still)
    assert (report.frames, report.faces) == (1, 1)
    before, after = image(still), image(tmp_path / "out.png")
    changed = (before != after).any(axis=2)
    assert 0.005 < changed.mean() < 0.2


def test_processors_run_in_the_order_given(run: Run, still: Path, tmp_path: Path) -> None:
    """Marks drawn last stay whole; drawn first they are swapped over."""
    run(tmp_path / "last.png", target_path=still, processors=("face_swapper", "face_debugger"))
    run(tmp_path / "first.png", target_path=still, processors=("face_debugger", "face_swapper"))
    green = [int((image(tmp_path / name) == (0, 255, 0)).all(axis=2).sum()) for name in ("last.png", "first.png")]
    assert green[0] > green[1]


def test_a_frame_enhancer_doubles_the_picture(run: Run, tmp_path: Path) -> None:
    small = tmp_path / "small.png"
    cv2.imwrite(str(small), cv2.resize(pictures(TARGET)[0], (160, 90), interpolation=cv2.INTER_AREA))
    report = run(tmp_path / "out.png", target_path=small, processors=("frame_enhancer",))
    assert image(tmp_path / "out.png").shape == (180, 320, 3)
    assert report.models == {"open_nsfw": "cpu", "waifu2x_x2": "cpu"}


def test_a_target_without_a_face_comes_out_as_it_was_and_that_is_said(
    run: Run, sink: RecordingSink, tmp_path: Path
) -> None:
    target = tmp_path / "grey.png"
    cv2.imwrite(str(target), np.full((120, 160, 3), 128, np.uint8))
    report = run(tmp_path / "out.png", target_path=target)
    assert (report.faces, report.frames_without_face) == (0, 1)
    assert (image(tmp_path / "out.png") == 128).all()
    warnings = [event.message for event in sink.events if isinstance(event, Notice) and event.warning]
    assert warnings == [f"No face to work on was found in {target}, so the result shows what the target shows."]


def test_where_none_of_the_faces_is_meant_it_is_said_how_many_there_are_and_by_what(
    run: Run, sink: RecordingSink, still: Path, tmp_path: Path
) -> None:
    run(tmp_path / "out.png", target_path=still, reference_face_distance=0.0)
    items = (f"{SOURCE}={SOURCE}",)
    run(tmp_path / "out.mp4", trim_frame_end=2, source_paths=(), face_map=items)
    warnings = [event.message for event in sink.events if isinstance(event, Notice) and event.warning]
    assert warnings == [
        f"Of 1 face found in {still}, none is meant by reference_face_distance = 0.0, "
        "so the result shows what the target shows.",
        f"Of 2 faces found in {TARGET}, counted anew in each frame, none is meant by face_map = {items[0]}, "
        "reference_face_distance = 0.3, so the result shows what the target shows.",
    ]


def test_a_source_without_a_face_is_named(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "wall.png"
    cv2.imwrite(str(source), np.full((120, 160, 3), 128, np.uint8))
    with pytest.raises(FaceNotFoundError, match=r"No face was found in the source .*wall\.png"):
        run(tmp_path / "out.mp4", source_paths=(source,))
    assert list(tmp_path.iterdir()) == [source]


def test_a_source_face_in_doubt_is_said(run: Run, sink: RecordingSink, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(ScoreScale, "of", classmethod(lambda scale, card: scale(0.92, 0.8, 0.8, doubtful=1.0)))
    run(tmp_path / "out.mp4", trim_frame_end=1)
    warnings = [event.message for event in sink.events if isinstance(event, Notice) and event.warning]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"The face found in {SOURCE} is in doubt (score 0.")


def test_a_swap_without_a_source_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="face_swapper needs a source face"):
        run(tmp_path / "out.mp4", source_paths=())


def test_a_target_that_is_no_media_is_refused(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "letter.mp4"
    target.write_text("Dear Sir or Madam")
    with pytest.raises(MediaError, match=r"letter\.mp4"):
        run(tmp_path / "out.mp4", target_path=target)
    assert list(tmp_path.iterdir()) == [target]


def test_an_unknown_processor_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="face_swapper"):
        run(tmp_path / "out.mp4", processors=("face_swaper",))


def test_a_range_without_frames_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="has 125 frames"):
        run(tmp_path / "out.mp4", trim_frame_start=5000, trim_frame_end=None)
    with pytest.raises(
        UsageError, match=r"^the part from frame 6 to before 5 holds no frame\. Choose a --trim-frame-end"
    ):
        run(tmp_path / "out.mp4", trim_frame_start=6, trim_frame_end=5)
    assert list(tmp_path.iterdir()) == []


def test_a_frame_number_below_zero_means_the_first(run: Run, tmp_path: Path) -> None:
    processors = ("face_debugger",)
    run(tmp_path / "all.mp4", trim_frame_end=2, processors=processors)
    assert run(tmp_path / "out.mp4", trim_frame_start=-3, trim_frame_end=2, processors=processors).frames == 2
    assert all(map(np.array_equal, pictures(tmp_path / "out.mp4"), pictures(tmp_path / "all.mp4")))


def test_what_the_target_holds_counts_and_not_its_name(run: Run, still: Path, tmp_path: Path) -> None:
    video, photo = tmp_path / "video.png", tmp_path / "photo.mp4"
    video.write_bytes(TARGET.read_bytes())
    photo.write_bytes(still.read_bytes())
    processors = ("face_debugger",)
    assert run(tmp_path / "out.mp4", target_path=video, trim_frame_end=2, processors=processors).frames == 2
    assert run(tmp_path / "out.png", target_path=photo, processors=processors).frames == 1
    with pytest.raises(UsageError, match=r"the extension \.jpg does not name a format for the video .*video\.png\."):
        run(tmp_path / "no.jpg", target_path=video)
    assert not (tmp_path / "no.jpg").exists()


def test_an_encoder_that_is_not_there_is_refused_before_work_begins(
    run: Run, sink: RecordingSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codecs, "usable_encoders", lambda: ("libx264",))
    monkeypatch.setattr(codecs, "external_encoders", frozenset)
    monkeypatch.setattr(codecs, "external_encoder_works", lambda _: False)
    with pytest.raises(SetupError, match=r"^the FFmpeg in use has no video encoder hevc_qsv, .*Choose another"):
        run(tmp_path / "out.mp4", output_video_encoder="hevc_qsv")
    assert sink.events == []
    # A container that cannot hold it gets one that it can.
    monkeypatch.setattr(codecs, "usable_encoders", lambda: ("libvpx-vp9",))
    report = run(tmp_path / "out.webm", output_video_encoder="hevc_qsv", trim_frame_end=2)
    assert ".webm cannot hold hevc_qsv; libvpx-vp9 is used instead." in report.notices


def test_a_limit_that_holds_no_window_is_refused_before_work_begins(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "huge.mp4"
    with av.open(str(target), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 8192, 4320, "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.full((4320 * 3 // 2, 8192), 128, np.uint8), format="yuv420p")
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(ResourceError, match=r"set --system-memory-limit \d"):
        run(tmp_path / "out.mp4", target_path=target, system_memory_limit=1, trim_frame_end=None)
    assert list(tmp_path.iterdir()) == [target]


def test_memory_that_runs_out_late_is_an_error_of_the_tree_and_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(_writer: SegmentEncoder) -> Segment:
        raise MemoryError

    monkeypatch.setattr(SegmentEncoder, "finish", exhausted)
    with pytest.raises(ResourceError, match=r"^there is no memory left for this step\. Raise --system-memory-limit"):
        run(tmp_path / "out.mp4", trim_frame_end=2)
    assert list(tmp_path.iterdir()) == []


def test_a_stop_in_the_middle_leaves_nothing(run: Run, tmp_path: Path) -> None:
    stop = StopToken()
    timer = threading.Timer(0.8, lambda: stop.request("test"))
    timer.start()
    (tmp_path / "out.mp4").write_bytes(b"an earlier result")
    with pytest.raises(Stopped):
        run(tmp_path / "out.mp4", stop, trim_frame_end=None, processors=("face_swapper", "face_enhancer"))
    timer.join()
    assert [path.name for path in tmp_path.iterdir()] == ["out.mp4"]
    assert (tmp_path / "out.mp4").read_bytes() == b"an earlier result"


def test_trimmed_video_begins_with_the_frame_asked_for(run: Run, tmp_path: Path) -> None:
    run(
        tmp_path / "out.mkv",
        trim_frame_start=7,
        trim_frame_end=12,
        processors=("face_debugger",),
        face_debugger_items=("bounding-box",),
        output_video_quality=100,
    )
    after = planes(tmp_path / "out.mkv", 5)
    expected = planes(TARGET, 12)[7:]
    for got, wanted in zip(after, expected, strict=True):
        assert (got != wanted).mean() < 0.02
    assert times(tmp_path / "out.mkv")[0] < Fraction(1, 50), "at most the part of a sound packet before the cut"


def test_several_photos_of_one_person_are_merged(run: Run, tmp_path: Path) -> None:
    mirrored = tmp_path / "mirrored.png"
    cv2.imwrite(str(mirrored), image(SOURCE)[:, ::-1])
    report = run(tmp_path / "out.mp4", source_paths=(SOURCE, mirrored), trim_frame_end=2)
    assert (report.frames, report.faces) == (2, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": f"{256 << 20}\n"},
        {
            "proc/self/cgroup": "4:memory:/docker/7\n",
            "sys/fs/cgroup/memory/docker/7/memory.limit_in_bytes": f"{256 << 20}\n",
        },
    ],
    ids=["version 2", "version 1"],
)
@pytest.mark.parametrize("limit", [0, 8])
def test_a_container_is_the_machine(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], limit: float
) -> None:
    root = tmp_path / "root"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(resources, "read_machine", lambda: read_machine(root))
    with pytest.raises(ResourceError, match=r"^this machine has 0\.2 GB of memory for the run, too little .*It takes"):
        run(tmp_path / "out.mp4", system_memory_limit=limit)
    assert list(tmp_path.iterdir()) == [root]
