from __future__ import annotations

from facefusion.doctor import encoders
from facefusion.doctor.encoders import chosen_findings
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Level
from tests.doctor.machines import settings


def test_the_encoders_of_a_run_are_said():
    (finding,) = chosen_findings("libx264", "aac")
    assert (finding.level, finding.text) == (Level.OK, "a run with these settings uses libx264 and aac")


def test_an_encoder_that_cannot_be_had_is_a_fault_with_others_to_choose():
    (finding,) = chosen_findings("h264_imaginary", None)
    assert finding.level is Level.FAULT
    assert finding.text == "the FFmpeg in use has no video encoder h264_imaginary, nor has an ffmpeg on the path"
    assert finding.remedy.startswith("Choose another with --output-video-encoder: libx264")


def test_what_this_machine_encodes_with_is_listed():
    found = list(encoders.findings(Examination(settings())))
    assert found[0].text.startswith("PyAV ")
    video = next(one.text for one in found if one.text.startswith("video: "))
    assert {"libx264", "libx265", "libsvtav1"} <= set(video.removeprefix("video: ").split(", "))
    sound = next(one.text for one in found if one.text.startswith("sound: "))
    assert {"aac", "flac", "libopus"} <= set(sound.removeprefix("sound: ").split(", "))
    assert found[-1].text == "a run with these settings uses libx264"


def test_without_an_ffmpeg_on_the_path_that_is_no_fault(monkeypatch):
    monkeypatch.setattr(encoders, "find_program", lambda: None)
    finding = list(encoders.findings(Examination(settings())))[1]
    assert finding.level is Level.NOTE
    assert finding.text.startswith("there is no ffmpeg on the path")
