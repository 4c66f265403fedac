"""The signed manifests that a file of anybody's carries, and what is to be thought of them.

The C2PA library reads and checks them; here is what it found in our words. It asks no network: what lies elsewhere is
told and not fetched, and nobody is asked whether a certificate was revoked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from facefusion.provenance.records import found_sidecar_of, lies_there, shared_sidecar_of, sidecar_of
from facefusion.provenance.rules import LARGEST_SIDE_CAR, TOO_LONG, library_rules, load_library
from facefusion.provenance.signing.formats import media_type_of
from facefusion.provenance.xmp.packet import PROPERTY
from facefusion.provenance.xmp.scan import opened

if TYPE_CHECKING:
    import c2pa

STORE = bytes.fromhex("63327061 0011 0010 8000 00aa00389b71")
"""By which a manifest store is told in a file that cannot be taken apart (C2PA specification, 11.1.4.1)."""
MOST_MANIFESTS = 100
"""Of one store that are told."""
UNTRUSTED = frozenset(("signingCredential.untrusted",))
"""What the library counts as a failure where nobody said whom to trust."""
FAULTS = dict.fromkeys(
    (f"assertion.{kind}Hash.mismatch" for kind in ("data", "bmff", "boxes", "collection", "multiAsset")),
    "the file was changed after it was signed",
) | {
    "assertion.hashedURI.mismatch": "what the manifest says was changed after it was signed",
    "claimSignature.mismatch": "the signature does not fit the manifest",
    "claimSignature.outsideValidity": "the certificate was not valid then, or no authority confirmed when that was",
    "signingCredential.expired": "the certificate was not valid then, or no trusted authority confirms when that was",
    "signingCredential.invalid": "the certificate is not one that may sign",
}
"""The common ones of the specification's codes (15.2.2) in our words."""
NO_STORE = ("it holds no manifests",)
REMOTE = "Remote: must fetch remote manifests from url "
BLOCK = 1 << 20

PROCESSOR, MODELS = "org.facefusion.processor", "org.facefusion.models"
_ACTIONS = ("c2pa.actions", "c2pa.actions.v2")
_METADATA = ("c2pa.metadata", "cawg.metadata", "stds.iptc")
"""Assertions that hold XMP's properties as JSON-LD; the last is of C2PA's first versions."""


class Verdict(Enum):
    """What is to be thought of a file's manifests."""

    TRUSTED = "signed by a trusted signer"
    UNKNOWN_SIGNER = "signed by an unknown signer"
    """All else verifies. Without anchors every signer is unknown."""
    BROKEN = "does not verify"
    """The file, the manifest or its signature was changed, or cannot be read."""
    ELSEWHERE = "lies elsewhere"
    """The file names an address, which is not asked."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that was done."""

    name: str
    """Such as ``c2pa.edited``."""
    source_type: str | None = None
    """What it made of the file, as it is written."""
    agent: str | None = None
    """The program that did it."""
    processor: str | None = None
    """Which of this program's processors."""
    models: tuple[str, ...] = ()
    """Names of the models that it ran."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one signer says."""

    label: str
    program: str | None
    """Which made the claim."""
    signer: str | None
    """As the certificate names itself; that proves nothing where the signer is unknown."""
    signed_at: str | None
    """As a time-stamp authority confirmed it that is among the anchors."""
    actions: tuple[Action, ...]
    source_types: tuple[str, ...] = ()
    """How the file came to be, by metadata that is signed with it."""
    verified: bool = True
    """For one that was taken in with a source: whether it did verify then."""


@dataclass(frozen=True, slots=True)
class Store:
    """All manifests of a file."""

    verdict: Verdict
    manifests: tuple[Manifest, ...] = ()
    """The file's own first, then those of what it was made of."""
    faults: tuple[str, ...] = ()
    """What does not verify; or the address where the manifests lie."""
    side_car: Path | None = None
    """The file beside, where they lie there."""

    @property
    def address(self) -> str | None:
        """Where they lie, if that is neither in the file nor beside it."""
        return self.faults[0] if self.verdict is Verdict.ELSEWHERE else None

    @property
    def source_types(self) -> tuple[str, ...]:
        """How the file came to be, by all of them, each once."""
        said = (
            one
            for manifest in self.manifests
            for one in (*(action.source_type for action in manifest.actions), *manifest.source_types)
        )
        return tuple(dict.fromkeys(one for one in said if one))


