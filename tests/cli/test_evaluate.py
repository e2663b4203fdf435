"""`torchcaps evaluate`: class by class, kept with the run, and honest about a training that has not ended."""

import json

import pytest
from typer.testing import CliRunner

from torchcaps.cli import app
from torchcaps.measures import judge
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
