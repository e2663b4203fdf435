"""The trained networks that ship with the package: small, whole, and as good as their committed result says."""

import json
from pathlib import Path

import pytest
import torch

from torchcaps.data import Stored, load
from torchcaps.measures import accuracy
from torchcaps.models import create_model, list_pretrained
from torchcaps.models._pretrained import SHIPPED

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "pretrained.json"
ROWS = {row["model"]: row for row in json.loads(RESULTS.read_text())}


def test_four_to_six_networks_in_eight_megabytes():
    assert 4 <= len(list_pretrained()) <= 6
    assert set(list_pretrained()) == set(ROWS)
    assert sum(file.stat().st_size for file in SHIPPED.rglob("*") if file.is_file()) <= 8_000_000


@pytest.mark.parametrize("name", ROWS)
def test_as_good_as_its_result(name):
    row = ROWS[name]
    net = create_model(name, pretrained=True)
    assert not net.training
    assert sum(p.numel() for p in net.parameters()) == row["parameters"]
    data = load(row["recipe"]["data"], "test")
    if isinstance(data, Stored):
        data = data.select(torch.arange(1000))
    low, high = accuracy(net, data).interval
    assert low <= row["test_accuracy"] + 0.01
    assert high >= row["test_accuracy"] - 0.01


def test_it_comes_ready_to_judge():
    assert not any(module.training for module in create_model("peer2021/sign", pretrained=True).modules())


def test_options_that_its_recipe_does_not_have_are_refused():
    """Even where they name the model's own default: whoever asks for something should get it, or hear that not."""
    own = create_model("peer2021/sign", pretrained=True).recipe["options"]
    assert "width" not in own
    with pytest.raises(ValueError, match=r"width=3.0 is not allowed with pretrained=True"):
        create_model("peer2021/sign", pretrained=True, width=3.0)
    assert create_model("peer2021/sign", pretrained=True, **own).recipe["options"] == own


def test_other_options_are_refused():
    with pytest.raises(ValueError, match="num_classes=7 is not allowed with pretrained=True"):
        create_model("sabour2017/capsnet", pretrained=True, num_classes=7)
    with pytest.raises(ValueError, match="no trained weights for 'gu2021/aff_capsnet': there are for"):
        create_model("gu2021/aff_capsnet", pretrained=True)
