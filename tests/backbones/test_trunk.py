"""What a pretrained backbone does with images, and which of its parts learn."""

import pytest
import torch
from torch import nn

from tests.backbones.stand_in import trunk
from torchcaps.backbones import Preprocessing, trunk_of
from torchcaps.models import create_model


def test_images_are_normalised_as_the_preprocessing_says():
    mean, deviation = [0.1, 0.2, 0.3], [0.5, 0.25, 2.0]
    own = trunk(Preprocessing(32, mean, deviation)).eval()
    images = torch.rand(2, 3, 32, 32)
    by_hand = torch.stack([(images[:, k] - mean[k]) / deviation[k] for k in range(3)], 1)
    assert torch.allclose(own(images), own.stages[1](own.stages[0](by_hand)), atol=1e-6)


def test_grey_images_are_taken_as_colour_ones():
    own, grey = trunk().eval(), torch.rand(2, 1, 32, 32)
    assert torch.equal(own(grey), own(grey.expand(2, 3, 32, 32)))


def test_features_pass_as_they_are():
    own = trunk().eval()
    features = own(torch.rand(2, 3, 32, 32))
    assert own(features) is features


def test_images_of_two_channels_are_refused():
    with pytest.raises(ValueError, match="images of 2 channels are not allowed: stand_in takes colour or grey ones"):
        trunk()(torch.rand(1, 2, 32, 32))


@pytest.mark.parametrize(
    ("what", "learn"), [("head", [False, False]), ("last:1", [False, True]), ("all", [True, True])]
)
def test_what_learns(what, learn):
    own = trunk().train()
    own.tune(what)
    assert [all(p.requires_grad for p in stage.parameters()) for stage in own.stages] == learn
    assert [stage.training for stage in own.stages] == learn
    assert own.is_frozen is (what == "head")


def test_frozen_batch_norm_keeps_its_statistics_in_training():
    own = trunk()
    own.tune("last:1")
    net = nn.Sequential(own, nn.Flatten()).train()
    frozen, free = own.stages[0][1], own.stages[1][1]
    before = frozen.running_mean.clone(), free.running_mean.clone()
    net(torch.rand(4, 3, 32, 32))
    assert torch.equal(frozen.running_mean, before[0])
    assert not torch.equal(free.running_mean, before[1])


@pytest.mark.parametrize("what", ["heads", "last", "last:0", "last:-1", "last:two", ""])
def test_what_there_is_not_is_refused(what):
    with pytest.raises(ValueError, match="is not allowed: choose 'head', 'all', or 'last:N'"):
        trunk().tune(what)


def test_more_stages_than_there_are_are_refused():
    with pytest.raises(ValueError, match="tune='last:3' is not allowed: stand_in has 2 stages"):
        trunk().tune("last:3")


def test_the_digest_knows_weights_and_preprocessing():
    own = trunk().digest()
    assert own == trunk().digest()
    assert own != trunk(seed=1).digest()
    assert own != trunk(Preprocessing(32, [0.4] * 3, [0.5] * 3)).digest()
    assert own != trunk(Preprocessing(32, [0.5] * 3, [0.4] * 3)).digest()
    assert own != trunk().double().digest()


def test_a_module_of_ones_own_may_be_a_trunk():
    net = create_model("tsai2020/inverted_simple", backbone=trunk(), image_size=64, num_classes=3)
    assert isinstance(trunk_of(net), type(trunk()))
    assert net(torch.rand(2, 3, 64, 64)).scores.shape == (2, 3)
