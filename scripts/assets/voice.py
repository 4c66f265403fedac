"""A voice-like sound with the rhythm of syllables, and the mouth that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

SAMPLE_RATE = 48_000
Sound: TypeAlias = npt.NDArray[np.float32]
"""Shape (2, n), -1..1."""

_VOWELS = {
    "a": (800.0, 1250.0, 2700.0, 1.0, 0.0),
    "e": (520.0, 1950.0, 2700.0, 0.55, 0.0),
    "i": (320.0, 2350.0, 3050.0, 0.3, 0.0),
    "o": (520.0, 900.0, 2600.0, 0.7, 0.7),
    "u": (340.0, 800.0, 2500.0, 0.35, 1.0),
}
"""First three formants in Hz (textbook means of women's voices, rounded), jaw opening and lip rounding, 0..1."""
_BANDWIDTHS = (90.0, 120.0, 180.0)
_HARMONICS = 24
_PHRASE = "aoe.iaue.aoia.eoaie."
_SYLLABLE_SECONDS = 0.19
_SEED = 20240607


@dataclass(frozen=True, slots=True)
class Syllable:
    """One vowel with its onset."""

    vowel: str
    start: float
    end: float


class Voice:
    """Speech without words for a clip of ``duration`` seconds. The same duration gives the same samples."""

    def __init__(self, duration: float) -> None:
        self._duration = duration
        self._syllables = _syllables(duration)

    def mouth(self, time: float) -> tuple[float, float]:
        """Jaw opening and lip rounding at ``time`` seconds, both 0..1."""
        now = np.array([time])
        jaw = sum(_VOWELS[part.vowel][3] * float(_envelope(part, now)[0]) for part in self._syllables)
        rounding = sum(_VOWELS[part.vowel][4] * float(_envelope(part, now)[0]) for part in self._syllables)
        return min(jaw, 1.0), min(rounding, 1.0)

    def samples(self) -> Sound:
        """The sound: a voice in the middle over soft room tone, different on each side."""
        count = round(self._duration * SAMPLE_RATE)
        time = np.arange(count) / SAMPLE_RATE
        pitch = 196.0 * (1.0 + 0.06 * np.sin(2.0 * np.pi * 0.6 * time) + 0.012 * np.sin(2.0 * np.pi * 5.3 * time))
        phase = 2.0 * np.pi * np.cumsum(pitch) / SAMPLE_RATE
        voiced = np.zeros(count)
        for part in self._syllables:
            span = slice(max(int(part.start * SAMPLE_RATE), 0), min(int(part.end * SAMPLE_RATE), count))
            tone = _vowel(_VOWELS[part.vowel][:3], phase[span], pitch[span])
            voiced[span] += tone * _envelope(part, time[span])
        voiced *= 0.35 / max(float(np.abs(voiced).max()), 1e-9)
        noise = np.random.default_rng(_SEED)
        room = np.stack([_room_tone(noise.standard_normal(count)) for _ in range(2)])
        fade = np.clip(np.minimum(time, self._duration - time) / 0.05, 0.0, 1.0)
        return np.asarray((voiced + room) * fade, np.float32)


def _syllables(duration: float) -> tuple[Syllable, ...]:
    result = []
    start, index = 0.12 * duration**0.5, 0
    while start + _SYLLABLE_SECONDS < duration - 0.15:
        letter = _PHRASE[index % len(_PHRASE)]
        length = _SYLLABLE_SECONDS * (1.0 + 0.25 * ((index * 7) % 5 - 2) / 2.0)
        if letter != ".":
            result.append(Syllable(letter, start, start + length * 1.15))
        start += length
        index += 1
    return tuple(result)


def _envelope(part: Syllable, time: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    share = (time - part.start) / (part.end - part.start)
    inside = (share > 0.0) & (share < 1.0)
    return np.where(inside, np.sin(np.pi * np.clip(share, 0.0, 1.0)) ** 1.5, 0.0)


def _vowel(
    formants: tuple[float, ...], phase: npt.NDArray[np.float64], pitch: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Harmonics of a glottal pulse train (12 dB per octave) weighted by resonances at the formants."""
    tone = np.zeros_like(phase)
    for number in range(1, _HARMONICS + 1):
        frequency = number * pitch
        gain = sum(
            1.0 / (1.0 + ((frequency - formant) / width) ** 2)
            for formant, width in zip(formants, _BANDWIDTHS, strict=True)
        )
        tone += (0.04 + gain) / number**0.9 * np.sin(number * phase)
    return tone


def _room_tone(white: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Noise that falls with frequency, at about -57 dB of full scale."""
    spectrum = np.fft.rfft(white)
    frequency = np.fft.rfftfreq(len(white), 1.0 / SAMPLE_RATE)
    spectrum *= 1.0 / np.sqrt(1.0 + (frequency / 180.0) ** 2)
    tone = np.fft.irfft(spectrum, len(white))
    return tone * (0.0014 / float(np.std(tone)))
