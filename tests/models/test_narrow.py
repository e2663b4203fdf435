"""Narrow networks: convolutions and primary types alone, with baselines matched again; and the first weights."""

from functools import partial

import pytest
import torch
from torch import nn

from torchcaps.models import _match, card, count_parameters, create_model, list_models, match_parameters

CAPSULES = [name for name in list_models() if card(name).routing]
BASELINES = [name for name in list_models() if not card(name).routing]
QUARTER = 0.25
SCALES = [1.0, 0.25, 0.125]


def on_meta(name, **options):
    with torch.device("meta"):
        return create_model(name, **options)


def channels(part):
    return [module.out_channels for module in part.modules() if isinstance(module, nn.Conv2d)]


@pytest.mark.parametrize("name", CAPSULES)
def test_capsules_above_the_primary_ones_stay(name):
    full, narrow = on_meta(name), on_meta(name, conv_width=QUARTER)
    for a, b in zip(full.layers, narrow.layers, strict=True):
        assert a.shape_out == b.shape_out
        assert (a.rows, a.share, a.windows.window, a.windows.stride) == (
            b.rows,
            b.share,
            b.windows.window,
            b.windows.stride,
        )
        assert a.routing.iters == b.routing.iters
    assert full.primary.d == narrow.primary.d
    assert full.primary.shape_out.grid == narrow.primary.shape_out.grid
    if name == "peer2021/sign":
        assert count_parameters(name) == count_parameters(name, conv_width=QUARTER)
        return
    # mitterreiter2023's primary capsules are one of its layers of 16, and its last two convolutions make their numbers
    own = name == "mitterreiter2023/capsnet"
    types = full.primary.n if own else full.primary.n // 4
    assert narrow.primary.n == types
    stacks = channels(full.backbone), channels(narrow.backbone)
    for a, b in zip(*(stack[:-2] if own else stack for stack in stacks), strict=True):
        assert b == a // 4
    assert not own or stacks[0][-2:] == stacks[1][-2:]


@pytest.mark.parametrize("name", BASELINES)
def test_convolutions_of_baselines_are_narrowed_and_their_units_stay(name):
    full, narrow = on_meta(name), on_meta(name, conv_width=QUARTER)
    units = [[m.out_features for m in net.modules() if isinstance(m, nn.Linear)] for net in (full, narrow)]
    assert units[0] == units[1]
    for a, b in zip(channels(full), channels(narrow), strict=True):
        pooled = name == "tsai2020/diverse_cnn" and a == 640  # a linear layer at each position
        assert b == (a if pooled else max(1, round(a / 4)))


@pytest.mark.parametrize("conv_width", SCALES)
def test_rows_that_papers_match_in_parameters_are_matched_again(conv_width):
    """gu2021, section 3.2 and figure 3: ConvNet-FC(LK) as CapsNet; section 3.3: the grouped ConvNets as CapsNet."""
    narrow = {"conv_width": conv_width}
    pairs = {**narrow, "image_size": 36}
    wanted = count_parameters("gu2021/capsnet", **pairs)
    units = match_parameters("gu2021/convnet_fc_lk", "units", wanted, **pairs)
    assert count_parameters("gu2021/convnet_fc_lk", units=units, **pairs) == pytest.approx(wanted, rel=0.002)
    placed = count_parameters("gu2021/capsnet", **narrow)
    for name, more in (("convnet_cr", 0), ("convnet_cr_sf", 0), ("convnet_r", 160 * 10 + 10)):
        assert count_parameters(f"gu2021/{name}", **narrow) == placed + more


@pytest.mark.parametrize("conv_width", SCALES)
def test_the_42m_group_of_tsai2020_is_matched_again(conv_width):
    """Section 6 and figure 5: vector poses, dynamic routing, matrix poses of more types, and the FC-CNN."""
    narrow = {"conv_width": conv_width}
    wanted = count_parameters("tsai2020/diverse_vector", **narrow)
    assert count_parameters("tsai2020/diverse_dynamic", **narrow) == pytest.approx(wanted, rel=0.001)
    wider = {
        "tsai2020/diverse_cnn": {"units": 640, "pool": False},
        "tsai2020/diverse_matrix_42m": {"primary_types": 64},
    }
    for name, options in wider.items():
        option = next(iter(options))
        value = match_parameters(name, option, wanted, **narrow, **options)
        assert count_parameters(name, **narrow, **{**options, option: value}) == pytest.approx(wanted, rel=0.02)


def test_what_cannot_be_matched_is_named():
    with pytest.raises(
        ValueError, match=r"no units gives gu2021/convnet_fc 1,000 parameters within 2%: the nearest, \[1, 1\]"
    ):
        match_parameters("gu2021/convnet_fc", "units", 1000)
    with pytest.raises(
        ValueError, match="option='loss' of gu2021/convnet_fc is not allowed: it must be a whole number"
    ):
        match_parameters("gu2021/convnet_fc", "loss", 10**6)
    with pytest.raises(ValueError, match=r"units=\[1\] is not allowed: give two numbers"):
        create_model("gu2021/convnet_fc", units=[1])


def test_the_nearest_of_all_values_is_found(monkeypatch):
    """In a model made up: a hundred parameters for each pixel of the kernel's side, and at most 5,000."""
    asked = []

    def counted(name, *, kernel, **options):
        asked.append((name, options))
        return min(5000, 100 * kernel)

    monkeypatch.setattr(_match, "count_parameters", counted)
    match = partial(match_parameters, "gu2021/convnet_fc", "kernel", within=0.05, image_size=36)
    assert [match(wanted) for wanted in (1000, 1040, 1060, 4949)] == [10, 10, 11, 49]
    assert set(map(repr, asked)) == {repr(("gu2021/convnet_fc", {"image_size": 36}))}
    with pytest.raises(ValueError, match=r"no kernel gives gu2021/convnet_fc 6,000 parameters .* gives 5,000"):
        match(6000)
    with pytest.raises(ValueError, match=r"no kernel gives gu2021/convnet_fc 150 parameters .* gives [12]00"):
        match(150)


@pytest.mark.parametrize("name", CAPSULES)
def test_first_weights_of_every_capsule_layer(name):
    nets = []
    for init_std in (1.0, 0.2):
        torch.manual_seed(0)
        nets.append(create_model(name, width=0.1, init_std=init_std))
    for one, small in zip(*(net.layers for net in nets), strict=True):
        assert torch.equal(one.weight * 0.2, small.weight)
        assert one.weight.numel() < 500 or one.weight.std().item() == pytest.approx(1, rel=0.1)
    own = create_model(name, width=0.1, init_std=None)
    assert any(layer.weight.std() < 0.9 * one.weight.std() or layer.weight.std() > 1.1 * one.weight.std()
               for layer, one in zip(own.layers, nets[0].layers, strict=True))  # fmt: skip
