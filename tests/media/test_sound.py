from __future__ import annotations

import itertools
import wave
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import MediaError, SetupError
from facefusion.media.container import CONTAINERS
from facefusion.media.sound import check_sound_encoder, usable_sound_encoders
from facefusion.media.sound_encoder import SoundSettings, sound_options
from facefusion.media.sound_file import probe_sound
from facefusion.media.sound_line import SLIP, SoundLine
from facefusion.media.span import Span
from tests.media.odd_tracks import RATE, heard, lag, make_noisy_clip, noise, take_along

FLAC = SoundSettings("flac")
RATES = st.sampled_from([8000, 44100, 48000])


def laid_out(line: SoundLine, pieces):
    """The line that comes of pieces of (time, samples), with the number of its first sample; it must have no hole."""
    parts = [part for time, samples in pieces for part in line.place(samples, time)]
    for (at, samples), (following, _) in itertools.pairwise(parts):
        assert following == at + samples.shape[1]
    if not parts:
        return None, np.zeros((1, 0))
    return parts[0][0], np.concatenate([samples for _, samples in parts], axis=1)


@given(
    rate=RATES,
    lengths=st.lists(st.integers(1, 3000), min_size=1, max_size=12),
    start=st.integers(0, 12000),
    length=st.integers(1, 12000),
    jitter=st.lists(st.integers(-15, 15), min_size=12, max_size=12),
)
def test_a_cut_takes_exactly_the_samples_between(rate, lengths, start, length, jitter):
    """Whatever the packets are, and although their times are blurred by milliseconds."""
    total = sum(lengths)
    signal = np.arange(1, total + 1, dtype=np.float64)[None]
    pieces, begin = [], 0
    for number, count in enumerate(lengths):
        blur = Fraction(jitter[number], 1000) if number else 0
        pieces.append((Fraction(begin, rate) + blur, signal[:, begin : begin + count]))
        begin += count
    span = Span(Fraction(start, rate), Fraction(start + length, rate), trimmed=True)
    first, kept = laid_out(SoundLine(rate, 1, span), pieces)
    assert np.array_equal(kept, signal[:, start : start + length])
    assert first in (None, 0)


@given(gap=st.integers(-4000, 200_000), rate=RATES)
def test_gaps_become_silence_and_overlaps_are_cut(gap, rate):
    before, after = np.full((2, 5000), 0.25), np.full((2, 5000), 0.5)
    line = SoundLine(rate, 2, Span())
    at = Fraction(5000 + gap, rate)
    first, kept = laid_out(line, [(Fraction(0), before), (at, after)])
    assert first == 0
    if abs(gap) <= SLIP * rate:
        assert kept.shape[1] == 10_000
        assert line.filled == 0
    else:
        assert kept.shape[1] == 10_000 + gap
        assert line.filled == max(gap, 0)
        assert np.array_equal(kept[:, -5000 - min(gap, 0) :], after[:, -min(gap, 0) :])
        assert not np.any(kept[:, 5000 : 5000 + max(gap, 0)])


def test_a_late_beginning_stays_late_unless_the_container_has_no_times():
    samples, late = np.ones((1, 100)), Fraction(1, 2)
    assert laid_out(SoundLine(1000, 1, Span()), [(late, samples)])[0] == 500
    line = SoundLine(1000, 1, Span(end=Fraction(1)), from_start=True)
    first, kept = laid_out(line, [(late, samples)])
    assert (first, kept.shape[1], kept.sum(), line.filled) == (0, 600, 100, 0)
    assert [(at, part.shape[1]) for at, part in line.fill_up()] == [(600, 400)]


@pytest.mark.parametrize(
    ("encoder", "quality", "options"),
    [
        ("aac", 0, {"flags": "+qscale", "global_quality": "12"}),
        ("aac", 50, {"flags": "+qscale", "global_quality": "118"}),
        ("aac", 80, {"flags": "+qscale", "global_quality": "189"}),
        ("libmp3lame", 25, {"flags": "+qscale", "global_quality": "826"}),
        ("libmp3lame", 80, {"flags": "+qscale", "global_quality": "236"}),
        ("libopus", 0, {"b": "64000"}),
        ("libopus", 50, {"b": "160000"}),
        ("libopus", 100, {"b": "256000"}),
        ("libvorbis", 0, {"flags": "+qscale", "global_quality": "-118"}),
        ("libvorbis", 80, {"flags": "+qscale", "global_quality": "920"}),
        ("flac", 50, {}),
        ("pcm_s16le", 50, {}),
        ("aac", None, {"b": "192000"}),
        ("mp2", 80, {"b": "192000"}),
    ],
)
def test_quality_in_the_encoders_own_terms(encoder, quality, options):
    assert sound_options(encoder, quality, 2) == options


