"""From high dynamic range to BT.709, where the result's pixel format is too shallow for the former.

Light above the display's is rolled off as in ITU-R BT.2390-8, 5.4.1 (EETF), the rest stays what it is. The rule is
tabulated once over the cube of R'G'B' and applied by FFmpeg's ``lut3d``, since FFmpeg's own ``scale`` takes the whole
10000 cd/m2 of PQ, or whatever display a file claims, for what is shown, and makes pictures much too dark.
"""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from av.filter import Graph
from av.video.frame import VideoFrame

from facefusion.media.colour import FULL, HLG, LIMITED, PQ, ColourDescription
from facefusion.media.hdr import HdrMetadata
from facefusion.vision.colour import Matrix
from facefusion.vision.dynamic_range import (
    BT2020_TO_BT709,
    DISPLAY_GAMMA,
    GREATEST_PEAK,
    HLG_SYSTEM_GAMMA,
    USUAL_PEAK,
    WHITE,
    Light,
    hlg_scene,
    pq_light,
    rolled_off,
)

TRANSFERS = {PQ: "HDR (PQ)", HLG: "HDR (HLG)"}

SDR = ColourDescription(matrix=1, range=LIMITED, primaries=1, transfer=1)
"""What tone-mapped pictures are: BT.709."""

CUBE_SIDE = 65
"""Points of the table per component: one colour in a hundred is then off by 6 levels of 8 bits, with 33 by 12."""


@dataclass(frozen=True, slots=True)
class ToneMap:
    """What is made of high dynamic range."""

    transfer: int
    """:data:`PQ` or :data:`HLG`; primaries are BT.2020's."""
    peak: float = USUAL_PEAK
    """cd/m2 that become the result's white."""

    @classmethod
    def of(cls, colour: ColourDescription, hdr: HdrMetadata | None) -> ToneMap | None:
        """The mapping for a stream; none where it is of standard dynamic range."""
        if colour.transfer not in TRANSFERS:
            return None
        if colour.transfer == HLG or hdr is None:
            return cls(colour.transfer)
        peaks = [float(hdr.light.pixel)] if hdr.light is not None and hdr.light.pixel else []
        peaks += [float(hdr.mastering.brightest)] if hdr.mastering is not None else []
        peak = min(peaks, default=USUAL_PEAK)
        return cls(colour.transfer, min(max(peak, WHITE), GREATEST_PEAK))

    def apply(self, codes: Light) -> Light:
        """BT.709's R'G'B' for R'G'B' of the source, both ... x 3 and 0..1."""
        light = _hlg_light(codes) if self.transfer == HLG else pq_light(codes)
        brightest = light.max(axis=-1, keepdims=True)
        gain = rolled_off(brightest, self.peak) / np.maximum(brightest, 1e-6)
        shown = (light * gain / WHITE) @ BT2020_TO_BT709.T
        return np.asarray(_within_gamut(shown) ** (1.0 / DISPLAY_GAMMA))

    def cube(self) -> Light:
        """:meth:`apply` for a grid of all colours, side x side x side x 3; the axes are blue, green and red."""
        axis = np.linspace(0.0, 1.0, CUBE_SIDE)
        blue, green, red = np.meshgrid(axis, axis, axis, indexing="ij")
        return self.apply(np.stack((red, green, blue), axis=-1))


def _hlg_light(codes: Light) -> Light:
    """cd/m2 on a display of 1000 cd/m2: inverse OETF and OOTF of BT.2100, table 5."""
    scene = hlg_scene(codes)
    red, blue = Matrix.BT2020.value
    luminance = scene @ np.array([red, 1.0 - red - blue, blue])
    return np.asarray(USUAL_PEAK * scene * luminance[..., None] ** (HLG_SYSTEM_GAMMA - 1.0))


def _within_gamut(light: Light) -> Light:
    """Colours outside 0..1 brought to its border along the line to the grey of their luminance, which keeps the hue."""
    red, blue = Matrix.BT709.value
    grey = np.clip(light @ np.array([red, 1.0 - red - blue, blue]), 0.0, 1.0)[..., None]
    away = light - grey
    room = np.where(away > 0, 1.0 - grey, grey)
    share = np.min(room / np.maximum(np.abs(away), 1e-9), axis=-1, keepdims=True)
    return np.asarray(np.clip(grey + away * np.minimum(share, 1.0), 0.0, 1.0))


class ToneMapper:
    """Maps frames of one format and size. One thread at a time."""

    def __init__(self, tone_map: ToneMap, source: ColourDescription, pixel_format: str) -> None:
        """Prepare to map.

        Args:
            tone_map: the rule.
            source: colour of the frames.
            pixel_format: of the results.
        """
        self._tone_map = tone_map
        self._source = source
        self._pixel_format = pixel_format
        self._graph: Graph | None = None

    def __call__(self, frame: VideoFrame) -> VideoFrame:
        """The frame in BT.709."""
        if self._graph is None:
            self._graph = self._build(frame)
        self._graph.push(frame)
        mapped = self._graph.pull()
        if not isinstance(mapped, VideoFrame):
            raise TypeError(f"FFmpeg's filter gave {type(mapped).__name__} for a frame")
        return mapped

    def _build(self, frame: VideoFrame) -> Graph:
        graph = Graph()
        given = "full" if self._source.range == FULL or frame.format.is_rgb else "limited"
        with tempfile.TemporaryDirectory(prefix="facefusion-") as folder:
            table = Path(folder) / "tone.cube"
            write_cube(table, self._tone_map.cube())
            links = [
                graph.add_buffer(
                    width=frame.width, height=frame.height, format=frame.format, time_base=frame.time_base
                ),
                graph.add("scale", in_color_matrix="bt2020", in_range=given, out_range="full", flags=SCALER),
                graph.add("format", pix_fmts="gbrp16le"),
                graph.add("lut3d", file=str(table), interp="tetrahedral"),
                graph.add("scale", out_color_matrix="bt709", in_range="full", out_range="limited", flags=SCALER),
                graph.add("format", pix_fmts=self._pixel_format),
                graph.add("buffersink"),
            ]
            for one, next_one in itertools.pairwise(links):
                one.link_to(next_one)
            graph.configure()
        return graph


SCALER = "bicubic+accurate_rnd+full_chroma_int"


def write_cube(path: Path, cube: Light) -> None:
    """Write a table as a .cube file, red running quickest, as that format wants."""
    rows = "\n".join(f"{red:.6f} {green:.6f} {blue:.6f}" for red, green, blue in cube.reshape(-1, 3).tolist())
    path.write_text(f"LUT_3D_SIZE {cube.shape[0]}\n{rows}\n", encoding="ascii")
