"""Stored results lose folders, and nothing else."""

import json
from pathlib import Path

import pytest

from benchmarks.elide_folders import elide
from tests.bench.made_up import keep, line_of
from tests.bench.toy import toy
from torchcaps.bench import store
from torchcaps.bench.summary import write
from torchcaps.bench.verify import verify

ARTEFACT = toy(seeds=1)
FIRST, SECOND = ARTEFACT.judgings("cpu")
ERROR = "OSError: no space left in /home/somebody/torchcaps/weights.npz"


@pytest.fixture
def old(tmp_path, monkeypatch):
    """Results as they were stored when errors still had folders."""
    with monkeypatch.context() as patch:
        patch.setattr(store, "without_folders", lambda text: text)
        failed = line_of(FIRST, state="failed", error=ERROR, trace='File "/home/somebody/torchcaps/bench/a.py"')
        keep(tmp_path / "cpu", [failed, line_of(SECOND, {"accuracy": 0.123456789012345678})])
        write([ARTEFACT], tmp_path)
    assert verify([ARTEFACT], tmp_path) == []
    return tmp_path


def test_folders_go_and_everything_else_stays(old):
    path = old / "cpu" / "judgings.jsonl"
    first, second = path.read_text().splitlines()
    assert elide(old) == {"cpu/judgings.jsonl": 1, "cpu/verdicts.json": 2}, "a reason too"
    after, untouched = path.read_text().splitlines()
    assert untouched == second
    before, now = json.loads(first), json.loads(after)
    assert now.pop("error") == "OSError: no space left in …/weights.npz"
    assert now.pop("trace") == 'File "torchcaps/bench/a.py"'
    assert now.pop("check") != before["check"]
    assert now == {name: value for name, value in before.items() if name not in ("error", "trace", "check")}
    assert verify([ARTEFACT], old) == [], "checksums and verdicts fit"


def test_a_second_time_nothing_changes(old):
    elide(old)
    before = {path: path.read_bytes() for path in old.glob("*/*.json*")}
    assert elide(old) == {}
    assert before == {path: path.read_bytes() for path in old.glob("*/*.json*")}


def test_damage_is_not_given_a_checksum(old):
    path = old / "cpu" / "judgings.jsonl"
    damaged = path.read_text().replace("no space", "much space")
    path.write_text(damaged)
    with pytest.raises(ValueError, match=r"judgings\.jsonl, line 1: its checksum differs"):
        elide(old)
    assert path.read_text() == damaged


def test_stored_results_have_no_folders():
    root = Path(__file__).parents[2] / "results"
    for path in root.glob("*/*.jsonl"):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            assert store.as_text(json.loads(text)) == text, f"{path.name}, line {number}"
