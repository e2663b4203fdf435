"""The options with which peer2021's tables run the paper's way or the authors'."""

import pytest
import torch

from torchcaps.layers import CapsuleLayer
from torchcaps.models import create_model, from_pretrained
from torchcaps.routing import ROUTINGS

FAN_IN, FAN_OUT = {"below": 81, "primary": 256 * 81}, 256 * 81
HE = {part: (2 / fan) ** 0.5 for part, fan in FAN_IN.items()}
GLOROT = {part: (2 / (fan + FAN_OUT)) ** 0.5 for part, fan in FAN_IN.items()}


@pytest.mark.parametrize(
    ("options", "below", "primary"),
    [({}, HE, GLOROT), ({"start": "glorot"}, GLOROT, GLOROT), ({"start": "he"}, HE, HE)],
    ids=["default", "glorot", "he"],
)
def test_convolutions_start_as_asked(options, below, primary):
    net = create_model("peer2021/rba", depth=2, **options)
    convs = {"below": (net.backbone[0], below), "primary": (net.primary.conv, primary)}
    for part, (conv, start) in convs.items():
        assert conv.weight.std().item() == pytest.approx(start[part], rel=0.03)
        # Glorot's weights are drawn from an interval, He's from a normal distribution
        bounded = conv.weight.abs().max() < 3**0.5 * start[part] * 1.001
        assert bounded == (start is GLOROT)
        assert not conv.bias.any()


def test_the_authors_way_reaches_every_layer_and_the_disk(tmp_path):
    options = {
        "width": 0.1,
        "bias": True,
        "standardise": True,
        "start": "glorot",
        "reconstruction": "plain",
        "routing_options": {"beta_std": 0.1, "unit_eps": 1e-8},
    }
    net = create_model("peer2021/em", **options)
    assert [layer.routing.unit_eps for layer in net.layers] == [1e-8] * 4
    assert all(layer.routing.beta_a.any() and layer.routing.output == "length" for layer in net.layers)
    assert not net.decoder.conditional
    again = from_pretrained(net.save_pretrained(tmp_path))
    x = torch.rand(2, 1, 28, 28)
    assert again.recipe["options"] == options
    assert torch.equal(net(x).scores, again(x).scores)


def test_unknown_starts_are_named(no_shape_checks):
    with pytest.raises(ValueError, match="start='zero' is not allowed: choose one of 'he_glorot', 'glorot', 'he'"):
        create_model("peer2021/rba", start="zero")


@pytest.mark.parametrize("name", ["rba", "em"])
def test_capsule_layers_start_as_the_paper_says(name):
    """Weights from N(0, 0.1), biases at 0.1; with another deviation both follow it."""
    for init_std, std in ((None, 0.1), (0.3, 0.3)):
        for layer in create_model(f"peer2021/{name}", width=0.25, bias=True, init_std=init_std).layers:
            bias = layer.routing.bias if name == "rba" else layer.bias
            assert layer.weight.std().item() == pytest.approx(std, rel=0.1)
            assert torch.equal(bias, torch.full_like(bias, std))


@pytest.mark.parametrize("routing", ["self_routing", "inverted_attention"])
def test_routings_that_the_paper_does_not_have_start_their_own_way(routing):
    for layer in create_model("peer2021/rba", width=0.25, routing=routing).layers:
        own = CapsuleLayer(layer.shape_in, layer.shape_out.n, layer.shape_out.d, routing=ROUTINGS[routing])
        assert own.weight.std().item() != pytest.approx(0.1, rel=0.2), "or there would be nothing to show"
        assert layer.weight.std().item() == pytest.approx(own.weight.std().item(), rel=0.05)


def test_an_epsilon_in_the_squash_keeps_deep_outputs_from_vanishing():
    images = torch.rand(4, 1, 28, 28)
    plain, released = (
        create_model("peer2021/rba", depth=5, conv_width=0.125, squash_eps=eps)(images).scores for eps in (0.0, 1e-8)
    )
    assert plain.max() < 1e-12
    torch.testing.assert_close(released, torch.full_like(released, 4e-8), rtol=0.01, atol=0)  # √16 · 1e-8
