"""The universal perturbation against a naive twin, and how its decline is judged."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.attacks.test_bounds import shades
from torchcaps.attacks import Fixed, PerturbationGenerator, Universal, decline
from torchcaps.data import Stored
from torchcaps.network import ConvNet
from torchcaps.types import Parse

CLASSES = 3


def network():
    torch.manual_seed(2)
    return ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, CLASSES)))


def black_and_white():
    """Images at both ends of the range, where clipping bites."""
    chance = torch.Generator().manual_seed(0)
    images = torch.randint(0, 2, (9, 1, 4, 4), generator=chance) * 255
    return Stored(images.byte(), torch.arange(9) % CLASSES, ("a", "b", "c"))


def twin(net, data, seed, *, eps, aim, clip, iterations=5, size=4, lr=0.01):
    """Three images of nine to a batch, and every perturbation from the first to the last."""
    torch.manual_seed(seed)
    generator = PerturbationGenerator(data.image_shape)
    chance = torch.Generator().manual_seed(seed)
    shown = torch.rand(1, 100, generator=chance)
    weights = list(generator.parameters())
    first, second = ([torch.zeros_like(w) for w in weights] for _ in range(2))
    found = [generator(shown, eps, "linf").detach()]
    batches = [batch for epoch in range(9) for batch in data.batches(size, epoch=epoch, shuffle=True)]
    for t, (images, labels, _) in enumerate(batches[:iterations], 1):
        perturbed = images + generator(torch.rand(1, 100, generator=chance), eps, "linf")
        scores = net(perturbed.clamp(0, 1) if clip else perturbed).scores
        label = labels[:, 0]
        if aim == "wrong":
            loss = F.cross_entropy(scores, (label + torch.randint(1, CLASSES, label.shape, generator=chance)) % CLASSES)
        else:
            loss = -F.cross_entropy(scores, label)
        for k, (w, g) in enumerate(zip(weights, torch.autograd.grad(loss, weights), strict=True)):
            first[k] = 0.9 * first[k] + 0.1 * g  # Adam, as its paper has it
            second[k] = 0.999 * second[k] + 0.001 * g**2
            with torch.no_grad():
                w -= lr * (first[k] / (1 - 0.9**t)) / ((second[k] / (1 - 0.999**t)).sqrt() + 1e-8)
        found.append(generator(shown, eps, "linf").detach())
    return found


@pytest.mark.parametrize(("aim", "clip", "seed"), [("wrong", True, 0), ("away", True, 3), ("wrong", False, 3)])
def test_it_is_learned_step_by_step(aim, clip, seed):
    net, data = network(), black_and_white()
    attack = Universal(0.4, clip=clip, seed=seed, iterations=5, batch_size=4, aim=aim)
    found = [fixed.perturbation for fixed in attack.perturbations(net, data)]
    expected = twin(net, data, seed, eps=0.4, aim=aim, clip=clip)
    assert len(found) == len(expected) == 6
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-3, rtol=0)
    assert (found[0] - found[-1]).abs().max() > 0.02  # it did move
    assert all(p.grad is None for p in net.parameters())


class Corner(ConvNet):
    """Names the second class where the first pixel is bright."""

    def __init__(self):
        super().__init__(nn.Identity())

    def forward(self, x, record="none"):
        bright = x[:, 0, 0, 0] - 0.5
        return Parse(torch.stack([-bright, bright], 1), [], [], [])


class Written(Universal):
    """A perturbation that lights the first pixel from the third iteration on."""

    def perturbations(self, model, data):
        for done in range(self.iterations + 1):
            lit = torch.zeros(1, 1, 4, 4)
            lit[..., 0, 0] = 0.9 * (done >= 3)
            yield Fixed(self.eps, perturbation=lit)


def test_the_decline_is_judged_to_the_end_beside_its_control():
    data, told = shades(4, size=4), []
    data.labels[:] = 0
    found = decline(Corner(), data, Written(0.9, iterations=5), every=2, progress=lambda *now: told.append(now))
    attack, control = ({p.at: p.found.score.value for p in found.curves[name]} for name in ("universal", "noise"))
    assert attack == {0.0: 1.0, 2.0: 1.0, 4.0: 0.0, 5.0: 0.0}
    assert control == dict.fromkeys(attack, 1.0)  # its bright pixel is elsewhere
    assert told == [("universal", done, 5) for done in range(6)]
