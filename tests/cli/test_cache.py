"""`torchcaps cache` tells what is kept of features, and lets go of it."""

import json

import pytest
import torch
from typer.testing import CliRunner

from tests.backbones.stand_in import trunk
from torchcaps.backbones import FeatureCache
from torchcaps.cli import app


@pytest.fixture(autouse=True)
def _kept(tmp_path, monkeypatch):
    monkeypatch.setattr("torchcaps.backbones.cache.cache_home", lambda: tmp_path)
    FeatureCache().features(trunk(), torch.zeros(2, 3, 32, 32, dtype=torch.uint8))


def cache(*options):
    return CliRunner().invoke(app, ["cache", *options]).output


def test_it_tells_what_is_kept(tmp_path):
    first, last = cache().splitlines()
    assert first.startswith("stand_in  images 3×32×32  0.0 MB  last used 20")
    assert last == f"0.0 MB of 10,000 in {tmp_path / 'features'}; TORCHCAPS_FEATURES_GB sets the limit"


def test_it_tells_programs(tmp_path):
    (one,) = json.loads(cache("--json"))
    assert (one["backbone"], one["image"]) == ("stand_in", [3, 32, 32])
    assert one["bytes"] > 12 * 16 * 4
    assert one["folder"].startswith(str(tmp_path / "features"))


def test_it_lets_go_of_everything():
    assert cache("--clear") == "0.0 MB are free\n"
    assert cache("--json").strip() == "[]"
    assert json.loads(cache("--clear", "--json")) == {"bytes": 0, "busy": 0}
