"""What was found in files, as lines for people or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from facefusion.core.wording import printable, shown
from facefusion.provenance.findings import Answer, Findings, gravest, is_altered, term
from facefusion.provenance.manifests import Action, Manifest, Store, Verdict

SCHEMA = 1
"""Of the JSON document. It rises when a field goes or changes its meaning."""

MOST_ACTIONS, MOST_FAULTS = 20, 5
"""That are told to people."""

_ANSWERS = {
    Answer.UNMARKED: "no mark says that it was altered",
    Answer.ALTERED: "marked as altered",
    Answer.UNREADABLE: "cannot be looked at",
    Answer.BROKEN: "has a mark that does not verify",
}


def text(findings: Findings) -> str:
    """What was found in one file: a line with what it comes to, and indented ones with the rest."""
    lines = [f"{findings.path}: {_ANSWERS[findings.answer]}", *(f"  {line}" for line in _lines(findings))]
    return "".join(f"{printable(line)}\n" for line in lines)


def document(findings: Sequence[Findings]) -> str:
    """All of them as JSON."""
    table = {
        "schema": SCHEMA,
        "exit_code": gravest(one.answer for one in findings).value,
        "files": [_file(one) for one in findings],
    }
    return json.dumps(table, indent=2) + "\n"


def _lines(findings: Findings) -> Iterator[str]:
    for source_type in findings.source_types:
        yield f"source type, not signed: {_told(source_type)}"
    for store in findings.stores:
        yield from _store_lines(store)
    if findings.watermark is not None:
        yield f"watermark: {shown(findings.watermark)}"
    yield from findings.faults


def _told(source_type: str) -> str:
    name = term(source_type)
    return f"{shown(name)}{'' if is_altered(source_type) else ', which is not altered by a program'}"


def _store_lines(store: Store) -> Iterator[str]:
    place = "inside the file" if store.side_car is None else f"in {store.side_car.name}"
    if store.address is not None:
        yield f"manifest: lies elsewhere and was not fetched: {shown(store.address)}"
        return
    first = store.manifests[0] if store.manifests else None
    yield f"manifest {place}: {store.verdict.value}{_signer(store, first)}"
    for fault in store.faults[:MOST_FAULTS]:
        yield f"  since {shown(fault)}"
    for number, manifest in enumerate(store.manifests):
        if number:
            yield f"  made of a file with a manifest of its own{_source(manifest)}"
        indent = "    " if number else "  "
        for source_type in manifest.source_types:
            yield f"{indent}source type: {_told(source_type)}"
        for action in manifest.actions[:MOST_ACTIONS]:
            yield f"{indent}{_action(action)}"
        if len(manifest.actions) > MOST_ACTIONS:
            yield f"{indent}and {len(manifest.actions) - MOST_ACTIONS} actions more"


def _signer(store: Store, manifest: Manifest | None) -> str:
    if manifest is None or manifest.signer is None:
        return ""
    when = f", {manifest.signed_at}" if manifest.signed_at else ""
    if store.verdict is Verdict.UNKNOWN_SIGNER:
        return f', in the name of "{shown(manifest.signer)}", for which nobody known vouches{when}'
    return f', in the name of "{shown(manifest.signer)}"{when}'


def _source(manifest: Manifest) -> str:
    said = f', in the name of "{shown(manifest.signer)}"' if manifest.signer else ""
    return f"{said}{'' if manifest.verified else '; it did not verify when it was taken in'}"


def _action(action: Action) -> str:
    parts = [shown(action.name)]
    if action.processor:
        parts.append(shown(action.processor))
    if action.models:
        parts.append(f"with {shown(', '.join(action.models))}")
    if action.agent:
        parts.append(f"by {shown(action.agent)}")
    if action.source_type:
        parts.append(f"({shown(term(action.source_type))})")
    return " ".join(parts)


def _file(findings: Findings) -> dict[str, object]:
    return {
        "path": str(findings.path),
        "answer": findings.answer.name.lower(),
        "source_types": list(findings.source_types),
        "manifests": [_store(store) for store in findings.stores],
        "watermark": findings.watermark,
        "faults": list(findings.faults),
    }


def _store(store: Store) -> dict[str, object]:
    return {
        "verdict": store.verdict.name.lower(),
        "side_car": None if store.side_car is None else str(store.side_car),
        "address": store.address,
        "faults": list(store.faults) if store.address is None else [],
        "chain": [_manifest(manifest) for manifest in store.manifests],
    }


def _manifest(manifest: Manifest) -> dict[str, object]:
    return {
        "label": manifest.label,
        "program": manifest.program,
        "signer": manifest.signer,
        "signed_at": manifest.signed_at,
        "verified_when_taken_in": manifest.verified,
        "source_types": list(manifest.source_types),
        "actions": [
            {
                "action": action.name,
                "source_type": action.source_type,
                "agent": action.agent,
                "processor": action.processor,
                "models": list(action.models),
            }
            for action in manifest.actions
        ],
    }
