"""Options reach the work: each is set in a whole step, and what comes out shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from facefusion.app.faces import build_tracker
from facefusion.core.errors import ModelError, OptionError, PastEndError, UsageError
from facefusion.faces.track import TrackerLimits
from tests.app.conftest import TARGET, Run, settings
from tests.faces.stage import Troupe

Make = Callable[..., np.ndarray]


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target's first frame, as an image small enough for slow models."""
    path = tmp_path_factory.mktemp("still") / "frame.png"
    with av.open(str(TARGET)) as container:
        frame = next(container.decode(video=0)).to_ndarray(format="bgr24")
    cv2.imwrite(str(path), cv2.resize(frame, (480, 270), interpolation=cv2.INTER_AREA))
    return path


@pytest.fixture
def make(run: Run, still: Path, tmp_path: Path) -> Make:
    """The pixels of the image that comes out with the given options."""

    def make_image(**values: object) -> np.ndarray:
        run(tmp_path / "out.png", **{"target_path": still, "trim_frame_end": None, **values})
        pixels = cv2.imread(str(tmp_path / "out.png"))
        assert pixels is not None
        return pixels

    return make_image


@pytest.fixture(scope="module")
def kept() -> dict[str, np.ndarray]:
    """Pictures that are made once for all tests."""
    return {}


@pytest.fixture
def usual(make: Make, kept: dict[str, np.ndarray]) -> np.ndarray:
    """The pixels of the image that comes out where no option is set."""
    if "usual" not in kept:
        kept["usual"] = make()
    return kept["usual"]


def pixels(path: Path) -> np.ndarray:
    found = cv2.imread(str(path))
    assert found is not None
    return found


def frames(path: Path) -> int:
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


@pytest.mark.parametrize(
    ("option", "name"),
    [("face_detector_model", "yunet"), ("face_landmarker_model", "face_mesh"), ("face_swapper_model", "mesh")],
)
def test_a_model_named_is_the_one_that_auto_finds(make: Make, usual: np.ndarray, option: str, name: str) -> None:
    np.testing.assert_array_equal(make(**{option: name}), usual)


def test_a_model_that_no_code_runs_is_refused_where_it_is_needed(make: Make) -> None:
    with pytest.raises(ModelError, match="The frame enhancer ultra_sharp_x4 cannot be run by this version"):
        make(processors=("frame_enhancer",), frame_enhancer_model="ultra_sharp_x4")


def test_a_model_of_a_processor_that_is_not_named_is_nobodys_business(make: Make, usual: np.ndarray) -> None:
    np.testing.assert_array_equal(make(frame_enhancer_model="ultra_sharp_x4", face_enhancer_model="codeformer"), usual)


@pytest.mark.parametrize(
    "values",
    [
        {"face_detector_size": "320x320"},
        {"face_detector_margin": (60,)},
        {"face_swapper_weight": 1.0},
        {"processors": ("face_debugger",), "face_debugger_items": ("bounding-box",)},
    ],
)
def test_an_option_changes_the_picture(make: Make, usual: np.ndarray, values: dict[str, object]) -> None:
    assert (make(**values) != usual).any()


def test_a_face_that_the_landmarker_is_not_sure_of_is_left_alone(make: Make, still: Path, tmp_path: Path) -> None:
    barred = pixels(still)
    barred[95:205] = 128
    cv2.imwrite(str(tmp_path / "barred.png"), barred)
    values = {"target_path": tmp_path / "barred.png", "face_detector_score": 0.1}
    assert (make(face_landmarker_score=0.5, **values) != barred).any()
    np.testing.assert_array_equal(make(face_landmarker_score=1.0, **values), barred)


def test_the_overlap_that_links_a_face_to_a_known_one_is_the_trackers(engine) -> None:
    def links(score: float) -> float:
        return build_tracker(settings(engine, face_tracker_score=score), Troupe().analyser)._limits.link

    assert (links(0.0), links(0.45)) == (TrackerLimits().link, 0.45)


def test_an_age_that_everybody_has_leaves_out_nobody(make: Make, usual: np.ndarray) -> None:
    np.testing.assert_array_equal(make(face_selector_age_start=0, face_selector_age_end=100), usual)


def test_a_reference_frame_that_is_not_there_is_named_with_its_option(run: Run, tmp_path: Path) -> None:
    with pytest.raises(PastEndError) as refused:
        run(tmp_path / "out.mp4", reference_frame_number=99999)
    assert str(refused.value).endswith(
        "so there is no frame 99999. Choose another --reference-frame-number; it counts from 0."
    )


