"""Writes the bill of materials to dist/, and holds it against its schema: ``python -m scripts.make_sbom``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from facefusion.catalogue.catalogue import Catalogue
from scripts.supply.bill import bill, faults
from scripts.supply.licences import read_declared
from scripts.supply.pins import PLAIN, ROOT, SERVICE, pins

OUTPUT = Path("dist/sbom.cdx.json")


def main() -> int:
    """Write the document; 1 where it is none."""
    document = bill([*pins(PLAIN), *pins(SERVICE)], Catalogue.load().cards(), read_declared())
    found = faults(document)
    if found:
        sys.stderr.write(f"the bill of materials is no CycloneDX: {found}\n")
        return 1
    (ROOT / OUTPUT).parent.mkdir(exist_ok=True)
    (ROOT / OUTPUT).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{OUTPUT}: {len(document['components'])} components\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
