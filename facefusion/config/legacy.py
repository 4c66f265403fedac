"""What FaceFusion 3 users type and keep in their ini files, by name.

A name in here that no option of this program claims belongs to an option that is not built yet. Empty in an ini file it
says nothing and is passed over; set, it gets one warning; on the command line it is refused with its name.
"""

from __future__ import annotations

LEGACY_KEYS: dict[str, tuple[str, ...]] = {
    "paths": ("jobs_path",),
    "patterns": ("source_pattern", "target_pattern", "output_pattern"),
    "face_detector": (
        "face_detector_model", "face_detector_size", "face_detector_margin", "face_detector_angles",
        "face_detector_score",
    ),
    "face_landmarker": ("face_landmarker_model", "face_landmarker_score"),
    "face_selector": (
        "face_selector_mode", "face_selector_order", "face_selector_age_start", "face_selector_age_end",
        "face_selector_gender", "face_selector_race", "reference_face_position", "reference_face_distance",
        "reference_frame_number",
    ),
    "face_tracker": ("face_tracker_score",),
    "face_masker": (
        "face_occluder_model", "face_parser_model", "face_mask_types", "face_mask_areas", "face_mask_regions",
        "face_mask_blur", "face_mask_padding",
    ),
    "voice_extractor": ("voice_extractor_model",),
    "frame_extraction": (
        "trim_frame_start", "trim_frame_end", "temp_frame_format", "temp_pixel_format", "keep_temp",
    ),
    "frame_distribution": ("target_frame_amount",),
    "output_creation": (
        "output_image_quality", "output_image_scale", "output_image_resolution", "output_audio_encoder",
        "output_audio_quality", "output_audio_volume", "output_video_encoder", "output_video_preset",
        "output_video_quality", "output_video_scale", "output_video_resolution", "output_video_fps", "skip_audio",
    ),
    "workflow": ("workflow_mode", "workflow_strategy"),
    "processors": (
        "age_modifier_model", "age_modifier_direction", "background_remover_model", "background_remover_color",
        "background_remover_fill_color", "background_remover_despill_color", "deep_swapper_model", "deep_swapper_morph",
        "expression_restorer_model", "expression_restorer_factor", "expression_restorer_areas", "face_debugger_items",
        "face_editor_model", "face_editor_eyebrow_direction", "face_editor_eye_gaze_horizontal",
        "face_editor_eye_gaze_vertical", "face_editor_eye_open_ratio", "face_editor_lip_open_ratio",
        "face_editor_mouth_grim", "face_editor_mouth_pout", "face_editor_mouth_purse", "face_editor_mouth_smile",
        "face_editor_mouth_position_horizontal", "face_editor_mouth_position_vertical", "face_editor_head_pitch",
        "face_editor_head_yaw", "face_editor_head_roll", "face_enhancer_model", "face_enhancer_blend",
        "face_enhancer_weight", "face_swapper_model", "face_swapper_pixel_boost", "face_swapper_weight",
        "frame_colorizer_model", "frame_colorizer_size", "frame_colorizer_blend", "frame_enhancer_model",
        "frame_enhancer_blend", "lip_syncer_model", "lip_syncer_weight",
    ),
    "uis": ("open_browser", "ui_layouts", "ui_workflow"),
    "download": ("download_providers", "download_scope", "skip_download"),
    "benchmark": ("benchmark_mode", "benchmark_resolutions", "benchmark_cycle_count"),
    "execution": (
        "execution_device_id", "execution_device_ids", "execution_providers", "execution_thread_count",
        "execution_queue_count",
    ),
    "memory": ("system_memory_limit", "video_memory_strategy"),
    "misc": ("skip_download",),
}  # fmt: skip
"""Sections and keys of the ini files that came with FaceFusion 3.0 to 3.8."""

LEGACY_COMMANDS = (
    "batch-run",
    "job-list",
    "job-create",
    "job-submit",
    "job-submit-all",
    "job-delete",
    "job-delete-all",
    "job-add-step",
    "job-remix-step",
    "job-insert-step",
    "job-remove-step",
    "job-run",
    "job-run-all",
    "job-retry",
    "job-retry-all",
)
"""Commands of FaceFusion 3.8 that this program does not have yet."""


def is_legacy_key(section: str, key: str) -> bool:
    """Whether FaceFusion's ini file has this key in this section."""
    return key in LEGACY_KEYS.get(section, ())


def is_legacy_option(name: str) -> bool:
    """Whether FaceFusion has or had an option of this name, ``_`` inside."""
    return any(name in keys for keys in LEGACY_KEYS.values())
