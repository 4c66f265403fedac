"""What an XMP packet says of the source type, and a packet that says it.

A packet that is there already is not written anew: what it says of the source type is cut out of its text, and one
element is put in. So all else stays as it is to the byte, whatever prefixes, comments or line ends it has.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from facefusion.provenance.records import SourceType

IPTC_EXTENSION = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
"""Namespace of the IPTC Extension schema (IPTC Photo Metadata Standard)."""
PROPERTY = "DigitalSourceType"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NOTE = "http://ns.adobe.com/xmp/note/"
TERMS = "http://purl.org/dc/terms/"

LARGEST = 1 << 24
"""Bytes of a packet that is looked at: a hundred times what programs write."""

HEAD = b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
"""ISO 16684-1, 7.3.2; the name is fixed."""
TAIL = b'\n<?xpacket end="w"?>'
EMPTY = HEAD + b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="%b"/></x:xmpmeta>' % RDF.encode() + TAIL

_SEPARATOR = " "
_ESCAPES = {ord(one): f"&#{ord(one)};" for one in '&<>"\t\n\r'}
"""Of an attribute's value. The standard library's own come with its network client."""
_TAG = re.compile(rb"(?:[^\"'>]|\"[^\"]*\"|'[^']*')*+>")
_ATTRIBUTE = re.compile(rb"\s+([^\s=/>]+)\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_DECLARATION = re.compile(r"<\?xml\s[^>]*\?>\s*")
_WIDE = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"), (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))

_Name = tuple[str, str]
"""Namespace and local name."""
_SOURCE_TYPE = (IPTC_EXTENSION, PROPERTY)
_EXTENSION = (NOTE, "HasExtendedXMP")
_PROVENANCE = (TERMS, "provenance")
_TAKEN = (_SOURCE_TYPE, _EXTENSION, _PROVENANCE)
_WEB = ("http:", "https:")
"""With what an address of the web's begins, in any case of letters (RFC 3986, 3.1); the library that reads manifests
does without the slashes, too."""
_WITHIN = "self#jumbf="
"""With what the place of a manifest begins that the file holds itself (C2PA specification, 11.3)."""
_DESCRIBED = 2
"""How deep below the tree's root, ``rdf:RDF``, a property of the file lies."""


class BrokenPacketError(ValueError):
    """What is taken for a packet is none; the message says why, to follow "since"."""


@dataclass(slots=True)
class _Survey:
    """What lies where in a packet's text."""

    text: bytes
    values: list[str] = field(default_factory=list)
    """The source types, as they are written."""
    cuts: list[tuple[int, int]] = field(default_factory=list)
    """The stretches that say them, and those that name an extended packet or the place of a manifest."""
    tree: tuple[int, bool] | None = None
    """Where the end tag of ``rdf:RDF`` begins, or its only tag where it is empty, which is said then."""
    about: str = ""
    """What the packet describes."""
    extended: str = ""
    """The name under which a JPEG keeps the rest of it."""
    address: str = ""
    """Where the file's manifest lies, when it does not lie in the file."""


def packet(source_type: SourceType, existing: bytes = b"") -> bytes:
    """A packet that says how the file came to be.

    Args:
        source_type: what to say; it takes the place of what the existing packet says of it.
        existing: the packet to say it in; all else in it is kept, but for the name of an extended packet, which stays
            behind (:func:`extension_of` tells), and the place of a manifest, which is another file's
            (:func:`address_of` tells). One that is broken is replaced as a whole, since no program could read it:
            :func:`fault_of` tells.
    """
    try:
        return _merged(_survey(existing or EMPTY), source_type)
    except BrokenPacketError:
        return _merged(_survey(EMPTY), source_type)


def fault_of(existing: bytes) -> str | None:
    """Why a packet cannot be kept, to follow "since"; none where it can, and where there is none."""
    if not existing:
        return None
    try:
        _survey(existing)
    except BrokenPacketError as error:
        return str(error)
    return None


def source_types_in(packet: bytes) -> tuple[str, ...]:
    """The source types that a packet gives the file itself, as they are written, known to the vocabulary or not.

    Raises:
        BrokenPacketError: it is no packet.
    """
    return tuple(_survey(packet).values)


def extension_of(packet: bytes) -> str:
    """The name of what a JPEG keeps of a packet elsewhere (``xmpNote:HasExtendedXMP``); empty where that is nothing.

    Raises:
        BrokenPacketError: it is no packet.
    """
    return _survey(packet).extended


def address_of(packet: bytes) -> str:
    """Where the file's manifest lies, when it does not lie in the file (``dcterms:provenance``); empty where none does.

    A text that is no address of the web's, such as who owned a painting, is none.

    Raises:
        BrokenPacketError: it is no packet.
    """
    return _survey(packet).address


def _merged(survey: _Survey, source_type: SourceType) -> bytes:
    text = survey.text
    if survey.tree is None:
        raise BrokenPacketError("it holds no rdf:RDF")
    place, empty = survey.tree
    said = (
        f'<rdf:Description rdf:about="{survey.about.translate(_ESCAPES)}" xmlns:rdf="{RDF}" '
        f'xmlns:Iptc4xmpExt="{IPTC_EXTENSION}">'
        f"<Iptc4xmpExt:{PROPERTY}>{source_type.value}</Iptc4xmpExt:{PROPERTY}></rdf:Description>"
    ).encode()
    stop = place
    if empty:
        stop = _tag_end(text, place)
        tag = text[place:stop]
        name = tag[1:].split(None, 1)[0].rstrip(b"/>")
        said = tag[: tag.rindex(b"/")] + b">" + said + b"</" + name + b">"
    parts, position = [], 0
    for start, end in (*survey.cuts, (place, stop)):
        parts.append(text[position:start])
        position = end
    return b"".join((*parts, said, text[position:]))


