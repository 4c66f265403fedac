"""What can be encoded here, within Python and with an ``ffmpeg`` on the path."""

from __future__ import annotations

from collections.abc import Iterator

from facefusion.core.errors import FaceFusionError
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, note, ok
from facefusion.media.codecs import check_encoder, encoder_obstacle, is_external, library_version, usable_encoders
from facefusion.media.encoder import ENCODERS, RAW
from facefusion.media.ffmpeg_program import external_encoders, find_program
from facefusion.media.settings import OutputSettings
from facefusion.media.sound import check_sound_encoder, usable_sound_encoders
from facefusion.media.sound_encoder import SOUND_ENCODERS

TOPIC = "encoder"


def findings(examination: Examination) -> Iterator[Finding]:
    """Try every encoder that there is an option for."""
    settings = examination.snapshot.get(OutputSettings)
    yield ok(TOPIC, library_version())
    program = find_program()
    yield (
        ok(TOPIC, f"ffmpeg on the path: {program}")
        if program
        else note(
            TOPIC,
            "there is no ffmpeg on the path; only the encoders of video cards that are not built in would need it",
        )
    )
    yield from _video()
    yield from _sound()
    yield from chosen_findings(settings.output_video_encoder, settings.output_audio_encoder)


def chosen_findings(video: str, sound: str | None) -> Iterator[Finding]:
    """Whether the encoders that a run would use can be had."""
    try:
        check_encoder(video)
        check_sound_encoder(sound)
    except FaceFusionError as error:
        yield Finding.of_error(TOPIC, error)
        return
    yield ok(TOPIC, f"a run with these settings uses {video}{f' and {sound}' if sound else ''}")


def _video() -> Iterator[Finding]:
    names = [name for name in ENCODERS if name != RAW]
    obstacles = {name: _obstacle(name) for name in names}
    usable = [name for name, obstacle in obstacles.items() if not obstacle]
    outside = [name for name in usable if is_external(name)]
    built_in = {*usable_encoders(), *external_encoders()}
    idle = [name for name in names if name not in usable and name in built_in]
    absent = [name for name in names if name not in usable and name not in built_in]
    yield ok(TOPIC, f"video: {', '.join(name for name in usable if name not in outside) or 'none'}")
    if outside:
        yield ok(TOPIC, f"video, with the ffmpeg on the path: {', '.join(outside)}")
    for reason in dict.fromkeys(obstacles[name] for name in idle):
        yield note(TOPIC, f"video, but {reason}: {', '.join(name for name in idle if obstacles[name] == reason)}")
    if absent:
        yield note(TOPIC, f"video, in no FFmpeg here: {', '.join(absent)}")


def _sound() -> Iterator[Finding]:
    usable = usable_sound_encoders()
    absent = [name for name in SOUND_ENCODERS if name not in usable]
    yield ok(TOPIC, f"sound: {', '.join(usable) or 'none'}")
    if absent:
        yield note(TOPIC, f"sound, not in this FFmpeg: {', '.join(absent)}")


def _obstacle(name: str) -> str:
    try:
        return encoder_obstacle(name)
    except FaceFusionError as error:  # the card is full at present
        return error.fault
