"""The finished frames of a video as image files in its work folder, for people to look at and to change.

::

    <work folder>/frames/00000012.png  the frame of index 12 in the target
    <work folder>/frames.txt           what the program wrote: index, size and CRC-32 of each file, a line each

A file that is none of those that the program wrote was changed by someone. It is not written over, and what differs in
it is pasted into the frame before that is encoded. So the encoder gets the decoder's own pixels everywhere else.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from facefusion.core.errors import MediaError
from facefusion.core.storage import flush, flush_folder, refusal
from facefusion.core.values import Picture
from facefusion.media.frame_image import FRAME_FORMATS, FrameFormat, take_over
from facefusion.media.image import read_image
from facefusion.pipeline.work_root import REMEDY

FOLDER = "frames"
LEDGER = "frames.txt"
ENTRY = re.compile(r"(?P<index>[0-9]{8,}) (?P<size>[0-9]+) (?P<checksum>[0-9a-f]{8})")
NUMBERS_SHOWN = 10
SAVE_AGAIN = "Save it again as it should be, or remove it to have it made anew."


class Content(NamedTuple):
    """What is in a file, short enough to keep."""

    size: int
    checksum: int
    """CRC-32."""

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Of a file's bytes."""
        return cls(len(data), zlib.crc32(data))


@dataclass(frozen=True, slots=True)
class FrameFile:
    """The file of a frame at the time when the frame was encoded."""

    content: Content
    edited: bool
    """Someone changed it, and the change is in the result."""


class FrameFiles:
    """Writes frames, and takes over what was changed in them. A context manager; any thread may use it.

    Args:
        work: the folder of the run.
        form: of the files.
    """

    def __init__(self, work: Path, form: FrameFormat) -> None:
        self.folder = work / FOLDER
        self._form = form
        self._ledger = _Ledger(work / LEDGER)
        self._transparency_changed = False

    def __enter__(self) -> Self:
        """Begin to write.

        Raises:
            OutputError: the folder cannot be made.
            ResourceError: the disk is full.
        """
        try:
            self.folder.mkdir(exist_ok=True)
            self._ledger.open()
        except OSError as error:
            raise refusal(error, self.folder, REMEDY) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ledger.close()

    def path_of(self, index: int) -> Path:
        """Where the frame of that index belongs."""
        return self.folder / f"{index:08d}{self._form.suffix}"

    def holds(self, index: int, file: FrameFile) -> bool:
        """Whether a frame's file still is what it was.

        Raises:
            MediaError: it cannot be read.
        """
        data = self._read(self.path_of(index))
        return data is not None and Content.of(data) == file.content

    def keep(self, index: int, picture: Picture) -> FrameFile:
        """Write the file of a finished frame, or take over what someone changed in the one that is there.

        Args:
            index: of the frame in the target.
            picture: finished; changes are pasted into it.

        Raises:
            MediaError: the file that is there cannot be read as an image, or is of another size.
            OutputError: the file cannot be written.
            ResourceError: the disk is full.
        """
        path = self.path_of(index)
        codes = self._form.codes_of(picture)
        data = self._form.encode(codes)
        mine, found = Content.of(data), self._read(path)
        if found and found != data and not self._ledger.has(index, Content.of(found)):
            shown = self._form.shown(data, codes)
            self._transparency_changed |= take_over(_edited(path, picture), shown, picture)
            return FrameFile(Content.of(found), edited=True)
        try:
            self._ledger.add(index, mine)
            if found != data:
                part = path.with_name(f"{path.name}.part")
                part.write_bytes(data)
                part.replace(path)
        except OSError as error:
            raise refusal(error, path, REMEDY) from error
        return FrameFile(mine, edited=False)

    def flush(self, files: Mapping[int, FrameFile]) -> None:
        """Return once the disk holds the files that were written, by index. All at once is ten times as quick as each.

        Where the power fails before that, a file may be empty; that is why an empty one is never taken for a change.

        Raises:
            OutputError: it cannot.
            ResourceError: the disk is full.
        """
        try:
            for index, file in files.items():
                if not file.edited:
                    flush(self.path_of(index))
            flush_folder(self.folder)
        except OSError as error:
            raise refusal(error, self.folder, REMEDY) from error

    def notices(self, edited: Sequence[int], *, made: bool, keep: bool) -> Iterator[str]:
        """What the user should know at the end of a run.

        Args:
            edited: frames of the result that show what someone changed.
            made: whether any segment was made in this run.
            keep: whether the files stay.
        """
        if others := self._other_formats():
            yield (
                f"{self.folder} holds frames as {', '.join(others)} too, of a run with another --temp-frame-format; "
                f"what is changed in those is not in the result."
            )
        if edited:
            more = len(edited) - NUMBERS_SHOWN
            shown = ", ".join(map(str, edited[:NUMBERS_SHOWN])) + (f" and {more} more" if more > 0 else "")
            yield f"What was changed by hand in these frames is in the result: {shown}."
        if self._transparency_changed:
            yield "Transparency was changed in frames by hand, which is not in the result: only colours are taken over."
        if not made:
            yield f"No frame in {self.folder} was changed since the run before; its segments were put together again."
        if keep:
            yield (
                f"The finished frames are kept in {self.folder}. Change some and run the same command again to have "
                f"the changes in the result."
            )

    def _other_formats(self) -> list[str]:
        """Formats of frames that runs with another ``--temp-frame-format`` left."""
        suffixes = {path.suffix for path in self.folder.iterdir() if path.stem.isdecimal()}
        return [form.name for form in FRAME_FORMATS.values() if form is not self._form and form.suffix in suffixes]

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MediaError(f"the frame {path} cannot be read ({error.strerror})", SAVE_AGAIN) from error


def _edited(path: Path, picture: Picture) -> Picture:
    try:
        edited = read_image(path)
    except MediaError as error:
        raise MediaError(f"the frame {path} was changed and cannot be read ({error.fault})", SAVE_AGAIN) from error
    if edited.size != picture.size:
        raise MediaError(
            f"the frame {path} was changed to {edited.size.width} x {edited.size.height} pixels; "
            f"the video has {picture.size.width} x {picture.size.height}",
            SAVE_AGAIN,
        )
    return edited


class _Ledger:
    """What the program wrote, remembered over any end of it.

    An entry is there before the file is, so a file without one is none of the program's. A line that breaks off, after
    which the next one would be lost too, is ended when the ledger is opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: defaultdict[int, set[Content]] = defaultdict(set)
        self._file: FileIO | None = None

    def open(self) -> None:
        self._file = FileIO(self._path, "a")
        text = self._path.read_text(encoding="ascii", errors="replace")
        for line in text.splitlines():
            if entry := ENTRY.fullmatch(line):
                content = Content(int(entry["size"]), int(entry["checksum"], 16))
                self._known[int(entry["index"])].add(content)
        if text and not text.endswith("\n"):
            self._file.write(b"\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def has(self, index: int, content: Content) -> bool:
        with self._lock:
            return content in self._known[index]

    def add(self, index: int, content: Content) -> None:
        with self._lock:
            if self._file is None or content in self._known[index]:
                return
            self._file.write(f"{index:08d} {content.size} {content.checksum:08x}\n".encode())
            self._known[index].add(content)