def _survey(packet: bytes) -> _Survey:
    if len(packet) > LARGEST:
        raise BrokenPacketError(f"it is longer than {LARGEST >> 20} MiB")
    survey = _Survey(_as_utf8(packet))
    parser = expat.ParserCreate("utf-8", _SEPARATOR)
    parser.ordered_attributes = True
    parser.namespace_prefixes = True
    _Reader(survey, parser)
    try:
        parser.Parse(survey.text, True)
    except expat.ExpatError as error:
        raise BrokenPacketError(f"it is no XML ({error})") from error
    if survey.tree is None:
        raise BrokenPacketError("it holds no rdf:RDF")
    return survey


def _as_utf8(packet: bytes) -> bytes:
    """UTF-8, which all formats but a few old writers' use; without what lies around the text."""
    for mark, encoding in _WIDE:
        if packet.startswith(mark):
            try:
                text = packet[: len(packet) & ~1].decode(encoding)
            except UnicodeDecodeError as error:
                raise BrokenPacketError("its text is damaged") from error
            return _DECLARATION.sub("", text.strip(" \t\r\n\0\ufeff"), count=1).encode()
    return packet.strip(b" \t\r\n\0")


def _tag_end(text: bytes, start: int) -> int:
    found = _TAG.match(text, start)
    if found is None:
        raise BrokenPacketError("one of its tags is damaged")
    return found.end()


def _is_empty(text: bytes, start: int) -> bool:
    """Whether the tag that begins there is the end of its element too."""
    return text[start : _tag_end(text, start)].endswith(b"/>")


class _Reader:
    """Goes through a packet's text."""

    def __init__(self, survey: _Survey, parser: expat.XMLParserType) -> None:
        self._survey = survey
        self._parser = parser
        self._depth = 0
        self._root: int | None = None
        """Depth of ``rdf:RDF``."""
        self._begin = 0
        self._named = ("", "")
        """The property that is being read, ..."""
        self._said: list[str] | None = None
        """... what it says, ..."""
        self._property = 0
        """... and where it begins."""
        self._described = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse

    @staticmethod
    def _refuse(*_: object) -> None:
        # Entities can grow without bound, and XMP has no use for them (ISO 16684-1, 7.3.1).
        raise BrokenPacketError("it declares a document type, which XMP does not have")

    def _start(self, name: str, attributes: Sequence[str]) -> None:
        self._depth += 1
        named = _split(name)
        if self._root is None:
            if named == (RDF, "RDF") and self._survey.tree is None:
                self._root = self._depth
                self._begin = self._parser.CurrentByteIndex
            return
        if self._depth == self._root + 1:
            self._describe(attributes)
        elif self._depth == self._root + _DESCRIBED and named in _TAKEN:
            self._begin_property(named, attributes)

    def _describe(self, attributes: Sequence[str]) -> None:
        for name, value in zip(attributes[::2], attributes[1::2], strict=True):
            named = _split(name)
            if named == (RDF, "about") and not self._described:
                self._survey.about, self._described = value, True
            elif named in _TAKEN and self._say(named, value.strip()):
                self._cut_attribute(name)

    def _say(self, named: _Name, value: str) -> bool:
        """Take note of a property, and say whether a result has it to be cut out."""
        if named == _SOURCE_TYPE:
            self._survey.values.append(value)
        elif named == _EXTENSION:
            self._survey.extended = value
        elif value.lower().startswith(_WEB):
            self._survey.address = value
        else:
            return value.startswith(_WITHIN)
        return True

    def _cut_attribute(self, name: str) -> None:
        _, local, prefix = name.split(_SEPARATOR)
        start = self._parser.CurrentByteIndex
        wanted = f"{prefix}:{local}".encode()
        for found in _ATTRIBUTE.finditer(self._survey.text, start, _tag_end(self._survey.text, start)):
            if found[1] == wanted:
                self._survey.cuts.append(found.span())

    def _begin_property(self, named: _Name, attributes: Sequence[str]) -> None:
        self._named, self._property = named, self._parser.CurrentByteIndex
        others = {_split(name): value for name, value in zip(attributes[::2], attributes[1::2], strict=True)}
        self._said = [others.get((RDF, "resource"), "")]

    def _text(self, text: str) -> None:
        if self._said is not None:
            self._said.append(text)

    def _end(self, name: str) -> None:
        text, place = self._survey.text, self._parser.CurrentByteIndex
        if self._root is not None and self._depth == self._root:
            empty = _is_empty(text, self._begin)
            self._survey.tree = (self._begin if empty else place, empty)
            self._root = None
        elif self._root is not None and self._depth == self._root + _DESCRIBED and self._said is not None:
            if self._say(self._named, "".join(self._said).strip()):
                last = self._property if _is_empty(text, self._property) else place
                self._survey.cuts.append((self._property, _tag_end(text, last)))
            self._said = None
        self._depth -= 1


def _split(name: str) -> _Name:
    """Namespace and local name of what expat gives: those and the prefix, with spaces between."""
    parts = name.split(_SEPARATOR)
    return (parts[0], parts[1]) if len(parts) > 1 else ("", name)
