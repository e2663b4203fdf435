"""What every model of the catalogue is besides its counts: loss, decoder, squashes, routings, schedule of its paper.

Losses and squashes are known by what they make of numbers, not by their names.
"""

import math
from functools import partial

import pytest
import torch

from torchcaps.models import create_model, list_models
from torchcaps.network import CapsNet
from torchcaps.routing import EM, Dynamic, InvertedAttention, Trainable, Uniform

SCORES, TARGETS = torch.tensor([[0.3, 0.4, 0.2]]), torch.tensor([[1.0, 0.0, 0.0]])
LOSSES = {
    "margin": 0.6**2 + 0.5 * (0.3**2 + 0.1**2),
    "margin with λ = 1": 0.6**2 + 0.3**2 + 0.1**2,
    "spread": 0.3**2 + 0.1**2,  # at its first margin, 0.2
    "ce": math.log(math.exp(0.3) + math.exp(0.4) + math.exp(0.2)) - 0.3,
    "bce": math.log(1 + math.exp(-0.3)) + math.log(1 + math.exp(0.4)) + math.log(1 + math.exp(0.2)),
    "bce of lengths": -math.log(0.3) - math.log(0.6) - math.log(0.8),
}
SQUASHES = {  # of (3, −4)
    "squash": (25 / 26 * 0.6, -25 / 26 * 0.8),
    "squash_exp": ((1 - math.exp(-5)) * 0.6, -(1 - math.exp(-5)) * 0.8),
    "relu, squash_exp": (1 - math.exp(-3), 0.0),
    "none": (3.0, -4.0),
}


def the_one(names, found):
    [name] = [name for name, value in names.items() if found == pytest.approx(value, rel=1e-5, abs=1e-6)]
    return name


def squash_of(module):
    return the_one(SQUASHES, tuple(module.squash(torch.tensor([3.0, -4.0])).tolist()))


def decoder_of(net):
    return "no decoder" if net.decoder is None else "conditional" if net.decoder.conditional else "plain"


def routing_of(layer):
    """Kind, iterations and options of a layer's routing, and what the layer itself has of its own."""
    routing = layer.routing
    match routing:
        case Dynamic():
            told = [squash_of(routing), *(["prior"] if routing.prior is not None else [])]
            told += ["bias"] * (routing.bias is not None) + ["detached"] * routing.detach
        case Uniform():
            told = [squash_of(routing), f"over {routing.over}"]
        case Trainable():
            each = zip(("row", "column", "dimension"), (*routing.c.shape[:2], routing.c.shape[-1]), strict=True)
            told = [squash_of(routing), *(f"by {name}" for name, size in each if size > 1)]
        case EM():
            told = [routing.output, f"λ {routing.inverse_temperature(0):.4f}"]
        case InvertedAttention():
            told = ["norm"] * isinstance(routing.norm, torch.nn.LayerNorm) + ["scaled"] * (routing.scale != 1)
            told += ["activations"] * routing.activates + ["started"] * (routing.first is not None)
    told += [f"share {layer.share}"] * (layer.share != "none") + ["vote bias"] * (layer.bias is not None)
    told += [layer.compat] * (layer.compat != "none") + ["across the grid"] * (layer.competition == "grid")
    return ", ".join([f"{type(routing).__name__} {routing.iters}", *told])


def capsules_of(net):
    primary, routings = net.primary, [routing_of(layer) for layer in net.layers]
    once = [routing for k, routing in enumerate(routings) if k == 0 or routing != routings[k - 1]]
    rows = "×".join(str(layer.rows) for layer in net.layers)
    normed = "normed, " * isinstance(primary.norm, torch.nn.LayerNorm)
    swept = f"{net.schedule.keywords['iters']} sweeps" if isinstance(net.schedule, partial) else "in turn"
    first = f"{normed}{squash_of(primary)}, {primary.activation}"
    return first, *once, f"rows {rows}, {swept}, {type(net.head).__name__}"


