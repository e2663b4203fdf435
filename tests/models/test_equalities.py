"""Networks that the papers say are the same, and are."""

import pytest
import torch
from einops import rearrange
from torch.nn import functional as F

from torchcaps.functional import squash
from torchcaps.models import create_model
from torchcaps.routing import Uniform
from torchcaps.types import Capsules


def test_convnet_cr_sf_is_capsnet_nor():
    """gu2021, section 3.3: with W times the uniform coefficient as its linear layer."""
    caps = create_model("gu2021/capsnet_nor", width=0.25).double()
    conv = create_model("gu2021/convnet_cr_sf", width=0.25).double()
    n = caps.primary.n
    with torch.no_grad():
        conv.convs[0].load_state_dict(caps.backbone[0].state_dict())
        conv.convs[2].load_state_dict(caps.primary.conv.state_dict())
        h, w = caps.primary.shape_out.grid
        maps = rearrange(caps.layers[0].weight, "(h w n) x jy -> jy (n x h w)", h=h, w=w, n=n)
        conv.units.weight.copy_(maps / caps.primary.shape_out.children)
        conv.decoder.load_state_dict(caps.decoder.state_dict())
    x, labels = torch.rand(3, 1, 40, 40, dtype=torch.double), torch.tensor([1, 2, 3])
    a, b = caps(x), conv(x)
    torch.testing.assert_close(a.scores, b.scores)
    torch.testing.assert_close(a.capsules[-1].pose, b.capsules[-1].pose)
    torch.testing.assert_close(caps.decoder(a, labels), conv.decoder(b, labels))
    grads = [
        torch.autograd.grad(net.loss(parse.scores, F.one_hot(labels, 10).double()), first.weight)[0]
        for net, parse, first in ((caps, a, caps.backbone[0]), (conv, b, conv.convs[0]))
    ]
    torch.testing.assert_close(*grads)


def test_aff_capsnet_is_a_grouped_convolution_and_a_global_average():
    """gu2021, section 3.1: the shared map is a 1×1 convolution of each group of channels, averaged over all."""
    net = create_model("gu2021/aff_capsnet", width=0.25).double()
    x = torch.rand(2, 1, 40, 40, dtype=torch.double)
    primary = net.primary(net.backbone(x))
    channels = rearrange(primary.pose, "b h w n d -> b (n d) h w")
    n = net.primary.n
    kernel = rearrange(net.layers[0].weight, "1 x jy -> jy x 1 1").repeat(n, 1, 1, 1)
    grouped = F.conv2d(channels, kernel, groups=n).mean((2, 3))
    s = rearrange(grouped, "b (n j y) -> b n j y", n=n, y=16).mean(1)
    torch.testing.assert_close(net(x).capsules[-1].pose[:, 0, 0], squash(s))


@pytest.mark.parametrize("over", ["parents", "children"])
def test_trainable_couplings_can_be_uniform(over):
    """chen2019 with c = 1/J is uniform routing."""
    net = create_model("chen2019/fc_gcaps", width=0.25).double()
    layer = net.layers[0]
    with torch.no_grad():
        layer.routing.c.fill_(1 / (layer.routing.shape.j if over == "parents" else layer.routing.shape.i))
    uniform = Uniform(layer.routing.shape, over=over, squash=layer.routing.squash)
    primary = net.primary(net.backbone(torch.rand(2, 1, 28, 28, dtype=torch.double)))
    votes = layer.votes(primary)
    torch.testing.assert_close(layer.step(votes, None, 0).pose, uniform.step(votes, None, 0).pose)


def test_coarse_couplings_lie_on_a_raster():
    layer = create_model("chen2019/multi_gcaps").layers[0]
    c = layer.routing.coefficients()
    assert c.shape == (7, 7, 256, 8, 1)
    fine = rearrange(c, "h w (k l n) j 1 -> k l h w n j", k=4, l=4)
    coarse = rearrange(layer.routing.c, "h w (k l n) j 1 -> k l h w n j", k=3, l=3)
    for k, row in enumerate((0, 0, 1, 2)):
        for l, col in enumerate((0, 0, 1, 2)):
            assert torch.equal(fine[k, l], coarse[row, col])


def mark(net):
    """Where a change of one number of one child, at one place, arrives among the votes of the first layer."""
    layer = net.layers[0]
    pose = torch.zeros(1, *layer.shape_in.grid, layer.shape_in.n, layer.shape_in.d)
    pose[0, 0, 0, 3, 5] = 1.0
    return layer.votes(Capsules(pose, pose[..., 0])).u[0].nonzero().tolist()


def test_the_released_code_of_tsai2020_mixes_up_poses_and_positions():
    """Straight, dimension 5 of the child at the corner reaches the first parent as dimension 5. Scrambled, number 5·49
    of the (d h w) order is read in (h w d) order: position 15 of the 7×7 grid, (2, 1), dimension 5."""
    assert mark(create_model("tsai2020/inverted_simple")) == [[0, 0, 3, 5]]
    assert mark(create_model("tsai2020/inverted_simple", compat="apple")) == [[2, 1, 3, 5]]
    assert (5 * 49) // 16 == 2 * 7 + 1
    assert (5 * 49) % 16 == 5


def test_the_scramble_leaves_fully_connected_layers_alone():
    straight = create_model("tsai2020/inverted_simple", width=0.1)
    mixed = create_model("tsai2020/inverted_simple", width=0.1, compat="apple")
    mixed.load_state_dict(straight.state_dict())
    last, other = straight.layers[-1], mixed.layers[-1]
    pose = torch.randn(2, *last.shape_in.grid, last.shape_in.n, last.shape_in.d)
    below = Capsules(pose, pose[..., 0])
    assert torch.equal(last.votes(below).u, other.votes(below).u)
    x = torch.rand(2, 3, 32, 32)
    assert not torch.allclose(straight(x).scores, mixed(x).scores)