@pytest.mark.parametrize("encoder", ["aac", "libmp3lame", "libopus"])
def test_quality_decides_the_size(tmp_path, encoder):
    make_noisy_clip(tmp_path / "a.mkv", ("flac",), seconds=1)
    sizes = []
    for quality in (0, 100):
        take_along(tmp_path / "a.mkv", tmp_path / "b.mkv", sound=SoundSettings(encoder, quality))
        sizes.append((tmp_path / "b.mkv").stat().st_size)
    assert sizes[1] > 1.5 * sizes[0]


def test_an_encoder_that_the_build_lacks_is_refused_with_those_it_has(tmp_path, monkeypatch):
    make_noisy_clip(tmp_path / "a.mkv", ("flac",), seconds=1)
    monkeypatch.setattr(av, "codecs_available", {"flac", "aac"})
    with pytest.raises(SetupError) as caught:
        check_sound_encoder("libopus")
    assert str(caught.value) == (
        "the FFmpeg in use has no sound encoder libopus. Choose another with --output-audio-encoder: flac, aac."
    )
    check_sound_encoder("flac")
    check_sound_encoder(None)
    with pytest.raises(SetupError, match="has no sound encoder libmp3lame"):
        take_along(tmp_path / "a.mkv", tmp_path / "b.mkv", sound=SoundSettings("libmp3lame"))
    monkeypatch.undo()
    assert {"aac", "flac", "libmp3lame", "libopus", "pcm_s16le"} <= set(usable_sound_encoders())


@pytest.mark.parametrize("encoder", ["flac", "pcm_s16le"])
@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_encoded_anew_without_loss_it_is_the_same_to_the_sample(tmp_path, encoder, suffix):
    make_noisy_clip(tmp_path / "a.mov", ("pcm_s16le",), rate=44_100)
    old, _, _ = heard(tmp_path / "a.mov")
    start, end = Fraction(37, 25), Fraction(71, 25)
    notices = take_along(
        tmp_path / "a.mov", tmp_path / f"b{suffix}", start=start, end=end, sound=SoundSettings(encoder)
    )
    new, rate, first = heard(tmp_path / f"b{suffix}")
    assert (rate, first) == (44_100, 0)
    assert np.array_equal(new, old[round(start * 44_100) : round(end * 44_100)])
    assert notices == [f"As asked: audio track 1 of a.mov is encoded anew as {encoder}."]


@pytest.mark.parametrize(
    ("encoder", "suffix"),
    [
        *(("aac", suffix) for suffix in (".mp4", ".m4v", ".mov", ".mkv", ".avi", ".wmv")),
        *(("libmp3lame", suffix) for suffix in (".mp4", ".mkv")),
        *(("libopus", suffix) for suffix in (".mp4", ".webm")),
        ("pcm_s16le", ".mxf"),
    ],
)
def test_a_cut_is_exact_anywhere_with_an_encoder(tmp_path, encoder, suffix):
    make_noisy_clip(tmp_path / "a.mkv", ("flac",))
    old, _, _ = heard(tmp_path / "a.mkv")
    start, end = Fraction(37, 25), Fraction(71, 25)
    take_along(tmp_path / "a.mkv", tmp_path / f"b{suffix}", start=start, end=end, sound=SoundSettings(encoder))
    new, rate, _ = heard(tmp_path / f"b{suffix}")
    assert rate == RATE
    reference = old[round(start * RATE) :]
    slip = 24 if suffix in (".mkv", ".webm", ".wmv") else 0  # half a millisecond, their clock
    for at in (0, 10_000, 50_000):
        late, alike = lag(new, reference, at, length=6000)
        assert abs(late) <= slip
        assert alike > 0.9
    assert 0 <= len(new) - round((end - start) * RATE) <= 1152  # what the last packet is filled up with


@pytest.mark.parametrize(("volume", "gain"), [(50, 0.5), (10, 0.1), (99, 0.99)])
def test_volume_scales_every_sample(tmp_path, volume, gain):
    make_noisy_clip(tmp_path / "a.mkv", ("flac",), seconds=1)
    old, _, _ = heard(tmp_path / "a.mkv")
    notices = take_along(tmp_path / "a.mkv", tmp_path / "b.mkv", sound=SoundSettings("flac", volume=volume))
    new, _, _ = heard(tmp_path / "b.mkv")
    assert np.abs(new - gain * old).max() <= 0.5 / (1 << 15) + 1e-9
    assert notices == ["As asked: audio track 1 of a.mkv is encoded anew as flac."]


