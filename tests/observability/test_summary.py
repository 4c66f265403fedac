from __future__ import annotations

from dataclasses import asdict

import pytest

from facefusion.core.report import MarkingReport, NotKept, RunReport
from facefusion.observability.summary import summary_fields, summary_lines

TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/algorithmicallyEnhanced"
SIGNED = "algorithmicallyEnhanced, signed by"


def report(**more):
    values = {
        "output": "a.mp4",
        "frames": 282,
        "faces": 300,
        "frames_without_face": 0,
        "held_frames": (),
        "seconds": 14.1,
        "start_up_seconds": 2.04,
        "peak_memory": 612 * 2**20,
        "models": {"yunet": "cuda", "mesh": "code"},
        "stages": {"decode": 1.5},
    }
    return RunReport(**{**values, **more})


def test_summary():
    assert summary_lines(report()) == (
        "frames       282",
        "faces        300",
        "speed        20.0 frames/s (14.1 s, after 2.0 s to start)",
        "models       yunet (cuda), mesh (code)",
        "peak memory  612 MiB",
    )


def test_video_memory_is_said_where_the_device_tells():
    assert summary_lines(report(peak_video_memory=900 * 2**20))[-1] == "video memory  900 MiB"


def test_what_went_less_well_is_said():
    lines = summary_lines(report(frames_without_face=4, held_frames=tuple(range(12)), models={}, seconds=0.0))
    assert lines[0] == "frames       282, 4 of them without a face to work on"
    assert lines[1] == "unchanged    12 frames passed through: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..."
    assert lines[3] == "speed        0.0 frames/s (0.0 s, after 2.0 s to start)"
    assert lines[4] == "models       none"


def test_stages_come_when_asked_for():
    assert summary_lines(report(), stages=True)[-1] == "stage decode  1.50 s"


def test_frames_in_and_out_where_they_differ():
    lines = summary_lines(report(dropped_frames=18, repeated_frames=2, resumed_frames=240))
    assert lines[0] == "frames       300 read, 284 written, 240 of them by an earlier run"
    assert lines[2] == "speed        3.0 frames/s (14.1 s, after 2.0 s to start)"


def test_a_result_of_frames_of_an_earlier_run_alone_has_no_speed():
    lines = summary_lines(report(resumed_frames=282))
    assert lines[0] == "frames       282, 282 of them by an earlier run"
    assert lines[2] == "speed        no frame was left to work on (14.1 s, after 2.0 s to start)"


def test_faces_that_were_left_alone_and_damage_are_said():
    lines = summary_lines(report(faces_found=301, damaged_frames=1, lost_frames=3))
    assert lines[1] == "damaged      1 frame patched up, 3 frames lost"
    assert lines[2] == "faces        300 of 301 found"


def test_what_is_not_kept_comes_last():
    notices = ("A choice was made.", NotKept("Track 3 is left out."), NotKept("The cover is left out."))
    lines = summary_lines(report(notices=notices))
    assert lines[-2:] == ("not kept     Track 3 is left out.", "not kept     The cover is left out.")


def test_the_summary_as_values():
    fields = summary_fields(report(held_frames=(3, 4), notices=("said", NotKept("No chapters."))))
    assert fields["output"] == "a.mp4"
    assert fields["frames_per_second"] == 20.0
    assert fields["held_frames"] == [3, 4]
    assert fields["models"] == {"yunet": "cuda", "mesh": "code"}
    assert fields["not_kept"] == ["No chapters."]


@pytest.mark.parametrize(
    ("marking", "said"),
    [
        (MarkingReport("full", TYPE, True, "an unknown signer", None), f"{SIGNED} an unknown signer"),
        (MarkingReport("full", TYPE, True, "Ann", "a.mkv.c2pa"), f"{SIGNED} Ann, in a.mkv.c2pa"),
        (MarkingReport("full", TYPE, False, "Ann", "a.mpg.c2pa"), "signed by Ann, in a.mpg.c2pa"),
        (MarkingReport("metadata", TYPE, True, None, None), "algorithmicallyEnhanced"),
        (MarkingReport("metadata", TYPE, False, None, None), "nothing: the format has no place for it"),
        (MarkingReport("full", None, False, None, None), "nothing"),
        (MarkingReport("off", None, False, None, None), "nothing, as asked for"),
    ],
)  # fmt: skip
def test_what_the_result_says_of_itself_is_told(marking, said):
    assert summary_lines(report(marking=marking))[-1] == f"marked as    {said}"
    assert summary_fields(report(marking=marking))["marking"] == asdict(marking)
