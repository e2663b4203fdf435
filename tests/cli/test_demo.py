"""The demonstrations, as a person meets them."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import torchcaps.data
from torchcaps.bench.demo.digits import CONTESTANTS, QUICK, TESTS, Plan
from torchcaps.bench.demo.sign import TABLE_1
from torchcaps.cli import app
from torchcaps.cli.demo import NEEDED
from torchcaps.data import DataUnavailableError
from torchcaps.measures import Score


@pytest.fixture
def no_mnist(monkeypatch):
    """A machine where MNIST cannot be had."""

    def refuse(*args, **options):
        raise DataUnavailableError("mnist cannot be had here")

    monkeypatch.setitem(torchcaps.data.STORED, "mnist", refuse)


def test_quick_demo_goes_through_on_any_machine(no_mnist, tmp_path):
    done = CliRunner().invoke(app, ["demo", "--quick", "--out", str(tmp_path / "demo")])
    assert done.exit_code == 0, done.exception
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    for text in (done.output.replace("\n", " "), page.replace("&#39;", "'")):
        assert "MNIST cannot be had here: these are 'glyphs'" in text
        assert "256 single digits of glyphs" in text
    results = json.loads((tmp_path / "demo" / "results.json").read_text(encoding="utf-8"))
    assert results["data"] == "glyphs"
    assert [row["name"] for row in results["rows"]] == [entrant.name for entrant in CONTESTANTS]
    for row in results["rows"]:
        assert row["name"] in done.output
        assert row["scores"].keys() == TESTS.keys()
        for score in row["scores"].values():
            low, high = score["interval"]
            assert low <= score["value"] <= high
            assert score["count"] == 64
            assert f"{100 * score['value']:.1f} %" in done.output
            assert f"{100 * score['value']:.1f} %" in page
    caps, inverted, conv = results["rows"]
    assert caps["decoder"] > 0
    assert caps["dead"][1] == 210
    assert (inverted["dead"], conv["dead"], conv["dynamics"]) == (None, None, None)
    assert all(f"{row['dynamics']:.2f}" in done.output and 0 < row["dynamics"] < 1 for row in (caps, inverted))
    for text in (
        "This shows how to look, not who wins: one seed, one learning rate, tried on validation images for the two ",
        "a decoder of 1,936,144 parameters beside CapsNet",
        "Training loss (logarithmic axis)",
        "Mean over 64 images",
        "The tree of the first",
        "added to it: 0",
        "16 numbers, length 0.",
    ):
        assert text in page
    assert page.count("Reconstructions of") == 2 * 16


@pytest.fixture
def competed(spy):
    spy("torchcaps.bench.demo.digits.source", return_value="glyphs")
    spy("torchcaps.bench.compare.printed.printed", return_value="a table")
    spy("torchcaps.bench.compare.page.write", return_value=Path("demo/report.html"))
    return spy("torchcaps.bench.demo.digits.compete")


@pytest.mark.parametrize(
    ("missing", "extra"),
    [(["jinja2"], "bench"), (["matplotlib"], "bench"), (["PIL"], "train"), (["rich", "matplotlib"], "bench")],
)
def test_what_is_missing_is_said_before_the_training(missing, extra, monkeypatch, competed):
    """With the extra that brings all of it: `bench` brings `train` too."""
    find = sys.modules["importlib.util"].find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in missing else find(name))
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code != 0
    assert f"the demo needs {', '.join(missing)}: pip install 'torchcaps[{extra}]'" in str(done.exception)
    assert set(missing) <= NEEDED.keys()
    competed.assert_not_called()


def test_seed_and_epochs_reach_the_contest(competed):
    for words, usual in ((["--quick"], QUICK), ([], Plan())):
        assert CliRunner().invoke(app, ["demo", *words, "--seed", "5", "--epochs", "3"]).exit_code == 0
        assert competed.call_args.args[0] == replace(usual, seed=5, epochs=3, source="glyphs")
        assert CliRunner().invoke(app, ["demo", *words]).exit_code == 0
        assert competed.call_args.args[0] == replace(usual, source="glyphs")


def test_a_bias_is_told_where_there_is_one(monkeypatch):
    asked = []

    def train_sign(row, epochs, seed, tick):
        asked.append((epochs, seed))
        tick()
        return Score.of(97 if row.bias else 51, 100)

    monkeypatch.setattr("torchcaps.bench.demo.sign.train_sign", train_sign)
    done = CliRunner().invoke(app, ["demo", "--sign", "--seed", "5", "--epochs", "3"])
    rows = [[cell.strip() for cell in line.split("│")[1:5]] for line in done.stdout.splitlines() if line[0] == "│"]
    assert [row[1:] for row in rows] == [  # the paper's table 1
        ["no", "49.61 %", "51.00 %"],
        ["yes", "99.70 %", "97.00 %"],
        ["no", "49.42 %", "51.00 %"],
        ["yes", "99.81 %", "97.00 %"],
    ]
    assert asked == [(3, 5)] * 4


def test_sign_demo_shows_that_a_bias_is_what_it_takes():
    """A real process, four epochs: chance without a bias, far above it with one, the paper's figures beside."""
    often = "from torchcaps import _telling; _telling.PATIENCE = _telling.EVERY = 0.05"
    code = f"{often}; from torchcaps.cli import main; main()"
    command = [sys.executable, "-c", code, "demo", "--sign", "--epochs", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("│")[1:5] for line in done.stdout.splitlines() if line.startswith("│")]
    assert re.search(r"bias: (yes|no), epochs: \d of 4 … \d+ s", done.stderr), "nobody watches: a line now and then"
    assert [float(paper.strip(" %")) for *_, paper, _ in rows] == [row.paper for row in TABLE_1]
    for _, bias, _, ours in rows:
        accuracy = float(ours.strip(" %"))
        assert accuracy > 90 if bias.strip() == "yes" else 48 < accuracy < 52
