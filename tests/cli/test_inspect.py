"""`torchcaps inspect` and `torchcaps report` on small runs."""

import json

import pytest
from typer.testing import CliRunner

from tests.report.test_report import Reader
from torchcaps.cli import app
from torchcaps.data import Dataset
from torchcaps.measures import INSPECTIONS, Nothing, Result
from torchcaps.train import fit
from torchcaps.train.findings import kept


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two networks of capsules, on digits and on placed digits of fonts, and one without."""
    folder = tmp_path_factory.mktemp("runs")
    few = {"images": 64, "epochs": 1, "quiet": True}
    source = {"data_options": {"source": "glyphs"}, **few}
    fit("mitterreiter2023/capsnet", "placed_mnist", options={"width": 0.2}, out=folder / "deep", **source)
    fit("sabour2017/capsnet", "glyphs", options={"width": 0.06}, out=folder / "caps", **few)
    fit("gu2021/convnet_avg", "glyphs", options={"width": 0.02}, out=folder / "conv", **few)
    return folder


def test_inspect_keeps_what_it_found(runs):
    done = invoke("inspect", runs / "caps", "--what", "activity, dynamics", "--images", 20)
    assert done.exit_code == 0, done.exception
    assert "activity\n────────\nlayer" in done.stdout
    told = json.loads(invoke("inspect", runs / "caps", "--what", "activity", "--images", 20, "--json").stdout)
    assert Result.from_json(told["activity"]).images == 20
    kept = json.loads((runs / "caps" / "inspect" / "activity.json").read_text())
    assert kept["result"] == told["activity"]
    assert (runs / "caps" / "inspect" / "dynamics.json").is_file()
    wrong = invoke("inspect", runs / "caps", "--what", "activty")
    assert "there is no measure 'activty'" in str(wrong.exception)


def test_one_page_of_several_runs(runs, tmp_path):
    invoke("inspect", runs / "caps", "--what", "activity", "--images", 7)
    done = invoke("report", *(runs / name for name in ("deep", "caps", "conv")), "--images", 20,
                  "--out", tmp_path / "page.html")  # fmt: skip
    assert done.exit_code == 0, done.exception
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(page)
    for text in (
        "A report on deep, caps, conv", "mitterreiter2023/capsnet on placed_mnist", "What they saw: caps, conv",
        "What they saw: deep", "What the dimensions mean: caps", "Mean over 20 images", "1 steps of adam",
        "How much they withstand",
    ):  # fmt: skip
        assert text in reader.text
    for name in ("deep", "caps", "conv"):
        assert {path.stem for path in (runs / name / "inspect").glob("*.json")} == set(INSPECTIONS)
    kept = json.loads((runs / "caps" / "inspect" / "activity.json").read_text())
    assert kept["result"]["images"] == 7  # what was there is taken, not measured again


def test_a_report_says_what_it_needs(runs, monkeypatch):
    find = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "jinja2" else find(name))
    done = invoke("report", runs / "conv")
    assert "a report needs jinja2: pip install 'torchcaps[bench]'" in str(done.exception)


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_what_is_asked_for_is_measured_and_kept(words, a_run, spy):
    run, images = a_run(), Dataset(("dog", "cat", "owl"), (3, 12, 16))
    found = {"parse_tree": Nothing("parse tree", "there are no capsules")}
    shown = spy("torchcaps.train.Run.test_data", return_value=images)
    measure = spy("torchcaps.measures.inspect", return_value=found)
    done = invoke("inspect", "run", "--what", "activity, parse_tree", "--images", 7, *words)
    assert done.exit_code == 0, done.exception
    shown.assert_called_with(run, 7)
    assert measure.call_args.args == (run.model, images, ["activity", "parse_tree"])
    assert kept(run) == found
    if words:
        assert json.loads(done.stdout) == {"parse_tree": found["parse_tree"].to_json()}
    else:
        assert done.stdout.splitlines()[:2] == ["parse tree", "──────────"]
        assert "nothing to measure: there are no capsules" in done.stdout
    invoke("inspect", "run")
    assert not measure.call_args.args[2], "everything"