def test_volume_alone_uses_the_containers_own_encoder(tmp_path):
    make_noisy_clip(tmp_path / "a.mkv", ("flac", "aac"), seconds=1)
    take_along(tmp_path / "a.mkv", tmp_path / "b.mp4", sound=SoundSettings(volume=50))
    with av.open(str(tmp_path / "b.mp4")) as container:
        assert [stream.codec_context.name for stream in container.streams.audio] == ["aac", "aac"]
    for track in (0, 1):
        old, new = heard(tmp_path / "a.mkv", track)[0], heard(tmp_path / "b.mp4", track)[0]
        assert np.std(new[4800:40_000]) == pytest.approx(np.std(old[4800:40_000]) / 2, rel=0.02)


def test_no_volume_means_no_sound(tmp_path):
    make_noisy_clip(tmp_path / "a.mp4", seconds=1)
    notices = take_along(tmp_path / "a.mp4", tmp_path / "b.mp4", sound=SoundSettings(volume=0))
    assert notices == ["The sound of a.mp4 is left out, as asked."]
    with av.open(str(tmp_path / "b.mp4")) as container:
        assert not container.streams.audio


@pytest.mark.parametrize(
    ("layout", "encoder", "expected", "said"),
    [
        ("5.1(side)", "libopus", "5.1", ""),
        ("5.1(side)", "aac", "5.1", ""),
        ("5.1(side)", "libmp3lame", "stereo", " (6 to 2 channels)"),
        ("mono", "libopus", "mono", ""),
        ("2.1", "libopus", "3.0", ""),
    ],
)
def test_layouts_that_an_encoder_lacks(tmp_path, layout, encoder, expected, said):
    make_noisy_clip(tmp_path / "a.mkv", ("flac",), seconds=1, layout=layout)
    notices = take_along(tmp_path / "a.mkv", tmp_path / "b.mkv", sound=SoundSettings(encoder))
    assert notices == [f"As asked: audio track 1 of a.mkv is encoded anew as {encoder}{said}."]
    with av.open(str(tmp_path / "b.mkv")) as container:
        assert container.streams.audio[0].codec_context.layout.name == expected
    old, new = heard(tmp_path / "a.mkv")[0], heard(tmp_path / "b.mkv")[0]
    late, alike = lag(new, old, 12_000)
    assert abs(late) <= 24
    assert alike > 0.98


@pytest.mark.parametrize(
    ("rate", "encoder", "expected"),
    [(44_100, "libopus", 48_000), (96_000, "libmp3lame", 48_000), (6000, "aac", 7350), (22_050, "aac", 22_050)],
)
def test_rates_that_an_encoder_lacks(tmp_path, rate, encoder, expected):
    make_noisy_clip(tmp_path / "a.mkv", ("flac",), seconds=2, rate=rate)
    notices = take_along(tmp_path / "a.mkv", tmp_path / "b.mkv", sound=SoundSettings(encoder))
    said = "" if rate == expected else f" ({rate} to {expected} Hz)"
    assert notices == [f"As asked: audio track 1 of a.mkv is encoded anew as {encoder}{said}."]
    new, have, _ = heard(tmp_path / "b.mkv")
    assert have == expected
    assert len(new) / have == pytest.approx(2, abs=0.1)


