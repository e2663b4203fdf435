"""Whatever is written anew: a disk that is full halfway leaves what was there, whole, and the error names the file."""

import ast
from pathlib import Path

import pytest

import torchcaps
from tests.bench.made_up import keep as keep_lines
from tests.bench.made_up import line_of, share
from tests.bench.toy import toy
from tests.full_disk import WHY, room_for
from tests.train.separable import linear
from torchcaps._atomic import NotWrittenError
from torchcaps.attacks.acgan import Generator, save_generators
from torchcaps.bench import summary
from torchcaps.bench.page import write_page
from torchcaps.data import Inventory
from torchcaps.measures import Nothing
from torchcaps.network import WEIGHTS, write_weights
from torchcaps.report import write_report
from torchcaps.train.findings import FOLDER, keep
from torchcaps.train.fingerprint import DATA, write_inventory
from torchcaps.train.log import LOG, forget_after
from torchcaps.train.run import RUN, Facts, Run, write_run
from torchcaps.train.settings import Settings

FACTS = Facts(Settings("custom", "custom"), ("a", "b"), (1, 1, 1))
NOTHING = {"activity": Nothing("activity", "the reason why")}


def verdicts(folder):
    lines = [line_of(job, {"accuracy": share(50)}) for job in toy().judgings("cpu")]
    if not (folder / "cpu").exists():
        keep_lines(folder / "cpu", lines)
    summary.write([toy()], folder)


WRITERS = {
    RUN: lambda folder: write_run(folder, FACTS),
    DATA: lambda folder: write_inventory(folder, Inventory({"a.png": "0123"})),
    LOG: lambda folder: forget_after(folder, 9),
    f"{FOLDER}/activity.json": lambda folder: keep(Run(linear(), *FACTS[:3], directory=folder), NOTHING),
    "report.html": lambda folder: write_report(folder / "report.html", [], title="A page", lead="Of nothing."),
    "bench.html": lambda folder: write_page(folder / "bench.html", [], {}, folder),
    "cpu/verdicts.json": verdicts,
    WEIGHTS: lambda folder: write_weights(linear(), folder, {"name": "custom", "options": {}}),
    "epoch-1.safetensors": lambda folder: save_generators([Generator(("a", "b"), width=0.05)], folder),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_halfway_costs_nothing_that_was_there(name, tmp_path):
    (tmp_path / LOG).write_text("".join(f'{{"step": {k}}}\n' for k in range(10)))
    WRITERS[name](tmp_path)
    before = files(tmp_path)
    assert name in before
    with room_for(10), pytest.raises(NotWrittenError) as full:
        WRITERS[name](tmp_path)
    first = {"cpu/verdicts.json": "cpu/lines.json"}.get(name, name)  # the ledger is written before the verdicts
    assert str(full.value).startswith(f"{tmp_path / first} could not be written: ")
    assert WHY in str(full.value)
    assert files(tmp_path) == before
    WRITERS[name](tmp_path)
    assert files(tmp_path).keys() == before.keys()


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


APART = {
    "_atomic.py",
    "backbones/shelf.py",  # maps that only grow; an entry is made after its map: see tests/backbones
    "data/_sources.py",  # a package in a folder that is deleted
    "explorer/upload.py",  # a copy that is deleted at once
    "train/checkpoint.py",  # tells which checkpoint is left: see tests/train/test_checkpoint.py
}
WRITE = {"write_text", "write_bytes", "savefig", "save_file", "savez", "dump"}


def test_nothing_is_written_in_place():
    """Except to a path that `replaced` gave, which is called `part`; files that only grow are opened to append."""
    package = Path(torchcaps.__file__).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and _is_in_place(node)
    }
    assert found == APART


def _is_in_place(call):
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    given = {word.id for word in ast.walk(call) if isinstance(word, ast.Name)}
    if name in ("write_text", "write_bytes"):
        return isinstance(call.func, ast.Attribute)
    if name == "open":
        modes = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        return any(mode[:1] in ("w", "x") for mode in modes)
    return name in WRITE and "part" not in given and "buffer" not in given
