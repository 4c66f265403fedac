"""What a packet says, and that all else in it stays as it was."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.provenance.records import SourceType
from facefusion.provenance.xmp.packet import (
    EMPTY,
    LARGEST,
    BrokenPacketError,
    address_of,
    extension_of,
    fault_of,
    packet,
    source_types_in,
)

COMPOSITE, ENHANCED = SourceType.COMPOSITE.value, SourceType.ENHANCED.value
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SAID = re.compile(
    rb'<rdf:Description rdf:about=(?:"[^"]*"|\'[^\']*\') xmlns:rdf="[^"]*" xmlns:Iptc4xmpExt="[^"]*">'
    rb"<Iptc4xmpExt:DigitalSourceType>[^<]*</Iptc4xmpExt:DigitalSourceType></rdf:Description>"
)

OTHERS = b"""<?xpacket begin='\xef\xbb\xbf' id='W5M0MpCehiHzreSzNTczkc9d'?>\r
<!-- kept -->
<x:xmpmeta xmlns:x='adobe:ns:meta/' x:xmptk='Someone 1.0'>
 <r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
  <r:Description r:about='uuid:1 &amp; 2' xmlns:dc='http://purl.org/dc/elements/1.1/' dc:format="a > b"
     xmlns:iptc='http://iptc.org/std/Iptc4xmpExt/2008-02-29/' iptc:DigitalSourceType='http://one/a&amp;b'>
   <dc:title><r:Alt><r:li xml:lang='x-default'>caf\xc3\xa9 &lt;b&gt;</r:li></r:Alt></dc:title>
   <iptc:DigitalSourceType>
     http://two/c</iptc:DigitalSourceType>
   <dc:source r:parseType='Resource'><iptc:DigitalSourceType>of another</iptc:DigitalSourceType></dc:source>
   <iptc:DigitalSourceType r:resource="http://three/d"/>
  </r:Description>
 </r:RDF>
</x:xmpmeta>     \n<?xpacket end='w'?>"""


def wrapped(inside: str) -> bytes:
    return (
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" '
        f'xmlns:n="http://ns.adobe.com/xmp/note/">{inside}</rdf:RDF>'
    ).encode()


@pytest.mark.parametrize("source_type", SourceType)
def test_a_new_packet_says_it_and_nothing_else(source_type):
    made = packet(source_type)
    assert source_types_in(made) == (source_type.value,)
    assert made.startswith(b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>')
    assert made.endswith(b'<?xpacket end="w"?>')
    (described,) = ET.fromstring(made.decode().split("?>\n", 1)[1].rsplit("\n<?", 1)[0]).iter(f"{{{RDF}}}Description")
    assert described.attrib == {f"{{{RDF}}}about": ""}
    assert [child.tag for child in described] == ["{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}DigitalSourceType"]


def test_all_forms_of_saying_it_are_read_and_replaced_and_all_else_stays():
    assert source_types_in(OTHERS) == ("http://one/a&b", "http://two/c", "http://three/d")
    made = packet(SourceType.ENHANCED, OTHERS)
    assert source_types_in(made) == (ENHANCED,)
    (said,) = SAID.findall(made)
    assert b'rdf:about="uuid:1 &#38; 2"' in said
    left = made.replace(said, b"")
    expected = OTHERS.replace(b" \n     xmlns:iptc", b"\n     xmlns:iptc")
    for form in (
        b" iptc:DigitalSourceType='http://one/a&amp;b'",
        b"<iptc:DigitalSourceType>\n     http://two/c</iptc:DigitalSourceType>",
        b'<iptc:DigitalSourceType r:resource="http://three/d"/>',
    ):
        assert expected.count(form) == 1
        expected = expected.replace(form, b"")
    assert left == expected
    assert b"of another" in left


def test_saying_it_twice_is_saying_it_once():
    once = packet(SourceType.COMPOSITE, OTHERS)
    again = packet(SourceType.COMPOSITE, once)
    assert len(SAID.findall(again)) == 1
    assert source_types_in(again) == (COMPOSITE,)


@pytest.mark.parametrize(
    "tree",
    [
        f'<rdf:RDF xmlns:rdf="{RDF}"/>',
        f'<rdf:RDF xmlns:rdf="{RDF}" />',
        f'<RDF xmlns="{RDF}"></RDF>',
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><RDF a=\'/>\' xmlns="{RDF}"/></x:xmpmeta>',
    ],
)
def test_an_empty_tree_is_filled(tree):
    made = packet(SourceType.COMPOSITE, tree.encode())
    assert source_types_in(made) == (COMPOSITE,)
    assert fault_of(made) is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_wide_text_becomes_utf_8(encoding):
    text = '<?xml version="1.0" encoding="UTF-16"?>' + wrapped('<rdf:Description t="é"/>').decode()
    made = packet(SourceType.COMPOSITE, text.encode(encoding))
    assert source_types_in(made) == (COMPOSITE,)
    assert 't="é"'.encode() in made
    assert b"<?xml" not in made


BROKEN = {
    b"<rdf": "it is no XML (unclosed token: line 1, column 0)",
    b"\xff" + EMPTY: "it is no XML (not well-formed (invalid token): line 1, column 0)",
    b"<a/>": "it holds no rdf:RDF",
    b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>': "it declares a document type, which XMP does not have",
    b"\xff\xfe<\0\0\xd8": "its text is damaged",
    b" " * (LARGEST + 1): "it is longer than 16 MiB",
}


@pytest.mark.parametrize(("existing", "why"), BROKEN.items())
def test_a_broken_packet_is_replaced_and_that_is_told(existing, why):
    assert fault_of(existing) == why
    assert packet(SourceType.COMPOSITE, existing) == packet(SourceType.COMPOSITE)
    with pytest.raises(BrokenPacketError, match=re.escape(why)):
        source_types_in(existing)


def test_what_is_whole_or_not_there_has_no_fault():
    assert fault_of(b"") is None
    assert fault_of(OTHERS) is None
    assert fault_of(packet(SourceType.COMPOSITE) + b"\0\0 \n") is None


def test_entities_do_not_grow():
    rows = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE b [<!ENTITY e0 "ha">{rows}]>'.encode() + wrapped("<rdf:Description>&e11;</rdf:Description>")
    assert fault_of(bomb) == "it declares a document type, which XMP does not have"


def test_a_packet_as_deep_as_can_be_is_read():
    deep = wrapped("<rdf:Description>" + "<a>" * 100_000 + "</a>" * 100_000 + "</rdf:Description>")
    assert source_types_in(packet(SourceType.COMPOSITE, deep)) == (COMPOSITE,)


def test_the_name_of_an_extended_packet_is_read_as_attribute_and_element():
    assert extension_of(wrapped('<rdf:Description n:HasExtendedXMP="AB12"/>')) == "AB12"
    assert (
        extension_of(wrapped("<rdf:Description><n:HasExtendedXMP>CD34</n:HasExtendedXMP></rdf:Description>")) == "CD34"
    )
    assert extension_of(EMPTY) == ""


def test_a_packet_that_is_written_names_no_extended_one():
    """It stays behind in the file that the packet is taken from."""
    existing = wrapped(
        '<rdf:Description n:HasExtendedXMP="AB12" t="1"><n:HasExtendedXMP>C</n:HasExtendedXMP></rdf:Description>'
    )
    made = packet(SourceType.COMPOSITE, existing)
    assert b"HasExtendedXMP" not in made
    assert b'<rdf:Description t="1"></rdf:Description>' in made


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), max_size=20)
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
PROPERTIES = st.one_of(
    st.builds(lambda text: f"<p>{text.translate(ESCAPES)}</p>", TEXTS),
    st.builds(lambda text: f'<p q="{text.translate(ESCAPES)}"/>', TEXTS),
    st.just("<!-- <e:DigitalSourceType>no</e:DigitalSourceType> -->"),
    st.just("<p><![CDATA[<e:DigitalSourceType/>]]></p>"),
    st.builds(lambda text: f"<e:DigitalSourceType>{text.translate(ESCAPES)}</e:DigitalSourceType>", TEXTS),
    st.builds(lambda text: f'<e:DigitalSourceType rdf:resource="{text.translate(ESCAPES)}"/>', TEXTS),
    st.just("<p><e:DigitalSourceType>inner</e:DigitalSourceType></p>"),
)
DESCRIPTIONS = st.builds(
    lambda text, attribute, inside: (
        f'<rdf:Description rdf:about="{text.translate(ESCAPES)}" '
        + (f'e:DigitalSourceType="{attribute.translate(ESCAPES)}" ' if attribute is not None else "")
        + f'a=">">{"".join(inside)}</rdf:Description>'
    ),
    TEXTS,
    st.none() | TEXTS,
    st.lists(PROPERTIES, max_size=4),
)


def outline(text):
    """A packet's tree without what it says of its source type."""
    name = "{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}DigitalSourceType"
    root = ET.fromstring(text)
    for described in root:
        described.attrib.pop(name, None)
        for child in [child for child in described if child.tag == name]:
            described.remove(child)
    return [(each.tag, each.attrib, each.text) for each in root.iter() if each.tag != f"{{{RDF}}}RDF"]


