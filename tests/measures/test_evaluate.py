"""`torchcaps evaluate`, on a training that stands in for a real one."""

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.measures.trained import reader
from torchcaps.cli import app
from torchcaps.data import Overlapping, Sign
from torchcaps.data.glyphs import load_glyphs
from torchcaps.measures import accuracy, measure
from torchcaps.models import create_model


@pytest.fixture
def trained(monkeypatch, tmp_path):
    """A run whose parts a test may change; nothing is kept with it."""
    digits = load_glyphs("test", 80)
    run = SimpleNamespace(
        model=create_model("chen2019/lenet", pretrained=True),
        classes=digits.classes,
        data=digits,
        test_data=lambda: run.data,
    )
    (tmp_path / "run.json").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torchcaps.train.load_run", lambda folder: run)
    monkeypatch.setattr("torchcaps.train.unfinished", lambda run: "")
    monkeypatch.setattr("torchcaps.train.findings.keep", lambda run, found: None)
    return run


def ask(*words):
    return CliRunner().invoke(app, ["evaluate", ".", *words])


def test_json_is_what_python_gives(trained):
    rows = json.loads(ask("--on", "clean, affine,overlap", "--json").stdout)
    ours = measure(trained.model, ["clean", "affine", "overlap"], trained.data)
    assert list(rows) == list(ours)
    for name, score in ours.items():
        wanted = {"accuracy": score.value, "count": score.count, "interval": list(score.interval)}
        assert rows[name].items() >= wanted.items()


def test_the_table(trained):
    done = ask("--on", "clean,overlap")
    assert done.exit_code == 0
    score = measure(trained.model, "clean", trained.data)["clean"]
    header, clean, overlap, *_ = done.stdout.strip().splitlines()
    assert "95 % interval" in header
    low, high = score.interval
    assert clean.split() == ["clean", f"{score.value:.2%}", f"{low:.2%}", "–", f"{high:.2%}", "80"]
    assert overlap.startswith("overlap")
    assert list(json.loads(ask("--json").stdout)) == ["clean"]


def test_generators(trained):
    trained.model = create_model("gu2021/convnet_avg", width=0.02, image_size=36)
    trained.data = Overlapping(trained.data, pairs=2)
    rows = json.loads(ask("--on", "clean,overlap", "--json").stdout)
    assert (rows["clean"]["count"], rows["overlap"]["count"]) == (160, 80)
    trained.model, trained.data, trained.classes = (
        create_model("peer2021/sign"),
        Sign(count=50),
        ("negative", "positive"),
    )
    assert json.loads(ask("--json").stdout)["clean"]["count"] == 50
    refused = ask("--on", "affine")
    assert refused.exit_code != 0
    assert "'affine' needs stored images, and Sign has none" in str(refused.exception)


def test_mistakes(trained):
    wrong = ask("--on", "clean,afine")
    assert wrong.exit_code != 0
    assert "there is no view 'afine': did you mean 'affine'? Known: 'clean', 'affine', 'overlap'" in str(
        wrong.exception
    )
    trained.classes = ("cat", "dog")
    other = ask()
    assert other.exit_code != 0
    assert "trained to tell cat, dog, but the test images show 0, 1" in str(other.exception)


def test_sets_of_objects(trained):
    """DiverseMultiMNIST is judged by a threshold, which can be told."""
    trained.model = reader(36)
    trained.data = Overlapping(trained.data, single=1 / 6)
    usual = json.loads(ask("--json").stdout)["clean"]["accuracy"]
    assert usual == accuracy(trained.model, trained.data, threshold=0.0).value
    chosen = json.loads(ask("--json", "--threshold", "2").stdout)["clean"]["accuracy"]
    assert 0 < usual < chosen == accuracy(trained.model, trained.data, threshold=2.0).value
    assert json.loads(ask("--json", "--threshold", "1000").stdout)["clean"]["accuracy"] == 0