def stores_of(path: Path, anchors: str | None = None) -> tuple[Store, ...]:
    """The manifests inside a file, and those in the file beside it that belongs to it by its name.

    Args:
        path: of the file.
        anchors: certificates of those whom to trust, as PEM.

    Raises:
        InputError: the file cannot be read at all.
    """
    found = [read_store(path, None, anchors)]
    beside = found_sidecar_of(path)
    if beside is not None:
        found.append(read_store(path, beside, anchors))
    shared = shared_sidecar_of(path)
    if lies_there(shared) and shared not in (path, sidecar_of(path)):
        store = read_store(path, shared, anchors)
        # Files of one name with different endings share it: it is another's.
        others = store is not None and store.verdict is Verdict.BROKEN and _share_name(path)
        found.append(None if others else store)
    return tuple(store for store in found if store is not None)


def kept_of(stores: Sequence[Store]) -> Store | None:
    """The manifests that go into those of whatever is made of a file: the ones inside it, else those beside it."""
    return next((store for store in stores if store.verdict is not Verdict.ELSEWHERE), None)


def _share_name(path: Path) -> bool:
    """Whether another file has the same name but for its ending, as far as the system lets us look."""
    taken = (path.name, shared_sidecar_of(path).name)
    try:
        return any(one.stem == path.stem and one.name not in taken for one in path.parent.iterdir())
    except PermissionError:  # a folder may be gone through and not read
        return False


def read_store(path: Path, side_car: Path | None = None, anchors: str | None = None) -> Store | None:
    """The manifests inside a file, or of its side-car; none where there are none.

    Args:
        path: of the file.
        side_car: the manifests that are meant to belong to it.
        anchors: certificates of those whom to trust, as PEM.

    Raises:
        InputError: one of the files cannot be read at all.
    """
    with opened(path) as file:
        if side_car is None:
            return _read(path, file, None, anchors)
        with opened(side_car) as beside:
            data = beside.read(LARGEST_SIDE_CAR + 1)
        if len(data) > LARGEST_SIDE_CAR:
            return Store(Verdict.BROKEN, faults=(TOO_LONG,), side_car=side_car)
        store = _read(path, file, data or b"\0", anchors)
    return Store(Verdict.BROKEN, (), NO_STORE, side_car) if store is None else replace(store, side_car=side_car)


def _read(path: Path, file: BinaryIO, data: bytes | None, anchors: str | None) -> Store | None:
    c2pa = load_library()

    context = c2pa.Context.from_dict(library_rules(anchors))
    try:
        with c2pa.Reader(media_type_of(path, file), file, manifest_data=data, context=context) as reader:
            return _store(reader)
    except (c2pa.C2paError.ManifestNotFound, c2pa.C2paError.NotSupported):
        return None
    except c2pa.C2paError as error:
        text = str(error)
        if text.startswith(REMOTE):
            return Store(Verdict.ELSEWHERE, faults=(text.removeprefix(REMOTE),))
        if data is None and not _holds_store(file):
            return None  # it is broken, or of a kind that holds none
        return Store(Verdict.BROKEN, faults=(_cause(text),))


def _cause(text: str) -> str:
    """An error of the library without the name of its kind."""
    kind, _, rest = text.partition(": ")
    return rest if rest and " " not in kind else text


def _holds_store(file: BinaryIO) -> bool:
    file.seek(0)
    kept = b""
    while block := file.read(BLOCK):
        if STORE in kept + block:
            return True
        kept = block[-len(STORE) :]
    return False


def _store(reader: c2pa.Reader) -> Store:
    said = _table(json.loads(reader.json()))
    state = said.get("validation_state")
    faults = tuple(_faults(_table(said.get("validation_results"))))
    if state == "Trusted":
        verdict = Verdict.TRUSTED
    elif state == "Valid":
        verdict = Verdict.UNKNOWN_SIGNER
    else:
        verdict, faults = Verdict.BROKEN, faults or ("it does not say why",)
    return Store(verdict, tuple(_manifests(said)), faults if verdict is Verdict.BROKEN else ())