def test_a_padding_that_leaves_nothing_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="face_mask_padding = 100: 100 percent from the top"):
        run(tmp_path / "out.mp4", face_mask_padding=(100,))
    assert list(tmp_path.iterdir()) == []


def test_a_reference_frame_below_zero_is_refused(engine) -> None:
    with pytest.raises(OptionError, match="reference_frame_number = -1: must be at least 0"):
        settings(engine, reference_frame_number=-1)


def test_a_pixel_boost_changes_nothing_where_the_mesh_swaps_at_the_frames_own_size(
    make: Make, usual: np.ndarray
) -> None:
    np.testing.assert_array_equal(make(face_swapper_pixel_boost="1024x1024"), usual)


@pytest.mark.parametrize(
    ("processor", "model", "blend"),
    [
        ("face_enhancer", "waifu2x_photo_2x", "face_enhancer_blend"),
        ("frame_enhancer", "waifu2x_x2", "frame_enhancer_blend"),
    ],
)
def test_the_blend_is_the_share_of_the_enhanced(
    make: Make, still: Path, tmp_path: Path, processor: str, model: str, blend: str
) -> None:
    small = pixels(still)[40:168, 140:300]
    cv2.imwrite(str(tmp_path / "small.png"), small)

    def enhanced(share: int) -> np.ndarray:
        values = {"processors": (processor,), f"{processor}_model": model, blend: share}
        return make(target_path=tmp_path / "small.png", **values).astype(int)

    none, half, full = enhanced(0), enhanced(50), enhanced(100)
    assert np.abs(full - none).max() > 10
    assert np.abs(half - (none + full) / 2).max() <= 1.5


def test_the_weight_does_nothing_to_a_model_that_has_none(make: Make, still: Path, tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "small.png"), pixels(still)[40:168, 140:300])
    values = {"processors": ("face_enhancer",), "target_path": tmp_path / "small.png"}
    np.testing.assert_array_equal(make(face_enhancer_weight=0.0, **values), make(face_enhancer_weight=1.0, **values))


def test_image_quality_is_that_of_the_jpeg(run: Run, still: Path, tmp_path: Path) -> None:
    sizes = []
    for quality in (10, 60, 95):
        run(tmp_path / "out.jpg", target_path=still, trim_frame_end=None, output_image_quality=quality)
        sizes.append((tmp_path / "out.jpg").stat().st_size)
    assert sizes[0] < sizes[1] / 1.5 < sizes[2] / 2


def test_video_options_reach_the_encoder(run: Run, tmp_path: Path) -> None:
    common = {"processors": ("face_debugger",), "trim_frame_end": 8}
    run(tmp_path / "plain.mp4", **common)
    run(tmp_path / "preset.mp4", output_video_preset="medium", **common)
    run(tmp_path / "quality.mp4", output_video_quality=20, **common)
    run(tmp_path / "rate.mp4", output_video_fps=12.5, **common)
    sizes = {name: (tmp_path / f"{name}.mp4").stat().st_size for name in ("plain", "preset", "quality")}
    assert sizes["quality"] < sizes["plain"] / 2
    assert sizes["preset"] != sizes["plain"]
    assert (frames(tmp_path / "plain.mp4"), frames(tmp_path / "rate.mp4")) == (8, 4)


def test_sound_options_reach_the_encoder(run: Run, tmp_path: Path) -> None:
    common = {"processors": ("face_debugger",), "trim_frame_end": 8}
    sizes = {}
    cases: dict[str, dict[str, object]] = {
        "copied": {},
        "thin": {"output_audio_encoder": "aac", "output_audio_quality": 0},
        "rich": {"output_audio_encoder": "aac", "output_audio_quality": 100},
        "silent": {"output_audio_volume": 0},
    }
    for name, values in cases.items():
        run(tmp_path / f"{name}.mp4", **common, **values)
        with av.open(str(tmp_path / f"{name}.mp4")) as container:
            sizes[name] = sum(packet.size for packet in container.demux() if packet.stream.type == "audio")
    assert sizes["silent"] == 0
    assert 0 < sizes["thin"] < sizes["rich"]
    assert sizes["copied"] not in (sizes["thin"], sizes["rich"], 0)
