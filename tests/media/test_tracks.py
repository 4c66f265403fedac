from __future__ import annotations

import itertools
from fractions import Fraction
from io import BytesIO
from typing import Any

import av
import numpy as np
import pytest
from av.stream import AttachmentStream, Disposition
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from facefusion.media.chapters import chapters_within
from facefusion.media.container import CONTAINERS
from facefusion.media.sound_encoder import SoundSettings
from facefusion.media.sound_file import probe_sound
from facefusion.media.span import Span
from facefusion.media.tags import stream_tags
from tests.media.clips import packets_of
from tests.media.edit_lists import edit
from tests.media.odd_tracks import RATE, heard, lag, make_noisy_clip, take_along

START, END = Fraction(37, 25), Fraction(71, 25)


def payloads(path, track=1):
    return [data for _, data in packets_of(path, track)]


def sound_length(path, track=0):
    """What the header says, in seconds."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[track]
        return (stream.duration or 0) * (stream.time_base or Fraction(0))


@pytest.mark.parametrize(
    ("codec", "suffix"),
    [
        *((codec, ".mp4") for codec in ("aac", "libopus", "libmp3lame", "flac", "ac3")),
        *((codec, ".mov") for codec in ("aac", "pcm_s16le")),
        ("aac", ".m4v"),
    ],
)
def test_copied_sound_is_cut_to_the_sample_where_the_container_hides(tmp_path, codec, suffix):
    make_noisy_clip(tmp_path / f"a{suffix}", (codec,))
    old, _, _ = heard(tmp_path / f"a{suffix}")
    notices = take_along(tmp_path / f"a{suffix}", tmp_path / f"b{suffix}", start=START, end=END)
    assert notices == []
    new, rate, first = heard(tmp_path / f"b{suffix}")
    assert (rate, first) == (RATE, 0)
    assert sound_length(tmp_path / f"b{suffix}") == END - START
    count = round((END - START) * RATE)
    reference = old[round(START * RATE) :][:count]
    apart = np.abs(new[:count] - reference).max()
    exact = codec in ("flac", "libmp3lame", "pcm_s16le")  # the others decode with noise of their own
    assert apart < (1e-6 if exact else 0.02)
    assert np.corrcoef(new[:2000], reference[:2000])[0, 1] > 0.99
    if codec != "pcm_s16le":  # which is dealt out anew
        assert set(payloads(tmp_path / f"b{suffix}")) <= set(payloads(tmp_path / f"a{suffix}"))


@pytest.mark.parametrize(
    ("codec", "source", "suffix"),
    [
        *(("aac", ".mp4", suffix) for suffix in (".mkv", ".avi", ".wmv")),
        *(("libmp3lame", ".mp4", suffix) for suffix in (".mkv", ".avi", ".wmv")),
        *(("libopus", ".webm", suffix) for suffix in (".mkv", ".webm")),
        ("libopus", ".mp4", ".webm"),
        ("ac3", ".mkv", ".mpg"),
        ("mp2", ".mpg", ".mpg"),
        ("aac", ".mkv", ".mkv"),
        ("aac", ".mkv", ".avi"),
    ],
)
@pytest.mark.parametrize("trimmed", [False, True])
def test_copied_sound_stays_in_step_everywhere(tmp_path, codec, source, suffix, trimmed):
    """Within the half of a packet that containers without times cost, or the rounding of the others."""
    make_noisy_clip(tmp_path / f"a{source}", (codec,))
    begin = Fraction(1, 2) if source == ".mpg" else Fraction(0)  # programme streams start there
    start, end = (START + begin, END + begin) if trimmed else (None, None)
    notices = take_along(tmp_path / f"a{source}", tmp_path / f"b{suffix}", start=start, end=end)
    assert not [notice for notice in notices if "anew" in notice]
    old, new = heard(tmp_path / f"a{source}")[0], heard(tmp_path / f"b{suffix}")[0]
    origin = written_origin(tmp_path / f"b{suffix}")
    slip = 768 if suffix == ".avi" else 72
    late, alike = lag(new[origin:], old[round((start or 0) * RATE) :], 30_000)
    assert abs(late) <= slip
    assert alike > 0.99
    assert set(payloads(tmp_path / f"b{suffix}")) <= set(payloads(tmp_path / f"a{source}"))
    if trimmed:
        assert not np.any(new[origin + round((END - START) * RATE) + 1536 :])


def written_origin(path):
    """Sample at which the picture begins; FFmpeg lets programme streams start at half a second."""
    if path.suffix not in (".mpg", ".mpeg"):
        return 0
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return round((stream.start_time or 0) * (stream.time_base or 0) * RATE)


@pytest.mark.parametrize("suffix", list(CONTAINERS))
@pytest.mark.parametrize(
    ("codec", "source"),
    [
        *(("aac", ".mp4"), ("libmp3lame", ".mp4"), ("libopus", ".webm")),
        *(("pcm_s16le", ".mov"), ("flac", ".mkv"), ("ac3", ".mkv")),
    ],
)
def test_every_container_takes_every_common_sound(tmp_path, codec, source, suffix):
    make_noisy_clip(tmp_path / f"a{source}", (codec,), seconds=1)
    notices = take_along(tmp_path / f"a{source}", tmp_path / f"b{suffix}")
    assert all(" is encoded anew as " in notice for notice in notices)
    old, new = heard(tmp_path / f"a{source}")[0], heard(tmp_path / f"b{suffix}")[0]
    late, alike = lag(new[written_origin(tmp_path / f"b{suffix}") :], old, 20_000)
    assert abs(late) <= 400
    assert alike > 0.98
    assert len(new) / RATE == pytest.approx(1, abs=0.05) or suffix in (".mpg", ".mpeg")


def test_a_source_of_milliseconds_is_copied_to_the_sample(tmp_path):
    make_noisy_clip(tmp_path / "a.mkv", ("aac",))
    take_along(tmp_path / "a.mkv", tmp_path / "b.mp4")
    stamps = [time * RATE for time, _ in packets_of(tmp_path / "b.mp4", 1)]
    assert {later - earlier for earlier, later in itertools.pairwise(stamps)} == {1024}


def test_hidden_sound_of_the_source_stays_hidden(tmp_path):
    """A clip that was itself cut with an edit list, into containers that have none."""
    make_noisy_clip(tmp_path / "a.mp4")
    take_along(tmp_path / "a.mp4", tmp_path / "b.mp4", start=START, end=END)
    old = heard(tmp_path / "a.mp4")[0][round(START * RATE) :]
    for suffix in (".mp4", ".mkv", ".webm", ".avi", ".wmv", ".mxf"):
        take_along(tmp_path / "b.mp4", tmp_path / f"c{suffix}")
        new, _, first = heard(tmp_path / f"c{suffix}")
        late, alike = lag(new, old, 20_000)
        assert abs(late) <= (512 if suffix == ".avi" else 24)
        assert alike > 0.98
        assert 0 <= first <= 1024


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov", ".avi"])
def test_sound_that_an_edit_list_puts_together_stays_together(tmp_path, suffix):
    """The decoder's run-up to the second part lies, by its times, in the first."""
    make_noisy_clip(tmp_path / "a.mp4")
    edit(tmp_path / "a.mp4", tmp_path / "b.mp4", [(Fraction(1), Fraction(2)), (Fraction(1), Fraction(0))])
    whole = heard(tmp_path / "a.mp4")[0]
    old = np.r_[whole[2 * RATE : 3 * RATE], whole[:RATE]]
    take_along(tmp_path / "b.mp4", tmp_path / f"c{suffix}")
    new = heard(tmp_path / f"c{suffix}")[0]
    assert len(new) / RATE == pytest.approx(2, abs=0.03)
    for at in (RATE // 3, RATE * 4 // 3):
        late, alike = lag(new, old, at)
        assert abs(late) <= 1024
        assert alike > 0.98


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov", ".webm", ".avi", ".wmv", ".mxf", ".mpg"])
def test_sound_that_begins_late_begins_late(tmp_path, suffix):
    make_noisy_clip(tmp_path / "a.mp4", delay=Fraction(7, 10), sound_seconds=2.5)
    notices = take_along(tmp_path / "a.mp4", tmp_path / f"b{suffix}")
    old, new = heard(tmp_path / "a.mp4")[0], heard(tmp_path / f"b{suffix}")[0]
    origin = written_origin(tmp_path / f"b{suffix}")
    assert not np.any(new[origin : origin + round(0.6 * RATE)])
    late, alike = lag(new[origin:], old, RATE)
    assert abs(late) <= 48
    assert alike > 0.98
    if suffix == ".avi":
        assert notices == [
            "The output's container cannot begin with silence: audio track 1 of a.mp4 is encoded anew as aac."
        ]


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm", ".avi"])
def test_sound_that_outlasts_the_picture_is_kept(tmp_path, suffix):
    make_noisy_clip(tmp_path / "a.mp4", seconds=1, sound_seconds=2.5)
    take_along(tmp_path / "a.mp4", tmp_path / f"b{suffix}")
    new, rate, _ = heard(tmp_path / f"b{suffix}")
    assert len(new) / rate == pytest.approx(2.5, abs=0.03)


def test_where_sound_has_to_end_with_the_picture_it_is_said(tmp_path):
    make_noisy_clip(tmp_path / "a.mp4", seconds=1, sound_seconds=2.5)
    notices = take_along(tmp_path / "a.mp4", tmp_path / "b.mxf")
    assert notices[1] == (
        "Audio track 1 of a.mp4 goes on for 1.500 s after the picture; the output's container cannot hold that."
    )
    assert sound_length(tmp_path / "b.mxf") == 1


def test_sound_that_ends_early_is_filled_up_where_it_has_to_last(tmp_path):
    make_noisy_clip(tmp_path / "a.mp4", seconds=2, sound_seconds=1)
    take_along(tmp_path / "a.mp4", tmp_path / "b.mxf")
    assert sound_length(tmp_path / "b.mxf") == 2


@pytest.mark.parametrize(("suffix", "trimmed"), [(".mp4", True), (".mp4", False), (".mkv", True), (".webm", False)])
def test_a_sound_file_takes_the_place_of_all_sound(tmp_path, suffix, trimmed):
    make_noisy_clip(tmp_path / "a.mp4", ("aac", "aac"))
    make_noisy_clip(tmp_path / "voice.m4a", ("aac",), seconds=0.04, sound_seconds=9, format_name="mp4")
    voice = heard(tmp_path / "voice.m4a")[0]
    sound = probe_sound(tmp_path / "voice.m4a")
    start, end = (START, END) if trimmed else (None, None)
    notices = take_along(tmp_path / "a.mp4", tmp_path / f"b{suffix}", start=start, end=end, replacement=sound)
    assert notices[-1] == "The sound of voice.m4a replaces that of a.mp4."
    new, rate, _ = heard(tmp_path / f"b{suffix}")
    length = END - START if trimmed else Fraction(4)
    late, alike = lag(new, voice, 20_000)
    assert abs(late) <= 24
    assert alike > 0.98
    assert len(new) / rate == pytest.approx(float(length), abs=0.025)
    if suffix == ".mp4":
        assert sound_length(tmp_path / f"b{suffix}") == length
    with av.open(str(tmp_path / f"b{suffix}")) as container:
        assert len(container.streams.audio) == 1


@pytest.mark.parametrize(
    ("name", "codec", "format_name"),
    [
        ("a.mp3", "libmp3lame", "mp3"),
        ("a.wav", "pcm_s16le", "wav"),
        ("a.flac", "flac", "flac"),
        ("a.opus", "libopus", "ogg"),
    ],
)
def test_sound_files_of_every_kind(tmp_path, name, codec, format_name):
    make_noisy_clip(tmp_path / "clip.mp4", ())
    make_sound_file(tmp_path / name, codec, format_name)
    sound = probe_sound(tmp_path / name)
    voice = heard(tmp_path / name)[0][round(sound.start * RATE) :]
    for suffix in (".mp4", ".mkv"):
        take_along(tmp_path / "clip.mp4", tmp_path / f"b{suffix}", replacement=sound)
        new = heard(tmp_path / f"b{suffix}")[0]
        late, alike = lag(new, voice, 20_000)
        assert abs(late) <= (48 if suffix == ".mkv" else 1)
        assert alike > 0.98


def make_sound_file(path, codec, format_name):
    from tests.media.odd_tracks import encoded, noise

    with av.open(str(path), "w", format=format_name) as output:
        track = output.add_stream(codec, rate=RATE)
        track.codec_context.layout = "stereo"
        output.mux(encoded(track, noise(6), Fraction(0)))


def test_volume_applies_to_a_sound_file_too(tmp_path):
    make_noisy_clip(tmp_path / "clip.mp4", ())
    make_sound_file(tmp_path / "a.flac", "flac", "flac")
    sound = probe_sound(tmp_path / "a.flac")
    notices = take_along(
        tmp_path / "clip.mp4", tmp_path / "b.mkv", replacement=sound, sound=SoundSettings("flac", volume=50)
    )
    assert notices == ["As asked: the sound of a.flac is encoded anew as flac."]
    assert np.std(heard(tmp_path / "b.mkv")[0]) == pytest.approx(np.std(heard(tmp_path / "a.flac")[0]) / 2, rel=0.01)
    assert take_along(tmp_path / "clip.mp4", tmp_path / "c.mkv", replacement=sound, sound=SoundSettings(volume=0)) == []
    with av.open(str(tmp_path / "c.mkv")) as container:
        assert not container.streams.audio


def make_rich_clip(path):
    """Two tracks of sound with languages, titles and roles; chapters, tags, a cover and an attachment."""

    def prepare(output):
        output.metadata.update({"title": "A title", "artist": "Somebody", "SOMETHING": "else"})
        output.metadata["creation_time"] = "2021-03-04T05:06:07.000000Z"
        output.set_chapters(
            [
                {"id": 1, "start": 0, "end": 2000, "time_base": Fraction(1, 1000), "metadata": {"title": "One"}},
                {"id": 2, "start": 2000, "end": 4000, "time_base": Fraction(1, 1000), "metadata": {"title": "Two"}},
            ]
        )
        for track, language, title in zip(output.streams.audio, ("deu", "eng"), ("Ton", "Comments"), strict=True):
            track.metadata.update({"language": language, "title": title})
        output.streams.audio[0].disposition = Disposition(0)
        output.streams.audio[1].disposition = Disposition.default | Disposition.comment
        output.add_attachment("note.txt", "text/plain", b"a note")
        picture = BytesIO()
        Image.new("RGB", (32, 32), (200, 30, 30)).save(picture, "JPEG")
        output.add_attachment("cover.jpg", "image/jpeg", picture.getvalue())
        return lambda: None

    make_noisy_clip(path, ("aac", "libopus"), prepare=prepare)


def test_everything_is_kept_in_matroska(tmp_path):
    make_rich_clip(tmp_path / "a.mkv")
    assert take_along(tmp_path / "a.mkv", tmp_path / "b.mkv") == []
    with av.open(str(tmp_path / "b.mkv")) as container:
        tags = container.metadata
        assert (tags["title"], tags["ARTIST"], tags["SOMETHING"]) == ("A title", "Somebody", "else")
        assert tags["creation_time"] == "2021-03-04T05:06:07.000000Z"
        tracks = container.streams.audio
        assert [track.codec_context.name for track in tracks] == ["aac", "opus"]
        assert [track.language for track in tracks] == ["deu", "eng"]
        assert [track.metadata["title"] for track in tracks] == ["Ton", "Comments"]
        assert tracks[1].disposition == Disposition.default | Disposition.comment
        assert not tracks[0].disposition
        assert [chapter["metadata"]["title"] for chapter in container.chapters()] == ["One", "Two"]
        attachment = next(stream for stream in container.streams if isinstance(stream, AttachmentStream))
        assert (attachment.name, attachment.mimetype, attachment.data) == ("note.txt", "text/plain", b"a note")
        cover = container.streams.video[1]
        assert cover.disposition == Disposition.attached_pic
        assert cover.metadata["filename"] == "cover.jpg"


def test_what_mp4_cannot_hold_is_said_by_name(tmp_path):
    make_rich_clip(tmp_path / "a.mkv")
    notices = take_along(tmp_path / "a.mkv", tmp_path / "b.mp4")
    assert notices == [
        "The output's container cannot hold the attachment track 3 (note.txt) of a.mkv; it is left out.",
        "The output's container cannot hold these tags of a.mkv: SOMETHING.",
    ]
    with av.open(str(tmp_path / "b.mp4")) as container:
        assert (container.metadata["title"], container.metadata["artist"]) == ("A title", "Somebody")
        assert container.metadata["creation_time"] == "2021-03-04T05:06:07.000000Z"
        tracks = container.streams.audio
        assert [track.language for track in tracks] == ["deu", "eng"]
        assert [stream_tags(track.metadata)["title"] for track in tracks] == ["Ton", "Comments"]
        assert [bool(track.disposition & Disposition.default) for track in tracks] == [False, True]
        assert [chapter["metadata"]["title"] for chapter in container.chapters()] == ["One", "Two"]
        assert container.streams.video[1].disposition & Disposition.attached_pic
    # And back again: what MP4 has other names for.
    assert take_along(tmp_path / "b.mp4", tmp_path / "c.mkv") == []
    with av.open(str(tmp_path / "c.mkv")) as container:
        assert [track.metadata["title"] for track in container.streams.audio] == ["Ton", "Comments"]
        assert container.streams.video[1].disposition & Disposition.attached_pic


def test_quicktime_has_names_of_its_own_for_languages(tmp_path):
    make_rich_clip(tmp_path / "a.mkv")
    notices = take_along(tmp_path / "a.mkv", tmp_path / "b.mov")
    assert not [notice for notice in notices if "language" in notice]
    with av.open(str(tmp_path / "b.mov")) as container:
        assert [track.language for track in container.streams.audio] == ["ger", "eng"]


def test_what_avi_cannot_hold_is_said_by_name(tmp_path):
    make_rich_clip(tmp_path / "a.mkv")
    notices = take_along(tmp_path / "a.mkv", tmp_path / "b.avi")
    assert notices[0] == "The output's container cannot hold opus: audio track 2 of a.mkv is encoded anew as aac."
    assert "The output's container cannot hold the cover track 4 (mjpeg) of a.mkv; it is left out." in notices
    assert "The output's container cannot hold the 2 chapters of a.mkv." in notices
    assert any(notice.startswith("The output's container cannot hold these tags of a.mkv: ") for notice in notices)
    assert (
        "The output's container cannot hold of audio track 2 of a.mkv: language (eng), its mark as default, its mark "
        "as comment." in [notice.replace("title (Comments), ", "") for notice in notices]
    )


def test_a_cut_moves_chapters(tmp_path):
    make_rich_clip(tmp_path / "a.mkv")
    for suffix in (".mkv", ".mp4"):
        take_along(tmp_path / "a.mkv", tmp_path / f"b{suffix}", start=START, end=END)
        with av.open(str(tmp_path / f"b{suffix}")) as container:
            chapters = [
                tuple(chapter[edge] * (chapter["time_base"] or Fraction(0)) for edge in ("start", "end"))
                for chapter in container.chapters()
            ]
        assert chapters == [(0, 2 - START), (2 - START, END - START)]


@given(
    edges=st.lists(st.integers(0, 10_000), min_size=2, max_size=8, unique=True).map(sorted),
    start=st.integers(0, 9_000),
    length=st.integers(1, 9_000),
)
def test_chapters_of_a_part_cover_what_they_covered(edges, start, length):
    base = Fraction(1, 1000)
    chapters: list[Any] = [
        {"id": number, "start": begin, "end": end, "time_base": base, "metadata": {"title": str(number)}}
        for number, (begin, end) in enumerate(itertools.pairwise(edges))
    ]
    kept = chapters_within(chapters, Span(start * base, (start + length) * base, trimmed=True))
    covered = {second - start for chapter in chapters for second in range(chapter["start"], chapter["end"])}
    wanted = {second for second in covered if 0 <= second < length}
    assert {second for chapter in kept for second in range(chapter["start"], chapter["end"])} == wanted
    assert all(0 <= chapter["start"] < chapter["end"] <= length for chapter in kept)


def test_tags_that_describe_the_old_file_are_not_kept():
    tags = {"BPS-eng": "1", "_STATISTICS_TAGS-eng": "BPS", "DURATION": "1", "language": "deu", "name": "Ton"}
    assert stream_tags(tags) == {"language": "deu", "title": "Ton"}


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".m4v"])
def test_titles_that_mp4_gives_as_the_name_of_a_handler_are_kept(tmp_path, suffix):
    def name_tracks(output):
        output.streams.video[0].metadata["handler_name"] = "Camera 2"
        output.streams.audio[0].metadata["handler_name"] = "Director's commentary"
        return lambda: None

    make_noisy_clip(tmp_path / "a.mp4", prepare=name_tracks)
    assert take_along(tmp_path / "a.mp4", tmp_path / f"b{suffix}") == []
    with av.open(str(tmp_path / f"b{suffix}")) as container:
        names = [stream.metadata["handler_name"] for stream in container.streams]
    assert names == ["Camera 2", "Director's commentary"]


