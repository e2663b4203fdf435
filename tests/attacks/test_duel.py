"""One step of the AC-GAN against a naive twin, the order of its images, and pictures of generators that paint."""

import copy

import pytest
import torch
from matplotlib.figure import Figure
from torch.nn import functional as F

from torchcaps.attacks import Discriminator, Generator, drawn_by, load_generators, save_generators, sheet, train_acgan
from torchcaps.attacks.acgan import latent
from torchcaps.attacks.acgan_training import _Duel
from torchcaps.data import Stored

RATE, BETAS = 2e-4, (0.5, 0.999)  # chen2019, section 4.2; the second is Adam's own


class Adam:
    """As its paper has it."""

    def __init__(self, net):
        self.weights, self.t = list(net.parameters()), 0
        self.first, self.second = ([torch.zeros_like(w) for w in self.weights] for _ in range(2))

    def step(self, loss):
        self.t += 1
        for k, (w, g) in enumerate(zip(self.weights, torch.autograd.grad(loss, self.weights), strict=True)):
            self.first[k] = BETAS[0] * self.first[k] + (1 - BETAS[0]) * g
            self.second[k] = BETAS[1] * self.second[k] + (1 - BETAS[1]) * g**2
            mean, square = self.first[k] / (1 - BETAS[0] ** self.t), self.second[k] / (1 - BETAS[1] ** self.t)
            with torch.no_grad():
                w -= RATE * mean / (square.sqrt() + 1e-8)


def real_or_not(logits, truth):
    return -(truth * F.logsigmoid(logits) + (1 - truth) * F.logsigmoid(-logits)).mean()


def twin(generator, critic, steps):
    """Real images are 0.95 real and have a class; drawn ones are not real, and nobody asks what they show."""
    of_generator, of_critic = Adam(generator), Adam(critic)
    for images, labels in steps:
        n = len(images)
        wanted = torch.randint(0, 3, (n,))
        drawn = generator(latent(n), wanted).detach()
        real, kind = critic(torch.cat([images, drawn]))
        truth = torch.tensor([0.95] * n + [0.0] * n)
        of_critic.step(real_or_not(real, truth) - kind.log_softmax(-1)[range(n), labels].mean())
        wanted = torch.randint(0, 3, (2 * n,))
        real, kind = critic(generator(latent(2 * n), wanted))
        passes = real_or_not(real, torch.full((2 * n,), 0.95))
        of_generator.step(passes - kind.log_softmax(-1)[range(2 * n), wanted].mean())


def test_steps_are_those_of_a_naive_twin():
    """In double precision, since Adam's steps have the size of the rate however small a gradient is."""
    nets = Generator("abc", width=0.03).double(), Discriminator(3, width=0.1).double()
    twins = copy.deepcopy(nets)
    steps = [(torch.rand(4, 1, 28, 28).double(), torch.tensor([0, 1, 2, 1])) for _ in range(3)]
    torch.manual_seed(5)
    duel = _Duel(*nets)
    for images, labels in steps:
        duel.step(images, labels)
    torch.manual_seed(5)
    twin(*twins, steps)
    for ours, theirs in zip(nets, twins, strict=True):
        for (name, a), b in zip(ours.named_parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a, b, atol=1e-7, rtol=0, msg=lambda said, name=name: f"{name}: {said}")


def test_the_order_of_images_depends_on_seed_and_epoch(monkeypatch):
    images = torch.arange(12, dtype=torch.uint8).reshape(12, 1, 1, 1).expand(12, 1, 28, 28)
    data, seen = Stored(images, torch.arange(12) % 3, "abc"), []
    monkeypatch.setattr(_Duel, "step", lambda self, images, labels: seen.append(images[:, 0, 0, 0].tolist()))
    for seed in (0, 0, 1):
        train_acgan(data, epochs=2, width=0.03, batch_size=12, seed=seed)
    assert all(sorted(order) == sorted(seen[0]) for order in seen)
    assert seen[:2] == seen[2:4]
    assert len(set(map(tuple, seen))) == 4  # two epochs of two seeds


def test_a_class_multiplies_the_latent_vector():
    net = Generator("abc", width=0.05).eval()
    nothing = net(torch.zeros(3, 100), torch.arange(3))
    torch.testing.assert_close(nothing, nothing[:1].expand_as(nothing))
    some = net(torch.ones(3, 100), torch.arange(3))
    assert not torch.allclose(some[0], some[1])
    loud = net(100 * latent(20), torch.arange(20) % 3)
    assert 0 <= loud.min() < 0.4 < 0.6 < loud.max() <= 1


def test_latent_vectors_are_between_minus_one_and_one():
    drawn = latent(1000)
    assert drawn.shape == (1000, 100)
    assert -1 <= drawn.min() < -0.9 < 0.9 < drawn.max() <= 1


def test_the_discriminators_strides():
    convs = [layer for layer in Discriminator(10, width=0.1).convs if isinstance(layer, torch.nn.Conv2d)]
    assert [conv.stride for conv in convs] == [(2, 2), (1, 1), (2, 2), (1, 1)]


def test_loaded_generators_are_ready_to_draw(tmp_path):
    [net] = load_generators(save_generators([Generator("ab", width=0.05)], tmp_path))
    assert not any(module.training for module in net.modules())
    few, many = drawn_by(net, per_class=2), drawn_by(net, per_class=3)
    assert torch.equal(few.images, many.images[:4])
    assert not torch.equal(few.images, drawn_by(net, per_class=2, seed=1).images)


class Painted(Generator):
    """Draws a class in one shade, the first image of each class a little lighter than the next."""

    def __init__(self, shade):
        super().__init__(("zero", "one", "two"), width=0.03)
        self.shade = shade

    def forward(self, latent, labels):
        earlier = torch.stack([(labels[:k] == label).sum() for k, label in enumerate(labels)])
        return ((self.shade + 10 * labels + earlier) / 255).reshape(-1, 1, 1, 1).expand(-1, 1, 28, 28)


def test_white_is_white():
    assert drawn_by(Painted(235), per_class=1).images[:, 0, 0, 0].tolist() == [235, 245, 255]


def test_shades_are_the_nearest_of_256():
    for shade, wanted in ((100.4, 100), (100.6, 101)):
        assert drawn_by(Painted(shade), per_class=1).images[0, 0, 0, 0] == wanted


@pytest.mark.parametrize("each", [1, 2])
def test_the_sheet_has_each_image_at_its_epoch_and_class(each):
    axes = Figure().add_subplot()
    sheet(axes, [Painted(50), Painted(100), Painted(150)], each=each)
    pixels = axes.get_images()[0].get_array()
    expected = [[shade + 10 * n + k for n in range(3) for k in range(each)] for shade in (50, 100, 150)]
    assert pixels[14::28, 14::28].tolist() == expected
    rows, columns = (
        {text.get_text(): at / 28 for at, text in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)}
        for axis in (axes.yaxis, axes.xaxis)
    )
    assert rows == {"1": 0.5, "2": 1.5, "3": 2.5}
    assert columns == {name: (k + 0.5) * each for k, name in enumerate(("zero", "one", "two"))}
    assert axes.yaxis_inverted()