LENGTHS = "rows 1, in turn, ActivationHead"
FROM_SQUASHED, FROM_EXP = "squash, length", "squash_exp, length"
BY_AGREEMENT, AVERAGED = "Dynamic 3, squash", "Uniform 1, squash, over children"
ATTENDED = ("normed, none, one", "InvertedAttention 2, norm")
MATRICES = ("none, learned", "EM 2, mean, λ 0.0005", "EM 2, mean, λ 0.0005, share position")
FACTS = {
    "gu2021/capsnet": ("margin", "conditional", FROM_SQUASHED, BY_AGREEMENT, LENGTHS),
    "gu2021/capsnet_nor": ("margin", "conditional", FROM_SQUASHED, AVERAGED, LENGTHS),
    "gu2021/aff_capsnet": ("margin", "conditional", FROM_SQUASHED, f"{AVERAGED}, share all", LENGTHS),
    "gu2021/aff_capsnet_dr": ("margin", "conditional", FROM_SQUASHED, f"{BY_AGREEMENT}, share all", LENGTHS),
    "gu2021/convnet_fc": ("ce", "no decoder"),
    "gu2021/convnet_avg": ("ce", "no decoder"),
    "gu2021/convnet_fc_lk": ("ce", "no decoder"),
    "gu2021/convnet_cr": ("bce", "conditional"),
    "gu2021/convnet_r": ("ce", "plain"),
    "gu2021/convnet_cr_sf": ("margin", "conditional"),
    "sabour2017/capsnet": ("margin", "conditional", FROM_SQUASHED, BY_AGREEMENT, LENGTHS),
    "chen2019/fc_gcaps": ("margin", "conditional", FROM_EXP, "Trainable 1, squash_exp", LENGTHS),
    "chen2019/conv_gcaps": (
        "margin",
        "conditional",
        FROM_EXP,
        "Trainable 1, squash_exp",
        "rows 2, in turn, ActivationHead",
    ),
    "chen2019/fc_gcaps_cifar": ("margin", "no decoder", FROM_EXP, "Trainable 1, squash_exp", LENGTHS),
    "chen2019/conv_gcaps_cifar": ("margin", "no decoder", FROM_EXP, "Trainable 1, squash_exp", LENGTHS),
    "chen2019/capsnet_cifar": ("margin", "no decoder", FROM_EXP, "Dynamic 3, squash_exp", LENGTHS),
    "chen2019/multi_gcaps": (
        "margin",
        "no decoder",
        FROM_EXP,
        "CoarseTrainable 1, relu, squash_exp, by row, by column",
        "Trainable 1, relu, squash_exp, by row, by column",
        "Trainable 1, relu, squash_exp, by dimension",
        "rows 1×4×1, in turn, ActivationHead",
    ),
    "chen2019/cnn": ("ce", "no decoder"),
    "chen2019/cnn_cifar": ("ce", "no decoder"),
    "chen2019/lenet": ("ce", "no decoder"),
    "mitterreiter2023/capsnet": (
        "margin",
        "conditional",
        FROM_EXP,
        "Dynamic 3, squash_exp, prior",
        "rows 1×1×1×1, in turn, ActivationHead",
    ),
    "peer2021/rba": ("margin", "no decoder", FROM_SQUASHED, BY_AGREEMENT, "rows 1×1×1×1, in turn, ActivationHead"),
    "peer2021/em": (
        "margin",
        "no decoder",
        FROM_SQUASHED,
        "EM 3, length, λ 0.0005",
        "rows 1×1×1×1, in turn, ActivationHead",
    ),
    "peer2021/sign": (
        "margin with λ = 1",
        "no decoder",
        "none, length",
        BY_AGREEMENT,
        "rows 1×1, in turn, ActivationHead",
    ),
    "tsai2020/inverted_simple": ("ce", "no decoder", *ATTENDED, "rows 4×4×4, 2 sweeps, LinearHead"),
    "tsai2020/inverted_resnet": ("ce", "no decoder", *ATTENDED, "rows 4×4×4, 2 sweeps, LinearHead"),
    "tsai2020/dynamic_simple": ("margin", "no decoder", FROM_SQUASHED, BY_AGREEMENT, LENGTHS),
    "tsai2020/dynamic_resnet": ("margin", "no decoder", FROM_SQUASHED, BY_AGREEMENT, LENGTHS),
    "tsai2020/em_simple": ("spread", "no decoder", *MATRICES, "rows 4×4×4, in turn, ActivationHead"),
    "tsai2020/em_resnet": ("spread", "no decoder", *MATRICES, "rows 4×4×4, in turn, ActivationHead"),
    "tsai2020/cnn_simple": ("ce", "no decoder"),
    "tsai2020/resnet18": ("ce", "no decoder"),
    "tsai2020/diverse_matrix": ("bce", "no decoder", *ATTENDED, "rows 8×8, 2 sweeps, LinearHead"),
    "tsai2020/diverse_vector": ("bce", "no decoder", *ATTENDED, "rows 1×1, 2 sweeps, LinearHead"),
    "tsai2020/diverse_matrix_42m": ("bce", "no decoder", *ATTENDED, "rows 8×8, 2 sweeps, LinearHead"),
    "tsai2020/diverse_dynamic": (
        "bce of lengths",
        "no decoder",
        FROM_SQUASHED,
        BY_AGREEMENT,
        "rows 1×1, in turn, ActivationHead",
    ),
    "baselines/linear_head": ("ce", "no decoder"),
    "baselines/small_cnn": ("ce", "no decoder"),
    "tsai2020/diverse_cnn": ("bce", "no decoder"),
}


def test_every_model_is_in_the_table():
    assert sorted(FACTS) == list_models()


@pytest.mark.parametrize("name", FACTS)
def test_it_is_what_its_paper_has(name):
    with torch.device("meta"):
        net = create_model(name)
    loss = the_one(LOSSES, net.loss(SCORES, TARGETS).item())
    told = (loss, decoder_of(net), *(capsules_of(net) if isinstance(net, CapsNet) else ()))
    assert told == FACTS[name]


@pytest.mark.parametrize(("routing", "wanted"), [("inverted_attention", "bce"), ("dynamic", "bce of lengths")])
def test_cross_entropy_of_each_class_takes_lengths_or_logits_as_the_routing_gives_them(routing, wanted):
    net = create_model("sabour2017/capsnet", width=0.1, routing=routing, loss="bce")
    assert the_one(LOSSES, net.loss(SCORES, TARGETS).item()) == wanted


def test_the_biases_of_peer2021_go_where_section_4_puts_them():
    with torch.device("meta"):
        nets = {kind: create_model(f"peer2021/{kind}", bias=True) for kind in ("rba", "em", "sign")}
    assert capsules_of(nets["rba"])[1:-1] == ("Dynamic 3, squash, bias",)
    assert capsules_of(nets["em"])[1:-1] == ("EM 3, length, λ 0.0005, vote bias",)
    assert capsules_of(nets["sign"])[1:-1] == ("Dynamic 3, squash, bias",)
