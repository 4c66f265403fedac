"""The command ``models``: the list of all models, and taking in one of the user's own."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from facefusion.app.engine import Engine
from facefusion.catalogue import catalogue as catalogue_module
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.imported import imported_cards
from facefusion.cli.main import main
from facefusion.core import home
from tests.catalogue.toys import GRAPH
from tests.toys.swappers import colour_swapper


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """The program as if it were installed in an empty folder."""
    (tmp_path / "facefusion.py").touch()
    monkeypatch.setattr(home, "PACKAGE_PARENT", tmp_path)
    monkeypatch.chdir(tmp_path)
    catalogue_module._load.cache_clear()
    yield tmp_path / "models"
    catalogue_module._load.cache_clear()


@pytest.fixture
def call(capsys):
    def run(*words):
        code = main(("models", *words), Engine())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def bring(folder: Path, name: str, checksum: str | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(b"weights")
    path.with_suffix(".hash").write_text(checksum or f"{zlib.crc32(b'weights'):08x}")


def swapper(path: Path, size: int = 128) -> None:
    """A graph as the family of inswapper runs them, for faces of 128 pixels."""
    matrix = np.eye(512, dtype=np.float32)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(colour_swapper((512,), size, matrix=matrix).SerializeToString())


def rows(text):
    return {(row.split()[0], row.split()[1]): " ".join(row.split()[2:]) for row in text.splitlines()}


def test_every_model_is_listed_with_whether_it_is_here(call, tmp_path):
    bring(tmp_path / ".assets" / "models", "xseg_1.onnx")
    bring(tmp_path / ".assets" / "models", "xseg_2.onnx", "00000000")
    code, out, err = call()
    listed = rows(out)
    assert code == 0
    assert out.splitlines()[0].split() == ["MODEL", "KIND", "HERE", "SIZE", "LICENCE"]
    assert [name for name, _ in listed][1:] == [
        card.name for kind in Catalogue.load().kinds for card in Catalogue.load().cards(kind)
    ]
    assert listed["xseg_1", "face_occluder"] == "verified 7 bytes GPL-3.0-only"
    assert listed["xseg_2", "face_occluder"] == "not verified GPL-3.0-only"
    assert listed["xseg_3", "face_occluder"] == "missing GPL-3.0-only"
    assert listed["many", "face_occluder"] == "missing those of its companions"
    assert listed["mesh", "face_swapper"] == "code that of this program; topology data Apache-2.0"
    assert "xseg_2.onnx is not used: its CRC-32 is not the one in xseg_2.hash." in err


def test_models_of_several_are_here_when_all_of_them_are(call, tmp_path):
    for number in (1, 2, 3):
        bring(tmp_path / "elsewhere", f"xseg_{number}.onnx")
    _, out, _ = call("--models-path", "elsewhere")
    assert rows(out)["many", "face_occluder"] == "code those of its companions"


def test_of_collections_the_files_that_are_here_are_listed(call, tmp_path):
    bring(tmp_path / ".assets" / "models" / "jen", "somebody_224.dfm")
    bring(tmp_path / ".assets" / "models" / "custom", "friend.dfm", "00000000")
    bring(tmp_path / "models" / "custom", "friend.dfm")
    listed = call()[1].splitlines()[-2:]
    assert [line.split() for line in listed] == [
        [
            "custom/friend",
            "deep_swapper",
            "your",
            "own",
            "7",
            "bytes",
            *Catalogue.load().card("custom/x").licence.split(),
        ],
        ["jen/somebody_224", "deep_swapper", "verified", "7", "bytes", "unknown"],
    ]


def test_graphs_that_no_entry_knows_are_named(call, tmp_path):
    swapper(tmp_path / "models" / "hyperswap_1a_256_fp16.onnx")
    bring(tmp_path / ".assets" / "models", "modnet.onnx")
    code, out, err = call()
    assert code == 0
    assert "hyperswap_1a_256_fp16" not in out
    assert err.splitlines()[-1] == (
        "No model of the catalogue runs from these files: "
        f"{tmp_path / 'models' / 'hyperswap_1a_256_fp16.onnx'}. models import takes one in."
    )


def test_machines_get_all_that_is_known(call, tmp_path):
    bring(tmp_path / "models", "inswapper_128.onnx")
    code, out, _ = call("--models-format", "json")
    document = json.loads(out)
    assert (code, document["schema"]) == (0, 1)
    (found,) = (one for one in document["models"] if one["name"] == "inswapper_128")
    assert found == {
        "name": "inswapper_128",
        "kind": "face_swapper",
        "family": "inswapper",
        "presence": "verified",
        "path": str(tmp_path / "models" / "inswapper_128.onnx"),
        "bytes": 7,
        "embedded": False,
        "companions": ["arcface_w600k_r50"],
        "licence": "Non-Commercial",
        "terms": "may not be used commercially",
        "vendor": "InsightFace",
        "year": 2023,
        "origin": "FaceFusion, models-3.0.0",
    }


def test_a_model_of_ones_own_is_taken_in_and_can_be_named(call, tmp_path, own_folder):
    swapper(tmp_path / "swap.onnx")
    code, out, err = call("import", "swap.onnx", "--like", "inswapper_128", "--name", "mine")
    assert (code, out) == (0, "mine\n")
    assert err == "mine is a face swapper now, to be used with --face-swapper-model mine.\n"
    assert [card.name for card in imported_cards(own_folder, Catalogue.load().cards())] == ["mine"]
    catalogue_module._load.cache_clear()  # as in the next process
    assert rows(call()[1])["mine", "face_swapper"] == "verified 1.0 MB unknown"
    assert "mine" in Catalogue.load().choices("face_swapper")
    assert call("import", "swap.onnx", "--like", "inswapper_128", "--name", "mine")[0] == 2


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"?")], ids=["gone", "altered"])
def test_a_model_whose_file_is_lost_can_be_taken_in_again(call, tmp_path, own_folder, harm):
    swapper(tmp_path / "swap.onnx")
    again = ("import", "swap.onnx", "--like", "inswapper_128", "--name", "mine")
    assert call(*again)[0] == 0
    catalogue_module._load.cache_clear()  # as in the next process
    assert call(*again)[0] == 2
    harm(own_folder / "imported" / "mine.onnx")
    assert call(*again)[:2] == (0, "mine\n")
    assert rows(call()[1])["mine", "face_swapper"] == "verified 1.0 MB unknown"


def test_the_file_gives_the_name_where_none_is_given(call, tmp_path):
    swapper(tmp_path / "swap.onnx")
    assert call("import", "swap.onnx", "--like", "inswapper_128_fp16")[:2] == (0, "swap\n")


def test_a_graph_that_one_family_alone_can_run_needs_no_likeness(call, tmp_path, own_folder):
    swapper(tmp_path / "swap.onnx")
    assert call("import", "swap.onnx") == (
        0,
        "swap\n",
        "swap is a face swapper now, like inswapper_128 by what it takes and gives (--like can say otherwise), "
        "to be used with --face-swapper-model swap.\n",
    )
    (found,) = imported_cards(own_folder, Catalogue.load().cards())
    assert (found.name, found.family) == ("swap", "inswapper")


def test_where_several_families_could_run_it_they_are_named(call, tmp_path, own_folder):
    swapper(tmp_path / "swap.onnx", size=256)
    code, out, err = call("import", "swap.onnx")
    assert (code, out) == (2, "")
    assert err == (
        "error: swap.onnx may be like any of these: ghost_1_256 (face swapper), "
        "hififace_unofficial_256 (face swapper), hyperswap_1a_256 (face swapper), "
        "simswap_256 (face swapper). Name the one that it is like with --like.\n"
    )
    assert not own_folder.exists()


def test_what_no_family_can_run_is_refused(call, tmp_path, own_folder):
    (tmp_path / "odd.onnx").write_bytes(GRAPH)
    code, out, err = call("import", "odd.onnx")
    assert (code, out) == (2, "")
    assert err.startswith("error: odd.onnx fits no family of models: it takes input and gives output.")
    assert not own_folder.exists()


def test_the_family_looks_at_a_graph_though_the_model_that_it_is_like_is_not_here(call, tmp_path, own_folder):
    swapper(tmp_path / "swap.onnx", size=256)
    code, out, err = call("import", "swap.onnx", "--like", "inswapper_128")
    assert (code, out) == (2, "")
    assert err == (
        "error: swap.onnx cannot be like inswapper_128: the graph does not fit its family: expected the input target "
        "as 1 x 3 x 128 x 128, found 1 x 3 x 256 x 256 of type float32. Name with --like a model of its family, or "
        "leave that out to have it looked for.\n"
    )
    assert not own_folder.exists()


def test_one_may_be_like_another_imported_one(call, tmp_path, own_folder):
    swapper(tmp_path / "swap.onnx")
    assert call("import", "swap.onnx", "--like", "inswapper_128", "--name", "first")[0] == 0
    catalogue_module._load.cache_clear()  # as in the next process
    assert call("import", "swap.onnx", "--like", "first", "--name", "second")[:2] == (0, "second\n")
    catalogue_module._load.cache_clear()
    assert {"first", "second"} <= set(Catalogue.load().choices("face_swapper"))
    assert json.loads((own_folder / "imported.json").read_text())["second"]["like"] == "inswapper_128"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("export",), "models: export is nothing that can be done with models. Name nothing to list them, or: import "),
        (("import",), "models: import is nothing that can be done with models."),
        (("import", "a.onnx"), "a.onnx cannot be read: No such file or directory. Name the ONNX file of the model."),
        (("import", "a.onnx", "--like", "mesh"), "mesh has no graph, so none can be like it."),
        (("import", "a.onnx", "--name", "mesh"), "there is a model mesh already. Give it another name with --name."),
        (
            ("import", "a.dfm", "--like", "jen/somebody_224"),
            "jen/somebody_224 is of a collection, whose files are used as they lie. Put the file into a folder of "
            "models as custom/NAME.dfm, and choose custom/NAME.",
        ),
        (
            ("import", "a.onnx", "--like", "crossface_ghost"),
            "crossface_ghost is of the kind identity converter, which no option chooses: another one would never be ",
        ),
        (("import", "a.onnx", "--like", "inswaper_128"), "Did you mean inswapper_128"),
        (("import", "a.onnx", "--like", "gfpgan_1.4"), "a.onnx cannot be read: No such file or directory."),
    ],
)
def test_what_cannot_be_done_is_said(call, words, message):
    code, out, err = call(*words)
    assert code != 0
    assert out == ""
    assert message in err
