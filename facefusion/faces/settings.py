"""Options for finding, following and choosing faces. Names, sections and defaults are FaceFusion's."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_choices
from facefusion.config.option import option, settings_group

ORDERS = (
    "left-right",
    "right-left",
    "top-bottom",
    "bottom-top",
    "small-large",
    "large-small",
    "best-worst",
    "worst-best",
)


@settings_group(section="face_detector")
class FaceDetectorSettings:
    """How faces are found."""

    face_detector_model: str = option(AUTO, "model that finds faces", choices=model_choices("face_detector"))
    face_detector_size: str = option(
        "640x640",
        "size to which a frame is shrunk for the detector; larger finds smaller faces and takes longer",
        choices=("160x160", "320x320", "480x480", "512x512", "640x640", "960x960", "1280x1280"),
    )
    face_detector_margin: tuple[int, ...] = option(
        (0, 0, 0, 0),
        "black border added for the detector, in percent of half the height or width: top, right, bottom, left, or "
        "fewer as in CSS; helps where a face fills the frame",
        minimum=0,
        maximum=100,
        lengths=(1, 4),
    )
    face_detector_angles: tuple[int, ...] = option(
        (0,),
        "quarter turns, in degrees counter-clockwise, at which to look for faces; the others are tried where a face is "
        "in doubt",
        choices=("0", "90", "180", "270"),
        lengths=(1, 4),
    )
    face_detector_score: float = option(0.5, "what a face must score to be found", minimum=0.0, maximum=1.0)

    @property
    def limit(self) -> tuple[int, int]:
        """The size as numbers: width, height."""
        width, height = self.face_detector_size.split("x")
        return int(width), int(height)

    @property
    def margin(self) -> tuple[int, int, int, int]:
        """All four margins: top, right, bottom, left."""
        given = self.face_detector_margin
        top = given[0]
        right = given[1] if len(given) > 1 else top
        bottom = given[2] if len(given) > 2 else top
        left = given[3] if len(given) > 3 else right
        return top, right, bottom, left


@settings_group(section="face_landmarker")
class FaceLandmarkerSettings:
    """How the mesh of a face is read."""

    face_landmarker_model: str = option(
        AUTO, "model that reads the mesh of a face", choices=model_choices("face_landmarker")
    )
    face_landmarker_score: float = option(
        0.5, "how sure the landmarker must be that a face lies under its mesh", minimum=0.0, maximum=1.0
    )


@settings_group(section="face_recognizer")
class FaceRecognizerSettings:
    """How people are told apart."""

    face_recognizer_model: str = option(AUTO, "model that tells people apart", choices=model_choices("face_recognizer"))


@settings_group(section="face_selector")
class FaceSelectorSettings:
    """Which of the faces are worked on."""

    face_selector_mode: str = option(
        "reference",
        "which faces to work on: all of them, the first in the order, or those of the reference person",
        choices=("many", "one", "reference"),
    )
    face_selector_order: str = option("large-small", "order in which faces are counted", choices=ORDERS)
    reference_face_position: int = option(
        0, "which face of the reference frame is the reference, counted in the order from 0; the last where too large"
    )
    reference_face_distance: float = option(
        0.3,
        "how unlike the reference a face may look: 0 the same picture, 0.5 a stranger",
        minimum=0.0,
        maximum=1.0,
    )
    reference_frame_number: int = option(0, "frame of the target video that shows the reference face", minimum=0)


@settings_group(section="face_tracker")
class FaceTrackerSettings:
    """How faces are followed through a video."""

    face_tracker_score: float = option(
        0.0,
        "least overlap of a found face with a known one to be taken for the same; 0 leaves it to the program",
        minimum=0.0,
        maximum=0.5,
    )


FACE_GROUPS: tuple[type, ...] = (
    FaceDetectorSettings,
    FaceLandmarkerSettings,
    FaceRecognizerSettings,
    FaceSelectorSettings,
    FaceTrackerSettings,
)
