"""Parts of the papers' networks, written out with torch's functions."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from torchcaps.models import create_model, multiply_adds, peer2021
from torchcaps.models._backbones import BasicBlock
from torchcaps.models.chen2019 import relu_squash
from torchcaps.models.gu2021 import convnet_grouped
from torchcaps.network import ConvNet


def normed(x, norm):
    x = (x - norm.running_mean[:, None, None]) / (norm.running_var[:, None, None] + norm.eps).sqrt()
    return x * norm.weight[:, None, None] + norm.bias[:, None, None]


def drawn(net):
    """Every parameter and statistic at random, so that none can stand for another."""
    for t in [*net.parameters(), *net.buffers()]:
        if t.is_floating_point():
            t.data.uniform_(0.1, 1).mul_(1 / t[0].numel() if t.ndim > 1 else 1)
    return net.double().eval()


@pytest.mark.parametrize(("channels", "stride"), [(3, 1), (3, 2), (5, 1)])
def test_a_block_adds_its_shortcut_before_the_last_relu(channels, stride):
    """He et al. 2016, equation 1 and figure 2."""
    block, x = drawn(BasicBlock(3, channels, stride)), torch.randn(2, 3, 6, 6, dtype=torch.double)
    first, norm, _, second, last = block.body
    out = normed(F.conv2d(x, first.weight, stride=stride, padding=1), norm).relu()
    out = normed(F.conv2d(out, second.weight, padding=1), last)
    beside = x
    if (channels, stride) != (3, 1):
        beside = normed(F.conv2d(x, block.shortcut[0].weight, stride=stride), block.shortcut[1])
    torch.testing.assert_close(block(x), (out + beside).relu())
    assert (block(x) >= 0).all()


def test_lenet_pools_by_the_maximum():
    net, x = drawn(create_model("chen2019/lenet")), torch.randn(2, 1, 28, 28, dtype=torch.double)
    first, second = (m for m in net.body if isinstance(m, nn.Conv2d))
    y = F.max_pool2d(F.conv2d(x, first.weight, first.bias, padding=2).relu(), 2)
    y = F.max_pool2d(F.conv2d(y, second.weight, second.bias).relu(), 2)
    one, two, last = (m for m in net.body if isinstance(m, nn.Linear))
    torch.testing.assert_close(net(x).scores, last(two(one(y.flatten(1)).relu()).relu()))


def test_the_baseline_of_tsai2020_pools_by_the_mean():
    """Tables 2 and 3 of its appendix."""
    net, x = drawn(create_model("tsai2020/cnn_simple", width=0.01)), torch.randn(2, 3, 32, 32, dtype=torch.double)
    body = net.body[0]
    first, second, third = (m for m in body if isinstance(m, nn.Conv2d))
    norms = [m for m in body if isinstance(m, nn.BatchNorm2d)]
    y = F.conv2d(x, first.weight, first.bias, 2, 1).relu()
    y = normed(F.conv2d(y, second.weight, second.bias, 2, 1).relu(), norms[0])
    y = F.avg_pool2d(y, 2)
    y = normed(F.conv2d(y, third.weight, third.bias, 2, 1).relu(), norms[1]).mean((2, 3))
    torch.testing.assert_close(net(x).scores, net.body[2](y))


def test_the_relu_of_chen2019_comes_before_the_squash():
    """Of (1, −1) there is left (1, 0), one long."""
    torch.testing.assert_close(relu_squash(torch.tensor([1.0, -1.0])), torch.tensor([1 - math.exp(-1), 0.0]))


def test_without_squash_neither_capsules_of_gu2021_are_squashed():
    net = create_model("gu2021/capsnet", squash=False, routing="uniform", width=0.05, image_size=20)
    primary, top = net(torch.rand(2, 1, 20, 20), "last").capsules
    channels = net.primary.conv(net.backbone(torch.rand(2, 1, 20, 20)))
    long = torch.full((1, 1, 1, 1, 2), 30.0)
    for part in (net.primary, net.layers[0].routing):
        assert torch.equal(part.squash(long), long)
    assert primary.pose.shape[-1] * primary.pose.shape[-2] == channels.shape[1]
    u = primary.pose.flatten(1, 3)
    maps = net.layers[0].weight.unflatten(-1, (10, 16))
    torch.testing.assert_close(top.pose[:, 0, 0], torch.einsum("bix,ixjy->bjy", u, maps) / u.shape[1])


@pytest.mark.parametrize("grouping", ["sum", "length", "linear"])
def test_scores_of_the_grouped_networks_of_gu2021(grouping):
    """Section 3.3: the sum of a class's units, their length after the squash, or a linear function of all of them."""
    net = convnet_grouped(grouping=grouping, num_classes=3, image_size=17, kernel=5, width=0.05).eval()
    x = torch.rand(2, 1, 17, 17)
    parse, features = net(x), net.convs(x)
    assert (features.min() < 0) == (grouping == "length")  # vectors keep their signs
    if grouping == "length":
        vectors = features.unflatten(1, (-1, 8))
        squared = vectors.square().sum(2, keepdim=True)
        features = (vectors * squared.sqrt() / (1 + squared)).flatten(1, 2)
    units = features.flatten(1) @ net.units.weight.T
    groups = units.unflatten(1, (3, 16))
    n = groups.square().sum(-1)
    expected = {"sum": groups.sum(-1), "length": n / (1 + n)}
    wanted = net.output(units) if grouping == "linear" else expected[grouping]
    torch.testing.assert_close(parse.scores, wanted)


