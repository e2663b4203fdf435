"""What is frozen, and that nothing changes after it without a word."""

import json
import tomllib
from dataclasses import replace

import pytest

from tests.bench.made_up import keep, line_of, share
from tests.bench.toy import TINY, toy
from torchcaps.bench.claims import above
from torchcaps.bench.deviations import Change, changes
from torchcaps.bench.freeze import freeze, frozen_records, record, thawed, unfrozen
from torchcaps.bench.papers import artefacts

TOY = toy()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "peer2021").mkdir()
    freeze("peer2021", [TOY], tmp_path / "none", tmp_path)
    return tmp_path


def results(tmp_path, artefact):
    keep(tmp_path / "results" / "cpu", [line_of(job, {"accuracy": share(90)}) for job in artefact.judgings("cpu")])
    return tmp_path / "results"


def test_nothing_differs_from_a_freeze_just_made(folder):
    assert thawed([TOY], folder, []) == []
    assert thawed([toy(seeds=9)], folder, []) == [], "seeds are no settings"
    retold = {name: replace(claim, told="otherwise") for name, claim in TOY.claims.items() if name == "bias"}
    assert thawed([replace(TOY, claims={**TOY.claims, **retold})], folder, []) == []


CHANGED = {
    "row rba at cpu": toy(settings={**TINY, "images": 301}),
    "claim bias": replace(TOY, claims={**TOY.claims, "bias": above("rba_bias", 0.98, "accuracy")}),
    "row new at cpu": toy(others={"new": {}}),
    "row rba_bias at cpu": replace(TOY, budgets={"cpu": replace(TOY.budgets["cpu"], cut=frozenset(["rba_bias"]))}),
}


@pytest.mark.parametrize("place", CHANGED)
def test_a_change_is_refused_until_it_is_said(place, folder):
    found = thawed([CHANGED[place]], folder, [])
    [told] = [line for line in found if line.startswith(f"peer2021/table1, {place} is not what was frozen")]
    [entry] = tomllib.loads(told.partition(":\n")[2])["change"]
    rest = len(found) - 1
    assert len(thawed([CHANGED[place]], folder, [Change(**entry)])) == rest
    assert len(thawed([CHANGED[place]], folder, [Change(**{**entry, "after": "other"})])) == rest + 1
    steps = [Change(**{**entry, "after": "between"}), Change(**{**entry, "before": "between"})]
    assert len(thawed([CHANGED[place]], folder, steps)) == rest, "one change after the other"


def test_a_sentence_is_part_of_its_claim(folder, monkeypatch):
    from torchcaps.bench.frozen import frozen

    monkeypatch.setitem(frozen()["peer2021/table1"], "bias", "With a bias both are above 90 %.")
    [told] = thawed([TOY], folder, [])
    assert told.startswith("peer2021/table1, claim bias is not what was frozen")


def test_a_freeze_comes_before_results(folder):
    changed = CHANGED["row rba at cpu"]
    root = results(folder, TOY)
    before = frozen_records("peer2021", folder)
    freeze("peer2021", [TOY], root, folder)
    assert frozen_records("peer2021", folder) == before, "nothing would change"
    with pytest.raises(ValueError, match="row rba at cpu would change, and peer2021/table1 has results at cpu"):
        freeze("peer2021", [changed], root, folder)
    assert frozen_records("peer2021", folder) == before
    freeze("peer2021", [changed], folder / "none", folder)
    assert thawed([changed], folder, []) == []
    with pytest.raises(ValueError, match="there is no paper 'gu2012': peer2021 are"):
        freeze("gu2012", [TOY], root, folder)


def test_results_of_what_was_not_frozen_are_found(folder):
    root = results(folder, TOY)
    assert unfrozen([TOY], root, folder) == []
    [found] = unfrozen([TOY], root, folder / "elsewhere")
    assert found == "peer2021/table1 has results at cpu and was not frozen before them"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[change]]\ndate = "2026"', "entry 1 lacks artefact, what, reason, without"),
        ('[[change]]\nwhy = "so"', "entry 1 has 'why': it may have date, "),
        ("[[change]]\ndate = 2026-01-01", "a text in quotation marks is needed"),
    ],
)
def test_a_deviation_that_cannot_be_read_is_named(text, said, tmp_path):
    path = tmp_path / "deviations.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        changes(path)


def test_every_artefact_is_as_it_was_frozen():
    every = list(artefacts().values())
    assert thawed(every) == []
    assert {paper for paper in {one.paper for one in every} if not frozen_records(paper)} == set()


def test_a_record_is_plain_data():
    made = record(TOY)
    assert json.loads(json.dumps(made)) == made
    assert list(made["rows"]["cpu"]) == ["rba", "rba_bias"]
    assert made["rows"]["cpu"]["rba"] != made["rows"]["cpu"]["rba_bias"]