def test_a_part_without_sound_is_said(tmp_path):
    make_noisy_clip(tmp_path / "a.mp4", delay=Fraction(2), sound_seconds=1.5)
    notices = take_along(tmp_path / "a.mp4", tmp_path / "b.mp4", end=Fraction(1))
    assert notices == ["Track 1 holds nothing in this part of the source."]


@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_sound_of_an_unknown_codec_is_left_out_by_name(tmp_path, suffix):
    """As phones write beside sound that all players know."""
    make_noisy_clip(tmp_path / "a.mkv", ("aac", "aac"))
    written = (tmp_path / "a.mkv").read_bytes()
    (tmp_path / "b.mkv").write_bytes(written.replace(b"A_AAC", b"A_ZZZ", 1))
    notices = take_along(tmp_path / "b.mkv", tmp_path / f"c{suffix}")
    assert notices == ["The output's container cannot hold the audio track 1 of b.mkv; it is left out."]
    late, alike = lag(heard(tmp_path / f"c{suffix}")[0], heard(tmp_path / "a.mkv", 1)[0], 20_000)
    assert abs(late) <= 24
    assert alike > 0.99


@pytest.mark.parametrize("codec", ["aac", "ac3", "libmp3lame", "mp2"])
def test_sound_of_avi_keeps_its_times_in_avi(tmp_path, codec):
    """What AVI says of the bytes of sound would have its times counted in them."""
    make_noisy_clip(tmp_path / "a.mkv", (codec,))
    assert take_along(tmp_path / "a.mkv", tmp_path / "b.avi") == []
    assert take_along(tmp_path / "b.avi", tmp_path / "c.avi") == []
    assert packets_of(tmp_path / "c.avi", 1) == packets_of(tmp_path / "b.avi", 1)
    assert abs(sound_length(tmp_path / "c.avi") - 4) < 0.1
