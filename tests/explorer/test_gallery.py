"""Which networks are on show, and what was measured of them."""

import json
import re
from pathlib import Path

import pytest
import torch

from torchcaps.explain import summarise
from torchcaps.explorer import average, gather, health
from torchcaps.explorer.gallery import exhibit, shipped_digits, shipped_names
from torchcaps.measures import ParseTree, walk
from torchcaps.train import fit
from torchcaps.train.findings import kept

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "pretrained.json"
ROWS = {row["model"]: row for row in json.loads(RESULTS.read_text())}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "small"
    options = {"width": 0.2, "reconstruction": "none"}
    fit("mitterreiter2023/capsnet", "glyphs", out=folder, steps=4, images=200, options=options)
    return folder


def test_without_names_those_that_ship_and_take_pictures(gallery):
    assert list(gallery) == shipped_names()
    assert "peer2021/sign" not in gallery
    assert len(shipped_digits()) == 200
    assert shipped_digits().labels.bincount(minlength=10).min() >= 10


def test_shipped_networks_are_worth_exploring(gallery):
    """Half precision; a deep one, each of three routings, a ConvNet, two decoders; and their cards are their own."""
    by_routing = dict[str, float]()
    for name, shown in gallery.items():
        found, row = health.shipped(name), ROWS[name]
        assert found.keys() == set(health.WHAT)
        assert (found["accuracy"].score.value, found["accuracy"].count) == (row["test_accuracy"], 10_000)
        routing = re.search(r"\((.*)\)", shown.title).group(1)
        by_routing[routing] = max(by_routing.get(routing, 0), row["test_accuracy"])
    assert all(by_routing[routing] >= 0.98 for routing in ("dynamic", "em", "inverted attention", "no capsules"))
    assert any(
        len(shown.structure.layers) >= 4 and ROWS[name]["test_accuracy"] >= 0.985 for name, shown in gallery.items()
    )
    assert sum(shown.decoder is not None for shown in gallery.values()) >= 2


def test_what_is_not_there_is_named():
    for name in ("nobody/nothing", "peer2021/sign"):
        with pytest.raises(ValueError, match=f"no run in '{name}'.*chen2019/lenet"):
            exhibit(name)


def test_a_run_is_measured_once_and_its_figures_kept(run, monkeypatch):
    [shown] = gather([str(run)]).values()
    assert shown.title == "small"
    card = health.card(shown)
    names = [row["name"] for row in card["rows"]]
    assert names == ["accuracy", "affine accuracy", "dead capsules", "routing dynamics", "symmetry"]
    mean = average.average(shown)
    assert {*health.WHAT, "parse_tree"} <= kept(shown.run).keys()

    def never(*_, **__):
        raise AssertionError("measured again")

    monkeypatch.setattr(health, "inspect", never)
    monkeypatch.setattr(average, "walk", never)
    [again] = gather([str(run)]).values()
    assert health.card(again) == card
    assert average.average(again) == mean


def test_the_mean_tree_is_the_measures(gallery):
    shown = gallery["mitterreiter2023/capsnet"]
    found = average.average(shown)
    [measured] = walk(shown.model, shown.samples, [ParseTree()])
    assert found["images"] == 200
    for part, tree in (("mean", summarise(measured.mean)), ("deviation", summarise(measured.deviation))):
        for given, wanted in zip(found[part]["links"], tree.couplings, strict=True):
            torch.testing.assert_close(torch.tensor(given).double(), wanted[0, 0], atol=1e-5, rtol=0)
    with pytest.raises(ValueError, match="without capsules"):
        average.average(gallery["chen2019/lenet"])