def test_uniform_couplings_of_mitterreiter2023_share_each_child_among_its_parents():
    net = create_model("mitterreiter2023/capsnet", routing="uniform", layers=3, capsules=4, num_classes=5, width=0.5)
    hidden, top = net(torch.rand(2, 1, 40, 40), "last").couplings
    assert torch.equal(hidden, torch.full_like(hidden, 1 / 2))
    torch.testing.assert_close(top, torch.full_like(top, 1 / 5))


def test_the_sign_network_of_peer2021_starts_from_a_half():
    """Weights from N(0, 0.5), biases at 0.5."""
    layers = create_model("peer2021/sign", bias=True, width=100.0).layers
    for layer in layers:
        assert layer.weight.std().item() == pytest.approx(0.5, rel=0.1)
        assert torch.equal(layer.routing.bias, torch.full_like(layer.routing.bias, 0.5))


def test_primary_capsules_of_peer2021_keep_their_signs_unless_they_pass_a_relu():
    for relu in (False, True):
        net = create_model("peer2021/rba", relu=relu, depth=2, width=0.05)
        pose = net(torch.rand(2, 1, 28, 28), "last").capsules[0].pose
        assert (pose < 0).any() != relu
        assert (pose > 0).any()


@pytest.mark.parametrize("activations", [False, True])
def test_the_ablation_of_tsai2020_with_activations_has_some(activations):
    with torch.device("meta"):
        net = create_model("tsai2020/inverted_simple", activations=activations, norm=False, iters=3, concurrently=False)
    assert [layer.routing.activates for layer in net.layers] == [activations] * 3
    assert [layer.routing.iters for layer in net.layers] == [3] * 3
    assert not any(isinstance(layer.routing.norm, nn.LayerNorm) for layer in net.layers)


def test_multiply_adds_of_an_image_that_is_no_square():
    """Kernels of 3×1 on 20×28: 18·28 places, 2 channels, 3 products."""
    net = ConvNet(nn.Sequential(nn.Conv2d(1, 2, (3, 1)), nn.AdaptiveAvgPool2d(1), nn.Flatten())).to("meta")
    assert multiply_adds(net, (1, 20, 28)) == 18 * 28 * 2 * 3


@pytest.mark.parametrize(
    ("build", "chosen", "said"),
    [
        (
            convnet_grouped,
            {"grouping": "mean"},
            "grouping='mean' is not allowed: choose one of 'sum', 'length', 'linear'",
        ),
        (peer2021.deep, {"start": "zero"}, "start='zero' is not allowed: choose one of 'he_glorot', 'glorot', 'he'"),
        (peer2021.deep, {"reconstruction": "all"}, "reconstruction='all' is not allowed: choose one of 'conditional'"),
        (peer2021.sign, {"width": 0.0}, "width=0.0 is not allowed: it must be positive"),
    ],
)
def test_builders_that_are_called_themselves_name_mistakes_too(build, chosen, said, no_shape_checks):
    with pytest.raises(ValueError, match=said):
        build(**chosen)