def test_lost_packets_leave_silence_and_what_follows_in_its_place(tmp_path):
    make_noisy_clip(tmp_path / "a.mkv", ("flac",), lost=lambda time: Fraction(1) <= time < Fraction(3, 2))
    whole = tmp_path / "whole.mkv"
    make_noisy_clip(whole, ("flac",))
    notices = take_along(tmp_path / "a.mkv", tmp_path / "b.mkv", sound=FLAC)
    assert len(notices) == 2
    assert notices[1].startswith("Audio track 1 has gaps of 0.4")
    assert notices[1].endswith(" s in all; silence stands for them.")
    old, new = heard(whole)[0], heard(tmp_path / "b.mkv")[0]
    assert np.array_equal(new[: RATE - 4608], old[: RATE - 4608])
    assert not np.any(new[RATE + 4608 : RATE * 3 // 2 - 4608])
    late, alike = lag(new, old, 2 * RATE)
    assert abs(late) <= 48  # the gap is as long as Matroska's milliseconds say
    assert alike > 0.999
    assert len(new) == pytest.approx(len(old), abs=48)


def test_damaged_packets_are_counted_and_the_rest_stays_in_its_place(tmp_path):
    make_noisy_clip(tmp_path / "a.mp4", ("flac",))
    damage(tmp_path / "a.mp4", tmp_path / "b.mp4", lambda number: 15 <= number < 18)
    notices = take_along(tmp_path / "b.mp4", tmp_path / "c.mkv", sound=FLAC)
    assert "3 packets of audio track 1 could not be decoded." in notices
    old, new = heard(tmp_path / "a.mp4")[0], heard(tmp_path / "c.mkv")[0]
    late, alike = lag(new, old, 3 * RATE)
    assert (late, round(alike, 6)) == (0, 1)
    assert len(new) == len(old)


def damage(source, target, chosen):
    """Copy a clip, some packets of its sound filled with zeros."""
    with av.open(str(source)) as old, av.open(str(target), "w") as new:
        streams = {stream.index: new.add_stream_from_template(stream, opaque=True) for stream in old.streams}
        number = 0
        for packet in old.demux():
            if not packet.size:
                continue
            kept = packet
            if packet.stream.type == "audio":
                if chosen(number):
                    kept = av.Packet(bytes(packet.size))
                    kept.pts, kept.dts, kept.duration = packet.pts, packet.dts, packet.duration
                    kept.time_base = packet.time_base
                number += 1
            kept.stream = streams[packet.stream.index]
            new.mux(kept)


@pytest.mark.parametrize("suffix", list(CONTAINERS))
@pytest.mark.parametrize("asked", usable_sound_encoders())
def test_every_container_takes_every_wish_or_says_what_it_does_instead(tmp_path, suffix, asked):
    make_noisy_clip(tmp_path / "a.mkv", ("flac",), seconds=1)
    notices = take_along(tmp_path / "a.mkv", tmp_path / f"b{suffix}", sound=SoundSettings(asked, 80))
    rules = CONTAINERS[suffix].sound
    used = rules.encoder_for(asked)
    why = "As asked" if used == asked else f"The output's container cannot hold {asked}"
    assert notices == [f"{why}: audio track 1 of a.mkv is encoded anew as {used}."]
    old, new = heard(tmp_path / "a.mkv")[0], heard(tmp_path / f"b{suffix}")[0]
    with av.open(str(tmp_path / f"b{suffix}")) as container:
        picture = container.streams.video[0]
        origin = (
            round((picture.start_time or 0) * (picture.time_base or 0) * RATE) if suffix in (".mpg", ".mpeg") else 0
        )
    late, alike = lag(new[origin:], old, 20_000)
    assert abs(late) <= 48
    assert alike > 0.98


def test_sound_files_that_cannot_be_used(tmp_path):
    make_noisy_clip(tmp_path / "silent.mp4", (), seconds=1)
    with pytest.raises(MediaError, match=r"silent\.mp4 holds no sound\. Name a sound file among --source-paths"):
        probe_sound(tmp_path / "silent.mp4")
    (tmp_path / "text.mp3").write_text("no sound at all " * 40)
    with pytest.raises(MediaError, match=r"text\.mp3 is no sound that can be read"):
        probe_sound(tmp_path / "text.mp3")
    with pytest.raises(MediaError, match="does not exist"):
        probe_sound(tmp_path / "none.mp3")


@pytest.mark.parametrize(
    ("place", "number"),
    # Of the header (RIFF, "WAVEfmt "): samples a second, and bits a sample, of which there is no codec.
    [(24, b"\0\0\0\0"), (34, b"\xff\xff")],
)
def test_sound_that_nothing_decodes_is_an_error_that_says_what_to_do(tmp_path, place, number):
    path = tmp_path / "a.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 2, 44100, 0, "NONE", ""))
        file.writeframes(bytes(4000))
    data = path.read_bytes()
    path.write_bytes(data[:place] + number + data[place + len(number) :])
    with pytest.raises(MediaError, match=r"a\.wav (holds no sound that can be decoded|is no sound that can be read)"):
        probe_sound(path)


def test_noise_is_told_apart():
    """The measure that the tests rely on."""
    signal = noise(2)
    assert lag(np.concatenate((np.zeros(100), signal)), signal, 20_000)[0] == 100
    assert lag(noise(2, seed=1), signal, 20_000)[1] < 0.2