@given(st.lists(DESCRIPTIONS, max_size=3), st.sampled_from(SourceType))
def test_whatever_a_packet_holds_it_says_one_source_type_then_and_keeps_the_rest(descriptions, source_type):
    existing = wrapped("".join(descriptions))
    made = packet(source_type, existing)
    assert source_types_in(made) == (source_type.value,)
    (said,) = SAID.findall(made)
    assert outline(made.replace(said, b"")) == outline(existing)


ADDRESS = "https://example.org/photo.c2pa"
PROVENANCE = 'xmlns:t="http://purl.org/dc/terms/"'


@pytest.mark.parametrize("place", [ADDRESS, "HTTPS://EXAMPLE.ORG/x", "http:x.org", "self#jumbf=/c2pa/urn:uuid:1"])
@pytest.mark.parametrize(
    "form",
    [
        '<r:Description {0} t:provenance="{1}" t:title="kept"/>',
        '<r:Description {0} t:title="kept"><t:provenance>{1}</t:provenance></r:Description>',
        '<r:Description {0} t:title="kept"><t:provenance r:resource="{1}"/></r:Description>',
    ],
)
def test_the_place_of_a_manifest_is_told_and_left_out(form, place):
    existing = wrapped(form.format(PROVENANCE, place).replace("r:", "rdf:"))
    assert address_of(existing) == ("" if place.startswith("self#") else place)
    made = packet(SourceType.ENHANCED, existing)
    assert b"t:provenance" not in made
    assert b't:title="kept"' in made
    assert (address_of(made), source_types_in(made)) == ("", (ENHANCED,))


def test_where_a_painting_was_is_no_place_of_a_manifest():
    existing = wrapped(f'<rdf:Description {PROVENANCE} t:provenance="The Duke of Ferrara"/>')
    assert address_of(existing) == ""
    assert b't:provenance="The Duke of Ferrara"' in packet(SourceType.ENHANCED, existing)


@given(st.binary(max_size=200))
def test_whatever_bytes_are_there_a_packet_comes_of_it(existing):
    made = packet(SourceType.ENHANCED, existing)
    assert source_types_in(made) == (ENHANCED,)