def _parts(results: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Of a file's own manifest, then of its sources': what is otherwise than when the file was signed."""
    yield _table(results.get("activeManifest"))
    for one in _rows(results.get("ingredientDeltas")):
        yield _table(_table(one).get("validationDeltas"))


def _stamped(results: Mapping[str, object]) -> Iterator[str]:
    """Addresses of signatures whose time an authority confirmed that the reader trusts; anybody can be one."""
    for part in _parts(results):
        for told in map(_table, _rows(part.get("success"))):
            if told.get("code") == "timeStamp.trusted":
                yield str(told.get("url"))


def _faults(results: Mapping[str, object]) -> Iterator[str]:
    """Why it does not verify: its own faults, then those of its sources that were not there when it was signed."""
    for part in _parts(results):
        for fault in _rows(part.get("failure")):
            told = _table(fault)
            if told.get("code") not in UNTRUSTED:
                code = str(told.get("code"))
                yield FAULTS.get(code) or f"{told.get('explanation') or 'it is not as it should be'} ({code})"


def _manifests(said: Mapping[str, object]) -> Iterator[Manifest]:
    """The active one, and those of all that it was made of, nearest first; not those that only were looked at."""
    by_label = _table(said.get("manifests"))
    waiting = [(str(said.get("active_manifest")), True)]
    stamped = tuple(_stamped(_table(said.get("validation_results"))))
    seen: set[str] = set()
    while waiting and len(seen) < MOST_MANIFESTS:
        label, verified = waiting.pop(0)
        if label in seen or label not in by_label:
            continue
        seen.add(label)
        manifest = _table(by_label[label])
        yield _manifest(label, manifest, verified=verified, stamped=any(label in address for address in stamped))
        for row in _rows(manifest.get("ingredients")):
            ingredient = _table(row)
            if ingredient.get("relationship") != "inputTo":
                waiting.append((str(ingredient.get("active_manifest")), _did_verify(ingredient)))


def _did_verify(ingredient: Mapping[str, object]) -> bool:
    results = _table(_table(ingredient.get("validation_results")).get("activeManifest"))
    codes = {_table(fault).get("code") for fault in _rows(results.get("failure"))}
    codes |= {_table(fault).get("code") for fault in _rows(ingredient.get("validation_status"))}
    return codes <= UNTRUSTED


def _manifest(label: str, said: Mapping[str, object], *, verified: bool, stamped: bool) -> Manifest:
    signature = _table(said.get("signature_info"))
    names = [signature.get("common_name"), signature.get("issuer")]
    signer = ", ".join(dict.fromkeys(name for name in names if isinstance(name, str) and name))
    program = next((_agent(one) for one in _rows(said.get("claim_generator_info"))), said.get("claim_generator"))
    return Manifest(
        label,
        program=_text(program),
        signer=signer or None,
        signed_at=_text(signature.get("time")) if stamped else None,
        actions=tuple(_actions(said)),
        source_types=tuple(dict.fromkeys(_signed_words(said))),
        verified=verified,
    )


def _actions(said: Mapping[str, object]) -> Iterator[Action]:
    for row in _rows(said.get("assertions")):
        assertion = _table(row)
        if assertion.get("label") not in _ACTIONS:
            continue
        for one in _rows(_table(assertion.get("data")).get("actions")):
            action = _table(one)
            parameters = _table(action.get("parameters"))
            yield Action(
                name=str(action.get("action")),
                source_type=_word(action.get("digitalSourceType")),
                agent=_agent(action.get("softwareAgent")),
                processor=_text(parameters.get(PROCESSOR)),
                models=tuple(_table(parameters.get(MODELS))),
            )


def _signed_words(said: Mapping[str, object]) -> Iterator[str]:
    """Source types of metadata assertions, whatever prefix their context gives the namespace."""
    for assertion in map(_table, _rows(said.get("assertions"))):
        if assertion.get("label") in _METADATA:
            for name, value in _table(assertion.get("data")).items():
                word = _word(_table(value).get("@id", value))
                if name.rpartition(":")[2] == PROPERTY and word:
                    yield word


def _agent(said: object) -> str | None:
    """A program, by its name or by a table with that and its version."""
    if isinstance(said, Mapping):
        return " ".join(str(said[key]) for key in ("name", "version") if said.get(key)) or None
    return _text(said)


def _word(said: object) -> str | None:
    return (_text(said) or "").strip() or None


def _text(said: object) -> str | None:
    return said if isinstance(said, str) else None


def _table(said: object) -> Mapping[str, object]:
    return said if isinstance(said, Mapping) else {}


def _rows(said: object) -> list[object]:
    return said if isinstance(said, list) else []
