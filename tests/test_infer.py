"""What a network meets when it is asked for an answer, and how it is left."""

import pytest
import torch
from torch import nn

from torchcaps.infer import evaluating, infer
from torchcaps.network import Model
from torchcaps.types import Parse


class Witness(Model):
    """Notes how it was asked."""

    def __init__(self):
        super().__init__(loss=nn.Identity())
        self.frozen, self.free = nn.Sequential(nn.BatchNorm2d(1), nn.Dropout()), nn.Linear(4, 2)
        self.double().frozen.eval()
        self.seen = []

    def forward(self, x, record="none"):
        self.seen.append((x.dtype, record, torch.is_grad_enabled(), any(m.training for m in self.modules())))
        return Parse(self.free(x.flatten(1)), [], [], [])

    def modes(self):
        return [module.training for module in self.modules()]


def test_asked_in_evaluation_mode_and_left_as_it_was():
    net = Witness()
    before = net.modes()
    assert sorted(set(before)) == [False, True]
    answer = infer(net, torch.ones(3, 1, 2, 2), "last")
    infer(net, torch.ones(3, 1, 2, 2))
    assert net.seen == [(torch.float64, "last", False, False), (torch.float64, "none", False, False)]
    assert not answer.scores.requires_grad
    assert net.modes() == before


def test_an_error_leaves_it_as_it_was_too():
    net = Witness()
    before = net.modes()
    with pytest.raises(ValueError, match="on the way"), evaluating(net):
        raise ValueError("on the way")
    assert net.modes() == before
    assert torch.is_grad_enabled()
