"""Judge how faces are found, followed and told apart, on photos and clips of your own.

    python scripts/evaluate_faces.py FOLDER --propose faces.csv     write down what is found, to be corrected by hand
    python scripts/evaluate_faces.py FOLDER --faces faces.csv       compare with what is written there

The table has a header and a line for each face: ``file,left,top,right,bottom,person``. The file is named from the
folder, the box in pixels; the person may be left empty, and is ``-`` for a place that does not count, as a face too
blurred or a painted one. A file in which nobody is to be found has one line without numbers. docs/face-chain.md tells
what the figures mean.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2

ROOT = Path(__file__).resolve().parents[1]
# Run as a file, Python looks for modules beside it; ours lie in the repository's root.
sys.path.insert(0, str(ROOT))

from facefusion.core.formats import MediaKind  # noqa: E402
from facefusion.media.probe import probe  # noqa: E402
from scripts.face_chain.chain import load_analyser  # noqa: E402
from scripts.face_chain.conditions import report_conditions  # noqa: E402
from scripts.face_chain.identity import report_identity  # noqa: E402
from scripts.face_chain.photos import judge_photos, propose, report_photos  # noqa: E402
from scripts.face_chain.steadiness import report_clips, report_moves, report_stills  # noqa: E402
from scripts.face_chain.table import Photo, read_table  # noqa: E402

PARTS = ("photos", "conditions", "identity", "stills", "moves", "clips")
CLIP_SUFFIXES = frozenset({".mp4", ".mkv", ".mov", ".webm", ".gif", ".avi"})


def main() -> None:
    """Read the command line and print what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--faces", type=Path, help="table of the faces in the photos")
    parser.add_argument("--propose", type=Path, help="table to write, of what is found")
    parser.add_argument("--models", type=Path, default=ROOT / "models", help="folder of the models (default: models)")
    parser.add_argument("--only", choices=PARTS, action="append", help="print this part; may be repeated")
    parser.add_argument("--save", type=Path, help="folder to write crops of missed and false finds to")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    analyser = load_analyser(options.models)
    if options.propose is not None:
        propose(options.folder, options.propose, analyser)
        return
    parts = options.only or PARTS
    photos: list[Photo] = [] if options.faces is None else read_table(options.faces, options.folder)
    if "photos" in parts:
        report_photos(judge_photos(photos, analyser), options.save)
    if "conditions" in parts:
        report_conditions(photos, analyser)
    if "identity" in parts:
        report_identity(photos, analyser)
    if "stills" in parts:
        report_stills(photos, analyser)
    if "moves" in parts:
        report_moves(photos, analyser)
    if "clips" in parts:
        files = sorted(
            path for path in options.folder.rglob("*") if path.is_file() and path.suffix.lower() in CLIP_SUFFIXES
        )
        report_clips([path for path in files if probe(path).kind is MediaKind.VIDEO], analyser)


if __name__ == "__main__":
    main()
