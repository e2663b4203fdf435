"""`torchcaps attack`, as a person meets it."""

import json
import sys

import pytest
from typer.testing import CliRunner

from torchcaps.attacks import Robustness
from torchcaps.cli import app
from torchcaps.measures import Result
from torchcaps.train import fit


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small network that has learned drawn digits a little."""
    folder = tmp_path_factory.mktemp("runs") / "lenet"
    fit("chen2019/lenet", "glyphs", out=folder, data_options={"count": 1500}, epochs=2, lr=0.003, batch_size=32)
    return folder


def attack(run, *arguments):
    done = CliRunner().invoke(app, ["attack", str(run), "--images", "60", *arguments])
    return done, str(done.exception or "")


def test_a_table_and_json_that_is_kept(run):
    done, said = attack(run, "--method", "fgsm,transfer", "--eps", "0.2, 0.05")
    assert done.exit_code == 0, said
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["eps", "noise", "fgsm", "transfer"]
    assert [row.split()[0] for row in rows[:3]] == ["clean", "0.05", "0.2"]
    assert "on 60 images; L∞ ≤ eps, images from 0 to 1, clipped." in done.stdout
    again, said = attack(run, "--method", "fgsm,transfer", "--eps", "0.05,0.2", "--json")
    assert again.exit_code == 0, said
    found = Result.from_json(json.loads(again.stdout))
    assert isinstance(found, Robustness)
    assert found.clean.count == 60
    kept = json.loads((run / "attacks" / "fgsm+transfer-linf.json").read_text())
    assert Result.from_json(kept) == found


def test_other_bounds(run):
    done, said = attack(run, "--method", "fgsm", "--norm", "l2", "--no-clip", "--eps", "2", "--loss", "own")
    assert done.exit_code == 0, said
    assert "L2 ≤ eps, images from 0 to 1, not clipped." in done.stdout
    assert (run / "attacks" / "fgsm-l2-unclipped.json").is_file()
    done, said = attack(run, "--method", "transfer", "--substitute", str(run), "--eps", "0.1")
    assert done.exit_code == 0, said


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["--method", "fgms"], "there is no attack 'fgms': did you mean 'fgsm'?"),
        (["--eps", "much"], "--eps much is not allowed"),
        (["--eps", "8"], "in the units of the image, 0 to 1"),
        (["--loss", "mse"], "loss='mse' is not allowed"),
        (["--method", "transfer", "--substitute", "nowhere"], "nowhere is not the folder of a training"),
    ],
)
def test_mistakes(run, arguments, answer, no_shape_checks):
    done, said = attack(run, *arguments)
    assert done.exit_code == 1
    assert answer in said


def test_a_norm_that_nobody_has(run):
    done, _ = attack(run, "--norm", "l1")
    assert done.exit_code == 2
    assert "'linf', 'l2'" in done.output


def test_a_missing_toolbox_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "art.attacks.evasion", None)
    done, said = attack(run)
    assert done.exit_code == 1
    assert isinstance(done.exception, ValueError)
    assert "pip install 'torchcaps[attacks]'" in said
