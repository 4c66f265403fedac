"""Options of the face editor."""

from __future__ import annotations

from facefusion.catalogue.names import AUTO, model_names
from facefusion.config.option import option, settings_group


@settings_group(section="processors", awaited=True)
class FaceEditorSettings:
    """How faces are posed anew."""

    face_editor_model: str = option(
        AUTO, "model that edits faces", **model_names("face_editor"), facefusion_default="live_portrait"
    )
    face_editor_eyebrow_direction: float = option(
        0.0, "how far eyebrows are lowered (below 0) or raised", minimum=-1.0, maximum=1.0
    )
    face_editor_eye_gaze_horizontal: float = option(
        0.0, "how far eyes look to one side (below 0) or the other", minimum=-1.0, maximum=1.0
    )
    face_editor_eye_gaze_vertical: float = option(
        0.0, "how far eyes look down (below 0) or up", minimum=-1.0, maximum=1.0
    )
    face_editor_eye_open_ratio: float = option(
        0.0, "how far eyes are closed (below 0) or opened", minimum=-1.0, maximum=1.0
    )
    face_editor_lip_open_ratio: float = option(
        0.0, "how far lips are closed (below 0) or opened", minimum=-1.0, maximum=1.0
    )
    face_editor_mouth_grim: float = option(
        0.0, "how much less (below 0) or more the mouth is pressed together", minimum=-1.0, maximum=1.0
    )
    face_editor_mouth_pout: float = option(
        0.0, "how much less (below 0) or more the lips are pushed out", minimum=-1.0, maximum=1.0
    )
    face_editor_mouth_purse: float = option(
        0.0, "how much less (below 0) or more the lips are drawn in", minimum=-1.0, maximum=1.0
    )
    face_editor_mouth_smile: float = option(
        0.0, "how much less (below 0) or more the mouth smiles", minimum=-1.0, maximum=1.0
    )
    face_editor_mouth_position_horizontal: float = option(
        0.0, "how far the mouth moves to one side (below 0) or the other", minimum=-1.0, maximum=1.0
    )
    face_editor_mouth_position_vertical: float = option(
        0.0, "how far the mouth moves down (below 0) or up", minimum=-1.0, maximum=1.0
    )
    face_editor_head_pitch: float = option(
        0.0, "how far the head nods one way (below 0) or the other", minimum=-1.0, maximum=1.0
    )
    face_editor_head_yaw: float = option(
        0.0, "how far the head turns to one side (below 0) or the other", minimum=-1.0, maximum=1.0
    )
    face_editor_head_roll: float = option(
        0.0, "how far the head leans to one side (below 0) or the other", minimum=-1.0, maximum=1.0
    )
