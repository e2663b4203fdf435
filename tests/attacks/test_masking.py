"""Signs of masked gradients, each on outcomes made by hand, and on networks built to hide."""

import pytest
import torch
from torch import nn

from torchcaps.attacks import FGSM, MaskedGradientsWarning, robustness, without_gradient
from torchcaps.attacks.masking import clearly_more, signs
from torchcaps.data import Stored
from torchcaps.network import ConvNet

ALL = torch.ones(200).bool()


def right(count):
    return torch.arange(200) < count


def test_nothing_is_said_of_an_honest_network():
    ordered = {"noise": {0.1: right(190)}, "fgsm": {0.1: right(80)}, "pgd": {0.1: right(20)}}
    assert signs(ordered, ALL, ~ALL) == ()
    assert signs({"fgsm": {0.1: right(80)}, "pgd": {0.2: right(190)}}, ALL, ~ALL) == ()  # of other eps


def test_each_sign():
    [said] = signs({"fgsm": {0.1: right(80)}}, right(100), right(20))
    assert said.startswith("20% of the images that the network gets right have no gradient")
    assert signs({"fgsm": {0.1: right(80)}}, right(100), right(4)) == ()
    assert signs({"fgsm": {0.1: right(80)}}, right(100), ~right(100)) == ()  # flat where it is wrong anyway
    [said] = signs({"fgsm": {0.1: right(80)}, "pgd": {0.1: right(120)}}, ALL, ~ALL)
    assert said == "at eps=0.1 fgsm leaves 40.0% right, and pgd, with more steps, 60.0%"
    for blind in ("noise", "transfer", "universal"):
        [said] = signs({blind: {0.3: right(10)}, "fgsm": {0.3: right(80)}}, ALL, ~ALL)
        assert said == f"at eps=0.3 {blind} leaves 5.0% right, and fgsm, which follows gradients, 40.0%"
        stronger = {blind: {0.3: right(60)}, "fgsm": {0.3: right(80)}, "pgd": {0.3: right(40)}}
        assert signs(stronger, ALL, ~ALL) == ()  # it is the best of the others that counts


def test_chance_is_no_sign():
    a, b = torch.zeros(2000).bool(), torch.zeros(2000).bool()
    a[:450], b[420:840] = True, True  # 30 more of 2,000, but 870 differ
    assert not clearly_more(a, b)
    b[420:840] = False
    assert clearly_more(a, b)
    assert not clearly_more(right(2), right(0))  # a point
    assert clearly_more(right(190), right(170))  # 170 agree, and only those 20 count


class Rounded(nn.Module):
    """Steps instead of slopes: what it does not let through, no gradient follows."""

    def forward(self, x):
        return x.round()


def test_a_network_of_steps_has_no_gradient():
    images = (torch.rand(100, 1, 4, 4) * 255).byte()
    labels = (images[:, 0, 0, 0] > 127).long()
    data = Stored(images, labels, ("dark", "light"))
    corner = nn.Linear(16, 2, bias=False)
    corner.weight.data = torch.zeros(2, 16)
    corner.weight.data[1, 0], corner.weight.data[0, 0] = 1.0, -1.0
    corner.bias = nn.Parameter(torch.tensor([0.5, -0.5]))
    smooth, steps = (ConvNet(nn.Sequential(*first, nn.Flatten(), corner)) for first in ([], [Rounded()]))
    assert not without_gradient(smooth, data).any()
    assert without_gradient(steps, data).all()
    assert robustness(smooth, data, [FGSM(0.3)]).masked == ()
    with pytest.warns(MaskedGradientsWarning):
        found = robustness(steps, data, [FGSM(0.3)])
    assert found.masked[0].startswith("100% of the images that the network gets right have no gradient at all")
    assert any("noise leaves" in said for said in found.masked)
