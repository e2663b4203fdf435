"""Every network of the catalogue that takes a backbone stands on a pretrained one, and none in another way."""

import pytest
import torch

from torchcaps.backbones import trunk_of
from torchcaps.models import card, create_model, from_pretrained, list_models, multiply_adds, options_of

CAPSULES = [name for name in list_models() if "backbone" in options_of(card(name).build)]
ON = {"backbone": "efficientnet_lite0", "num_classes": 3, "in_chans": 3}


@pytest.fixture(scope="module", autouse=True)
def _read_once():
    """The weights are read once for all models."""
    import functools

    from torchcaps.backbones import efficientnet

    patch = pytest.MonkeyPatch()
    patch.setattr(efficientnet, "read_weights", functools.cache(efficientnet.read_weights))
    yield
    patch.undo()


@pytest.mark.parametrize("side", [64, 128, 224])
@pytest.mark.parametrize("name", CAPSULES)
def test_it_answers_and_learns(name, side):
    """On maps of 2×2, 4×4 and 7×7; the grids are those of the map, and every parameter above it gets a gradient."""
    net = create_model(name, **ON, image_size=side)
    trunk = trunk_of(net)
    trunk.tune("head")
    features = torch.rand(2, 1280, side // 32, side // 32)
    parse = net.train()(features, record="last")
    assert parse.scores.shape == (2, 3)
    assert net.decoder is None
    net.loss(parse.scores, torch.eye(3)[:2]).backward()
    frozen = {id(p) for p in trunk.parameters()}
    assert all((p.grad is None) == (id(p) in frozen) for p in net.parameters())


def test_a_decoder_is_there_if_it_is_asked_for():
    net = create_model("sabour2017/capsnet", **ON, image_size=64, width=0.25, reconstruction="conditional")
    assert net.decoder is not None


def test_standardised_images_are_refused():
    with pytest.raises(ValueError, match="standardise=True is not allowed: a pretrained backbone normalises images"):
        create_model("sabour2017/capsnet", **ON, image_size=64, standardise=True)


def test_an_unknown_backbone_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match=r"backbone='resnet' is not allowed.*'efficientnet_lite0'.*'timm:NAME'"):
        create_model("sabour2017/capsnet", backbone="resnet")


def test_it_is_built_without_memory_for_its_weights():
    with torch.device("meta"):
        net = create_model("sabour2017/capsnet", **ON, image_size=64)
    assert multiply_adds(net, (3, 64, 64)) > 30_000_000


def test_saved_and_read_again_it_needs_no_package_of_weights(tmp_path, monkeypatch):
    net = create_model("tsai2020/inverted_simple", **ON, image_size=64).eval()
    net.save_pretrained(tmp_path)
    monkeypatch.setattr("torchcaps.backbones.efficientnet.read_weights", None)
    again, images = from_pretrained(tmp_path).eval(), torch.rand(2, 3, 64, 64)
    assert torch.equal(again(images).scores, net(images).scores)
