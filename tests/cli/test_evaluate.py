"""`torchcaps evaluate`: class by class, kept with the run, and honest about a training that has not ended."""

import json
import re

import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

from torchcaps.cli import app
from torchcaps.cli.evaluate import MATRIX, _by_class
from torchcaps.data import Dataset
from torchcaps.measures import AccuracyResult, judge
from torchcaps.train import fit, load_run, unfinished
from torchcaps.train.findings import kept
from torchcaps.train.loop import Training


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("evaluate") / "run"
    fit("chen2019/lenet", "glyphs", images=300, epochs=2, batch_size=32, lr=3e-3, out=out, quiet=True)
    return out


def test_class_by_class_and_kept(run, tmp_path):
    text = invoke("evaluate", run, "--on", "clean,affine")
    assert text.exit_code == 0, text.exception
    told = json.loads(invoke("evaluate", run, "--json").stdout)["clean"]
    trained = load_run(run)
    wanted = judge(trained.model, ["clean"], trained.test_data())["clean"]
    assert told["confusion"] == [list(row) for row in wanted.confusion]
    assert sum(map(sum, told["confusion"])) == told["count"] == len(trained.test_data())
    for name, score in wanted.by_class.items():
        assert told["by_class"][name] == {"accuracy": score.value, "count": score.count}
        assert f"{score.value:.2%}" in text.output
    assert "shown ↓, named →" in text.output
    assert kept(trained)["accuracy"] == wanted
    assert kept(trained)["affine"].count == wanted.count
    assert "has not ended" not in text.stderr
    page = tmp_path / "page.html"
    assert invoke("report", run, "--images", 20, "--out", page).exit_code == 0
    html = page.read_text(encoding="utf-8")
    assert "Class by class" in html
    assert f"of {wanted.count:,} images" in html, "what was evaluated is shown, not what 20 images would say"
    most = max(max(row) for row in wanted.confusion)
    assert f">{most}</td>" in html


def test_a_threshold_of_ones_own_is_not_kept(run):
    before = kept(load_run(run)).get("accuracy")
    assert invoke("evaluate", run, "--threshold", "0.9").exit_code == 0
    assert kept(load_run(run)).get("accuracy") == before


def test_an_unfinished_training_is_said(run, tmp_path, monkeypatch):
    assert unfinished(load_run(run)) == ""
    half = tmp_path / "half"
    real = Training.train_on

    def stop(self, batch):
        if self.step == 5:
            raise KeyboardInterrupt
        real(self, batch)

    monkeypatch.setattr(Training, "train_on", stop)
    with pytest.raises(KeyboardInterrupt):
        fit("chen2019/lenet", "glyphs", images=80, epochs=9, batch_size=32, out=half, quiet=True)
    monkeypatch.undo()
    done = invoke("evaluate", half)
    assert done.exit_code == 0, done.exception
    assert "the training has not ended: it got to epoch 1, step 3, of 9 epochs" in done.stderr
    assert "--resume" in done.stderr


CLASSES = ("cat", "dog", "owl")
CONFUSION = ((6, 3, 1), (0, 4, 1), (2, 0, 2))  # a row for each class shown: of ten cats three were called dogs
CLEAN = AccuracyResult(CLASSES, 12, 19, None, "AAAA", (10, 5, 4), CONFUSION)
AFFINE = AccuracyResult(CLASSES, 7, 19, None, "AAAA", (10, 5, 4), ((4, 3, 3), (4, 1, 0), (1, 1, 2)))


@pytest.fixture
def judged(a_run, spy):
    """A run that tells cats, dogs and owls, and what was found of it."""
    found = a_run(CLASSES)
    spy("torchcaps.train.Run.test_data", return_value=Dataset(CLASSES, (3, 12, 16)))
    return found, spy("torchcaps.measures.judge", return_value={"clean": CLEAN, "affine": AFFINE})


def test_what_is_taken_for_what(judged):
    done = invoke("evaluate", "run", "--on", "clean,affine")
    assert done.exit_code == 0, done.exception
    cells = [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]
    interval = "{:.2%} – {:.2%}".format(*binomtest(12, 19).proportion_ci(method="wilson"))
    assert ["clean", "63.16%", interval, "19"] in cells
    at = cells.index(["clean, class by class"]) + 2
    assert [(name, share, count, most) for name, share, _, count, most in cells[at : at + 3]] == [
        ("cat", "60.00%", "10", "dog (3)"),
        ("dog", "80.00%", "5", "owl (1)"),
        ("owl", "50.00%", "4", "cat (2)"),
    ]
    at = cells.index(["shown ↓, named →"])
    assert cells[at + 1 : at + 5] == [["cat", "dog", "owl"], ["cat", "6", "3", "1"], ["dog", "0", "4", "1"],
                                      ["owl", "2", "0", "2"]]  # fmt: skip


def test_the_same_as_json(judged):
    told = json.loads(invoke("evaluate", "run", "--json", "--batch-size", 9).stdout)["clean"]
    assert told["accuracy"] == 12 / 19
    assert told["confusion"] == [list(row) for row in CONFUSION]
    assert told["by_class"] == {
        "cat": {"accuracy": 0.6, "count": 10},
        "dog": {"accuracy": 0.8, "count": 5},
        "owl": {"accuracy": 0.5, "count": 4},
    }
    assert judged[1].call_args.kwargs["batch_size"] == 9


def test_it_is_kept_as_inspect_would_keep_it(judged):
    """Under the names of `torchcaps inspect`; by a threshold of one's own it is another figure, and not kept."""
    found, judge = judged
    assert invoke("evaluate", "run", "--threshold", "0.9").exit_code == 0
    assert judge.call_args.kwargs["threshold"] == 0.9
    assert kept(found) == {}
    assert invoke("evaluate", "run").exit_code == 0
    assert kept(found) == {"accuracy": CLEAN, "affine": AFFINE}


def test_a_threshold_is_a_number():
    done = invoke("evaluate", "run", "--threshold", "nan")
    assert str(done.exception) == "--threshold nan is not allowed: give a number"


def test_names_of_classes_cannot_command_the_terminal():
    names = "\x1b[31mcat", "dog\n\u202e100 %", "猫"
    lines = list(_by_class(AccuracyResult(names, 3, 3, None, "", (1,) * 3, ((1, 1, 0),) * 3)))
    assert not set("\x1b\u202e") & set("".join(lines))
    assert sum(line.startswith(r"dog\u000a\u202e100 %") for line in lines) == 2
    assert sum(line.startswith("猫") for line in lines) == 2


def test_many_classes_are_told_without_the_table_of_all_pairs():
    for count, shown in ((MATRIX, True), (MATRIX + 1, False)):
        names, ones = tuple(f"c{k}" for k in range(count)), (1,) * count
        lines = list(_by_class(AccuracyResult(names, count, count, None, "", ones, (ones,) * count)))
        assert any("named →" in line for line in lines) == shown
