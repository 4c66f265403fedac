"""The file in a form (RFC 7578), piece by piece as it arrives. Its name, and all other fields, are passed over."""

from __future__ import annotations

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from facefusion.core.errors import UsageError

FIELD = b"file"
MOST_PARTS = 16
MOST_BESIDE = 1 << 20
"""Bytes of a form that are not the file's."""

REMEDY = "Send the file's bytes as the body, or a form whose field 'file' is the file."


class FormFile:
    """Finds the file in a form.

    Args:
        content_type: of the request.

    Raises:
        UsageError: it names no boundary, or one that is none.
    """

    def __init__(self, content_type: str) -> None:
        _, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if not boundary:
            raise UsageError("the form names no boundary", REMEDY)
        self._name, self._value = bytearray(), bytearray()
        self._disposition = b""
        self._parts = 0
        self._beside = 0
        self._inside = False
        self._found: list[bytes] = []
        self.is_there = False
        """Whether the file began."""
        self._ended = False
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._on_part,
                    "on_header_field": self._on_name,
                    "on_header_value": self._on_value,
                    "on_header_end": self._on_header,
                    "on_headers_finished": self._on_headers,
                    "on_part_data": self._on_data,
                    "on_part_end": self._on_end,
                    "on_end": self._on_close,
                },
            )
        except FormParserError as error:
            raise _unreadable(error) from error

    def feed(self, data: bytes) -> bytes:
        """What of the file is in the next piece of the form.

        Raises:
            UsageError: it is no form, or one with too much beside the file.
        """
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _unreadable(error) from error
        found = b"".join(self._found)
        self._found.clear()
        # The limits of uploads see the file alone, and what is passed over could come for ever.
        self._beside += len(data) - len(found)
        if self._beside > MOST_BESIDE:
            raise UsageError(f"the form has more than {MOST_BESIDE} bytes beside the file", REMEDY)
        return found

    def close(self) -> None:
        """Make sure that the form came to its end and held a file.

        Raises:
            UsageError: it did not.
        """
        if not self._ended:
            raise UsageError("the form breaks off", REMEDY)
        if not self.is_there:
            raise UsageError("the form has no field 'file'", REMEDY)

    def _on_part(self) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise UsageError(f"the form has more than {MOST_PARTS} parts", REMEDY)
        self._name.clear()
        self._value.clear()
        self._disposition = b""

    def _on_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header(self) -> None:
        if bytes(self._name).lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._name.clear()
        self._value.clear()

    def _on_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        # A second file of the name is passed over, like everything else.
        self._inside = options.get(b"name") == FIELD and not self.is_there
        self.is_there = self.is_there or self._inside

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._inside:
            self._found.append(data[start:end])

    def _on_end(self) -> None:
        self._inside = False

    def _on_close(self) -> None:
        self._ended = True


def _unreadable(error: FormParserError) -> UsageError:
    return UsageError(f"the form cannot be read ({error})", REMEDY)
