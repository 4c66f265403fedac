"""Options for finding, following and choosing faces. Names, sections and defaults are FaceFusion's."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, entry_of, model_names
from facefusion.config.option import JOB_STEP_COMMANDS, RUN_COMMANDS, Depends, option, settings_group
from facefusion.faces.face_map import FORM, FaceMap

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
NO_FILTER = {"face_selector_age_start": 0, "face_selector_age_end": 100}
MASK_AREAS = ("upper-face", "lower-face", "mouth")
MASK_REGIONS = (
    "skin",
    "left-eyebrow",
    "right-eyebrow",
    "left-eye",
    "right-eye",
    "glasses",
    "nose",
    "mouth",
    "upper-lip",
    "lower-lip",
)
MASK_MODELS = {"occlusion": "face_occluder", "region": "face_parser"}
"""The kind of model that a type of mask needs; the other types need none."""


def detector_sizes(model: str) -> tuple[str, ...] | None:
    """The sizes that a detector looks at pictures at, as its entry lists their sides; none where it takes any."""
    card = entry_of("face_detector", model)
    sides = None if card is None else card.numbers.get("sizes")
    return tuple(f"{side:g}x{side:g}" for side in sides) if isinstance(sides, tuple) else None


@settings_group(section="face_detector")
class FaceDetectorSettings:
    """How faces are found."""

    face_detector_model: str = option(
        AUTO,
        "model that finds faces",
        **model_names("face_detector"),
        value_aliases={"yoloface": "yolo_face"},
        facefusion_default="yolo_face",
    )
    face_detector_size: str = option(
        "640x640",
        "size to which a frame is shrunk for the detector; larger finds smaller faces and takes longer",
        choices=("160x160", "320x320", "480x480", "512x512", "640x640", "960x960", "1280x1280"),
        depends=Depends("face_detector_model", detector_sizes),
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
        return _all_sides(self.face_detector_margin)


@settings_group(section="face_landmarker")
class FaceLandmarkerSettings:
    """How the points of a face are read."""

    face_landmarker_model: str = option(
        AUTO,
        "model that reads the points by which faces are laid out; all but the mesh see only those that are worked on",
        **model_names("face_landmarker"),
        facefusion_default="2dfan4",
    )
    face_landmarker_score: float = option(
        0.5,
        "how sure the landmarker must be of a face; where one of its own is not, the points of the mesh are taken",
        minimum=0.0,
        maximum=1.0,
    )


@settings_group(section="face_recognizer")
class FaceRecognizerSettings:
    """How people are told apart."""

    face_recognizer_model: str = option(
        AUTO, "model that tells people apart", **model_names("face_recognizer"), own=True
    )


@settings_group(section="face_selector")
class FaceSelectorSettings:
    """Which of the faces are worked on."""

    face_selector_mode: str = option(
        "reference",
        "which faces to work on: all of them, the first in the order, or those of the reference person",
        choices=("many", "one", "reference"),
    )
    face_selector_order: str = option("large-small", "order in which faces are counted", choices=ORDERS)
    face_selector_gender: str | None = option(
        None,
        "work only on faces of this gender; 'auto' takes that of the largest source face",
        choices=("auto", "female", "male"),
    )
    face_selector_race: str | None = option(
        None,
        "work only on faces of this group; 'auto' takes that of the largest source face",
        choices=("auto", "white", "black", "latino", "asian", "indian", "arabic"),
    )
    face_selector_age_start: int | None = option(
        None, "work only on faces of this age or above", minimum=0, maximum=100
    )
    face_selector_age_end: int | None = option(None, "work only on faces below this age", minimum=0, maximum=100)
    reference_face_position: int = option(
        0,
        "which face of the reference frame is the reference, counted in the order from 0; the last where too large; "
        "-1 is the last, -2 the one before",
    )
    reference_face_distance: float = option(
        0.3,
        "how unlike the reference a face may look: 0 the same picture, 0.5 a stranger",
        minimum=0.0,
        maximum=1.0,
        former_defaults=("0.6",),
    )
    reference_frame_number: int = option(0, "frame of the target video that shows the reference face", minimum=0)
    face_map: tuple[str, ...] = option(
        (),
        "who becomes whom, where several people are replaced: REFERENCE is a picture of one, or the number of a face "
        "in the reference frame, and SOURCE a photo of who is put in, or several joined by +; see docs/face-map.md",
        form=FORM,
        metavar="REFERENCE=SOURCE",
        commands=(*RUN_COMMANDS, "batch-run", *JOB_STEP_COMMANDS, "doctor"),
        own=True,
    )

    @property
    def mapping(self) -> FaceMap:
        """What ``face_map`` says.

        Raises:
            UsageError: a reference is named twice.
        """
        return FaceMap.of(self.face_map)

    @property
    def by_identity(self) -> bool:
        """Whether faces are chosen by who they are."""
        return self.face_selector_mode == "reference" or bool(self.face_map)

    @property
    def narrowing(self) -> tuple[str, ...]:
        """All options by which faces are passed over: filters, and those that say how alike somebody must look."""
        by_likeness = ("face_map",) if self.face_map else ()
        return (*self.filters, *by_likeness, *(("reference_face_distance",) if self.by_identity else ()))

    @property
    def filters(self) -> tuple[str, ...]:
        """Options that leave people out by gender, age or group; an age from 0 to 100 leaves out nobody."""
        named = ("face_selector_gender", "face_selector_race", "face_selector_age_start", "face_selector_age_end")
        return tuple(
            name for name in named if getattr(self, name) != NO_FILTER.get(name) and getattr(self, name) is not None
        )


@settings_group(section="face_tracker")
class FaceTrackerSettings:
    """How faces are followed through a video."""

    target_frame_amount: int = option(
        2,
        "taken so that older command lines run; faces are followed through all frames",
        minimum=0,
        maximum=10,
        former_defaults=("5",),
        section="frame_distribution",
        pending="faces are followed through all frames, whatever their distance",
    )

    face_tracker_score: float = option(
        0.0,
        "least overlap of a found face with a known one to be taken for the same; 0 leaves it to the program",
        minimum=0.0,
        maximum=0.5,
    )


@settings_group(section="face_masker")
class FaceMaskerSettings:
    """Which part of a face is changed."""

    face_occluder_model: str = option(
        AUTO,
        "model that finds what covers a face",
        **model_names("face_occluder"),
        facefusion_default="xseg_1",
    )
    face_parser_model: str = option(
        AUTO,
        "model that tells the regions of a face apart",
        **model_names("face_parser"),
        facefusion_default="bisenet_resnet_34",
    )
    face_mask_types: tuple[str, ...] = option(
        ("box",),
        "what bounds the change of a face; with several, what lies within all of them is changed",
        choices=("box", "occlusion", "area", "region"),
        lengths=(1, 4),
    )
    face_mask_areas: tuple[str, ...] = option(
        MASK_AREAS, "parts of the face that mask 'area' lets through", choices=MASK_AREAS
    )
    face_mask_regions: tuple[str, ...] = option(
        MASK_REGIONS, "parts of the face that mask 'region' lets through", choices=MASK_REGIONS
    )
    face_mask_blur: float = option(
        0.3,
        "how soft the edge of mask 'box' is; 'mesh', which has a soft edge of its own, heeds it where padded",
        minimum=0.0,
        maximum=1.0,
    )
    face_mask_padding: tuple[int, ...] = option(
        (0, 0, 0, 0),
        "how far mask 'box' stays inside the crop of a face, in percent: top, right, bottom, left, or fewer as in CSS",
        minimum=0,
        maximum=100,
        lengths=(1, 4),
    )

    @property
    def padding(self) -> tuple[int, int, int, int]:
        """All four paddings: top, right, bottom, left."""
        return _all_sides(self.face_mask_padding)

    @property
    def idle_models(self) -> frozenset[str]:
        """Options that name a model of a mask that was not chosen."""
        return frozenset(f"{kind}_model" for mask, kind in MASK_MODELS.items() if mask not in self.face_mask_types)


def _all_sides(given: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Top, right, bottom and left from one to four numbers, filled in as CSS does."""
    top = given[0]
    right = given[1] if len(given) > 1 else top
    bottom = given[2] if len(given) > 2 else top
    left = given[3] if len(given) > 3 else right
    return top, right, bottom, left


FACE_GROUPS: tuple[type, ...] = (
    FaceDetectorSettings,
    FaceLandmarkerSettings,
    FaceRecognizerSettings,
    FaceSelectorSettings,
    FaceTrackerSettings,
    FaceMaskerSettings,
)
