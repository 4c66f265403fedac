"""What a manifest says: what was done by which models, and how the result came to be. No names, no paths, no people."""

from __future__ import annotations

from facefusion.provenance.manifests import MODELS, PROCESSOR
from facefusion.provenance.records import Declaration, Deed, SourceType

ACTIONS = "c2pa.actions.v2"
HASH = "c2pa.hash.data"
EMPTY = "http://c2pa.org/digitalsourcetype/empty"
"""C2PA's word for what begins with nothing."""

_INGREDIENT = "parent"
"""How actions refer to the one ingredient, within the definition only."""


def definition(declaration: Declaration, *, has_parent: bool, whole: bytes | None = None) -> dict[str, object]:
    """A manifest for the library to build (C2PA specification, section 18.15, actions).

    Args:
        declaration: what the result says of itself.
        has_parent: whether it was made of one file, which comes along as :func:`ingredient`.
        whole: SHA-256 of all bytes of the file, where the manifest lies beside it; where it lies inside, the library
            makes the hash, since it knows how to leave the manifest out.
    """
    begun = _opened(declaration) if has_parent else _created(declaration)
    actions = [begun, *(_action(deed, declaration.program) for deed in declaration.deeds)]
    assertions: list[dict[str, object]] = [{"label": ACTIONS, "created": True, "data": {"actions": actions}}]
    if whole is not None:
        data = {"name": "the whole file", "alg": "sha256", "hash": list(whole), "pad": []}
        assertions.append({"label": HASH, "created": True, "data": data})
    return {"title": "result", "claim_generator_info": [_agent(declaration.program)], "assertions": assertions}


def ingredient(digest: str, *, has_manifest: bool) -> dict[str, object]:
    """What the result was made of, by its hash.

    Args:
        digest: SHA-256 of its file, in hexadecimal digits.
        has_manifest: whether it is given along with the file; where that cannot be read, this says so.
    """
    description = f"SHA-256 {digest}" if has_manifest else f"SHA-256 {digest}, with a manifest that cannot be read"
    return {
        "title": "source",
        "relationship": "parentOf",
        "label": _INGREDIENT,
        "instance_id": f"urn:sha256:{digest}",
        "description": description,
    }


def _opened(declaration: Declaration) -> dict[str, object]:
    """That the parent was opened, with what has to be said of it."""
    opened: dict[str, object] = {"action": "c2pa.opened", "parameters": {"ingredientIds": [_INGREDIENT]}}
    return opened | _source_type(declaration.inherited)


def _created(declaration: Declaration) -> dict[str, object]:
    """That there was no file before. This action has to say how it came to be."""
    return {"action": "c2pa.created", "digitalSourceType": EMPTY} | _source_type(declaration.source_type)


def _action(deed: Deed, program: str) -> dict[str, object]:
    parameters: dict[str, object] = {PROCESSOR: deed.processor}
    if deed.models:
        parameters[MODELS] = dict(deed.models)
    action: dict[str, object] = {
        "action": "c2pa.enhanced" if deed.source_type is SourceType.ENHANCED else "c2pa.edited",
        "softwareAgent": _agent(program),
        "parameters": parameters,
    }
    return action | _source_type(deed.source_type)


def _source_type(source_type: SourceType | None) -> dict[str, object]:
    return {} if source_type is None else {"digitalSourceType": source_type.value}


def _agent(program: str) -> dict[str, object]:
    name, _, version = program.rpartition(" ")
    return {"name": name, "version": version} if name else {"name": program}
