"""Looking for faces in a whole picture: size, margin and quarter turns around any detector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Picture, Size
from facefusion.faces.detect.base import Detections, FaceDetector, joined

DEFAULT_LIMIT = Size(640, 640)


class FaceSearch:
    """Finds faces in pictures of any size by way of a small copy.

    Args:
        detector: looks at the small copy.
        limit: the copy, margin included, fits into this.
        minimum_score: 0..1, what a face must score.
        margin: black border to add before looking: top, right, bottom, left, each as percent of half the picture's
            height or width. Helps with faces that fill the picture.
    """

    def __init__(
        self,
        detector: FaceDetector,
        limit: Size = DEFAULT_LIMIT,
        minimum_score: float = 0.5,
        margin: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> None:
        self.scores = detector.scores
        """What the scores of finds mean."""
        self._detector = detector
        self._limit = limit
        self._minimum_score = minimum_score
        self._margin = margin

    def find(self, picture: Picture, angles: Sequence[int] = (0,)) -> Detections:
        """Find the faces that stand upright once the picture is turned by one of ``angles``.

        Args:
            picture: only read.
            angles: degrees counter-clockwise, each 0, 90, 180 or 270.

        Returns:
            Finds in frame coordinates, angle by angle, best first within each. One face may be found at several angles,
            with points that are right at one of them only; which one, the score alone does not tell.
        """
        canvas, scale, corner = self._canvas(picture)
        finds = [self._look(canvas, angle) for angle in angles]
        found = joined(finds)
        # Edges scale plainly; a pixel's centre lies half a pixel in, on either side of the scaling.
        points = (found.points - corner + 0.5) * scale - 0.5
        boxes = (found.boxes - np.tile(corner, 2) + 0.5) * np.tile(scale, 2) - 0.5
        return Detections(boxes, found.scores, points)

    def _canvas(
        self, picture: Picture
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The small copy with its margin, frame pixels per copy pixel (x, y), and where the copy lies on the canvas."""
        width, height = picture.size
        top, right, bottom, left = (
            side * percent / 200 for side, percent in zip((height, width, height, width), self._margin, strict=True)
        )
        shrink = min(1.0, self._limit.width / (width + left + right), self._limit.height / (height + top + bottom))
        small = Size(max(1, round(width * shrink)), max(1, round(height * shrink)))
        image = picture.thumbnail(small)
        top, right, bottom, left = (int(border * shrink) for border in (top, right, bottom, left))
        if any((top, right, bottom, left)):
            image = np.pad(image, ((top, bottom), (left, right), (0, 0)))
        scale = np.array((width / small.width, height / small.height), np.float32)
        return image, scale, np.array((left, top), np.float32)

    def _look(self, canvas: npt.NDArray[np.uint8], angle: int) -> Detections:
        height, width = canvas.shape[:2]
        found = self._detector.detect(np.rot90(canvas, angle // 90), self._minimum_score)
        if angle == 0:
            return found
        first, last = (
            _turn_back(found.boxes[:, :2], angle, width, height),
            _turn_back(found.boxes[:, 2:], angle, width, height),
        )
        boxes = np.concatenate((np.minimum(first, last), np.maximum(first, last)), axis=1)
        return Detections(boxes, found.scores, _turn_back(found.points, angle, width, height))


def _turn_back(points: npt.NDArray[np.float32], angle: int, width: int, height: int) -> npt.NDArray[np.float32]:
    """Points (..., 2) of a canvas turned counter-clockwise by ``angle``, on the canvas of the given size before."""
    x, y = points[..., 0], points[..., 1]
    match angle:
        case 90:
            turned = (width - 1 - y, x)
        case 180:
            turned = (width - 1 - x, height - 1 - y)
        case 270:
            turned = (y, height - 1 - x)
        case _:
            raise ValueError(f"a quarter turn is 0, 90, 180 or 270 degrees, not {angle}")
    return np.stack(turned, axis=-1)
