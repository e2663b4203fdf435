"""Backbones of timm and transformers, neither of which imports here: stand-ins of their interfaces, random weights."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

from torchcaps.backbones import architecture_only, load_backbone, usual_size
from torchcaps.models import create_model


class Pyramid(nn.Module):
    """As timm builds one with `features_only`: a list of maps, and what is known of each."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 6, 3, 4, 1), nn.Conv2d(6, 10, 3, 4, 1)
        self.feature_info = SimpleNamespace(channels=lambda: [10])

    def forward(self, x):
        return [self.second(self.first(x))]


@pytest.fixture
def timm(monkeypatch):
    asked, config = [], SimpleNamespace(input_size=(3, 96, 96), mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4))

    def build(name, **options):
        asked.append((name, options))
        return Pyramid()

    package, models = ModuleType("timm"), ModuleType("timm.models")
    package.create_model, models.get_pretrained_cfg = build, lambda name: config
    monkeypatch.setitem(sys.modules, "timm", package)
    monkeypatch.setitem(sys.modules, "timm.models", models)
    return asked


def test_timm_is_asked_by_its_own_conventions(timm):
    own = load_backbone("timm:small.in1k")
    assert timm == [("small.in1k", {"pretrained": True, "features_only": True, "out_indices": (-1,)})]
    assert (own.preprocessing.size, usual_size("timm:small.in1k")) == (96, 96)
    assert own.mean.flatten().tolist() == pytest.approx([0.4, 0.5, 0.6])
    assert own.deviation.flatten().tolist() == pytest.approx([0.2, 0.3, 0.4])
    assert own(torch.rand(2, 3, 96, 96)).shape == (2, 10, 6, 6)


def test_timm_fetches_nothing_where_the_weights_come_from_a_run(timm):
    with architecture_only():
        load_backbone("timm:small")
    assert timm[0][1]["pretrained"] is False


def test_capsules_stand_on_a_network_of_timm(timm):
    net = create_model("sabour2017/capsnet", backbone="timm:small", num_classes=4, in_chans=3, image_size=96)
    assert net(torch.rand(2, 3, 96, 96)).scores.shape == (2, 4)


@pytest.mark.parametrize("error", [ModuleNotFoundError("No module named 'timm'"), RuntimeError("operator torchvision")])
def test_timm_that_does_not_import_is_told(error, monkeypatch):
    def broken(name):
        raise error

    monkeypatch.setattr("torchcaps.backbones.timm.import_module", broken)
    with pytest.raises(ValueError, match=f"'timm:resnet18' needs timm, which cannot be imported here .*{error}"):
        load_backbone("timm:resnet18")


class Vision(nn.Module):
    """A class token, two registers, then a token for each 8×8 square: its mean colours and its place."""

    def forward(self, pixel_values, interpolate_pos_encoding):
        assert interpolate_pos_encoding
        squares = nn.functional.avg_pool2d(pixel_values, 8)
        tokens = torch.cat([squares, squares], 1).flatten(2).transpose(1, 2)
        return SimpleNamespace(last_hidden_state=torch.cat([torch.full_like(tokens[:, :3], 9.0), tokens], 1))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 6, "patch_size": 8, "image_size": 40}))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"image_mean": [0.5] * 3, "image_std": [0.5] * 3}))
    (tmp_path / "model.safetensors").touch()
    package = ModuleType("transformers")
    package.asked = []

    def from_pretrained(folder, **options):
        package.asked.append(options)
        return Vision()

    package.AutoModel = SimpleNamespace(from_pretrained=from_pretrained, from_config=lambda config, **_: Vision())
    package.AutoConfig = SimpleNamespace(from_pretrained=lambda folder, **options: options)
    monkeypatch.setitem(sys.modules, "transformers", package)
    return tmp_path


def test_tokens_become_a_grid(folder):
    images = torch.rand(2, 3, 16, 40)
    own = load_backbone(f"hf:{folder}")
    squares = nn.functional.avg_pool2d((images - 0.5) / 0.5, 8)
    assert torch.allclose(own(images), torch.cat([squares, squares], 1), atol=1e-6)
    assert usual_size(f"hf:{folder}") == 40


def test_nothing_is_fetched_and_no_code_of_the_folder_is_run(folder):
    load_backbone(f"hf:{folder}")
    asked = sys.modules["transformers"].asked[0]
    assert asked == {"local_files_only": True, "use_safetensors": True, "trust_remote_code": False}


def test_the_weights_of_a_run_need_none_in_the_folder(folder):
    (folder / "model.safetensors").unlink()
    with architecture_only():
        assert load_backbone(f"hf:{folder}").channels == 6
    with pytest.raises(FileNotFoundError, match="holds no model"):
        load_backbone(f"hf:{folder}")


def test_a_folder_of_something_else_is_told(folder):
    (folder / "config.json").write_text('{"hidden_size": 6}')
    with pytest.raises(
        ValueError, match=r"is not a vision transformer's: its config.json has no patch_size, image_size"
    ):
        load_backbone(f"hf:{folder}")


def test_a_folder_that_is_not_there_is_told():
    with pytest.raises(FileNotFoundError, match=r"'hf:nowhere' needs config.json in that folder: nothing is fetched"):
        load_backbone("hf:nowhere")


def test_transformers_that_does_not_import_is_told(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ValueError, match="needs transformers, which cannot be imported here"):
        load_backbone(f"hf:{folder}")
