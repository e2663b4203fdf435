"""A training against the same one written out by hand: rates, margins, momentum, decay, dropout, targets."""

import itertools
from contextlib import nullcontext
from types import SimpleNamespace
from unittest.mock import NonCallableMock

import pytest
import torch
from lightning_fabric import Fabric
from torch import nn

from tests.train import separable
from torchcaps import fit
from torchcaps.data import Batch, Dataset, Overlapping
from torchcaps.data.glyphs import load_glyphs
from torchcaps.models import create_model
from torchcaps.network import ConvNet
from torchcaps.train.fitting import prepare
from torchcaps.train.loop import Training
from torchcaps.train.objective import Objective, part_of
from torchcaps.train.settings import Settings
from torchcaps.train.splits import Splits

LR, MOMENTUM, DECAY = 0.1, 0.8, 0.05
STEPS = 14  # in two epochs, so that the rate drops after steps 6 and 10


class Waves(Dataset):
    """28 images of four pixels, others in every epoch, and a note of who asked for which."""

    def __init__(self):
        super().__init__(("a", "b", "c"), (1, 2, 2))
        self.asked = []

    def __len__(self):
        return 28

    def batch(self, index, epoch=0):
        self.asked.append((epoch, index.tolist()))
        wave = torch.sin(3.7 * index[:, None].double() + torch.arange(4) * 1.3 + epoch).float()
        return Batch(wave.reshape(-1, 1, 2, 2), (index % 3)[:, None])


def linear(*extra):
    torch.manual_seed(3)
    return ConvNet(nn.Sequential(nn.Flatten(), *extra, nn.Linear(4, 3)))


def sgd(w, g, memory, rate, _):
    memory["v"] = MOMENTUM * memory.get("v", 0) + g + DECAY * w
    return w - rate * memory["v"]


def adam(w, g, memory, rate, t, *, decay=DECAY):
    g = g + decay * w
    memory["m"] = 0.9 * memory.get("m", 0) + 0.1 * g
    memory["v"] = 0.999 * memory.get("v", 0) + 0.001 * g**2
    return w - rate * (memory["m"] / (1 - 0.9**t)) / ((memory["v"] / (1 - 0.999**t)).sqrt() + 1e-8)


def adamw(w, g, memory, rate, t):
    return adam(w * (1 - rate * DECAY), g, memory, rate, t, decay=0.0)


def spread(scores, label, margin):
    short = [max(0, margin - (scores[label] - scores[k])) ** 2 for k in range(3) if k != label]
    return sum(short)


@pytest.mark.parametrize("rule", [sgd, adam, adamw])
def test_every_step_is_the_one_written_out_by_hand(rule):
    """Rates a tenth after three sevenths and a hundredth after five, a margin from 0.2 to 0.9, each rule's decay."""
    data, net = Waves(), linear()
    weights = [p.detach().double().clone() for p in net.parameters()]
    loss = {"name": "spread"}
    settings = {"optimiser": rule.__name__, "lr": LR, "momentum": MOMENTUM, "weight_decay": DECAY, "loss": loss}
    settings |= {"lr_schedule": "steps", "epochs": 2, "batch_size": 4, "precision": "64", "validation": 0.0}
    fit(net, data, quiet=True, **settings)
    asked = list(data.asked)
    assert [epoch for epoch, _ in asked] == [0] * 7 + [1] * 7
    orders = [[k for _, index in part for k in index] for part in (asked[:7], asked[7:])]
    assert [sorted(order) for order in orders] == [list(range(28))] * 2
    assert orders[0] != orders[1]
    memories = [{}, {}]
    for step, (epoch, index) in enumerate(asked):
        w, b = (t.clone().requires_grad_() for t in weights)
        batch = data.batch(torch.tensor(index), epoch)
        margin = 0.2 + 0.7 * step / STEPS
        total = sum(
            spread(w @ x.double().flatten() + b, int(y), margin)
            for x, y in zip(batch.images, batch.labels, strict=True)
        )
        grads = torch.autograd.grad(total / 4, (w, b))
        rate = LR * (1 if step < 6 else 0.1 if step < 10 else 0.01)
        each = zip(weights, grads, memories, strict=True)
        weights = [rule(t, g, memory, rate, step + 1) for t, g, memory in each]
    for found, expected in zip(net.parameters(), weights, strict=True):
        torch.testing.assert_close(found.detach(), expected, rtol=1e-9, atol=1e-12)


class Dice(nn.Module):
    """Notes what is random at each step, as a dropout mask would be."""

    def __init__(self):
        super().__init__()
        self.thrown = []

    def forward(self, x):
        if self.training:
            self.thrown.append(tuple(torch.rand(4).tolist()))
        return x


def test_what_is_random_in_a_step_is_another_in_every_step_seed_and_process():
    thrown = {}
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        dice = Dice()
        fit(linear(dice), Waves(), epochs=2, batch_size=4, seed=seed, validation=0.0, quiet=True)
        thrown[name] = dice.thrown
    assert thrown["first"] == thrown["again"]
    assert len(set(thrown["first"] + thrown["other"])) == 2 * STEPS
    drawn = []
    for seed, step, rank in itertools.product(range(3), range(5), range(3)):
        settings, fabric = SimpleNamespace(seed=seed), SimpleNamespace(global_rank=rank)
        Training._seed(SimpleNamespace(settings=settings, fabric=fabric), step)
        drawn.append(torch.rand(1).item())
    assert len(set(drawn)) == 45


def test_the_seed_decides_the_first_weights(glyphs):
    def weights(seed):
        torch.rand(seed + 5)  # whatever was drawn before
        settings = Settings("chen2019/lenet", "custom", options={"width": 0.2}, seed=seed)
        return torch.cat([p.flatten() for p in prepare(settings, "chen2019/lenet", glyphs)[0].parameters()])

    one, other, again = weights(1), weights(2), weights(1)
    assert torch.equal(one, again)
    assert (one != other).float().mean() > 0.9


def test_each_object_of_a_pair_is_drawn_against_its_own_image(glyphs):
    """Not against the image of both, and each from its own capsule."""
    torch.manual_seed(0)
    net = create_model("sabour2017/capsnet", width=0.05, image_size=36)
    batch = Overlapping(glyphs, pairs=2).batch(torch.arange(5))
    with torch.no_grad():
        parse = net(batch.images)
        both = torch.zeros(5, 10).scatter(1, batch.labels, 1.0)
        expected = net.loss(parse.scores, both)
        for k in range(5):
            for j in range(2):
                capsule = torch.zeros(10, 16)
                capsule[batch.labels[k, j]] = parse.capsules[-1].pose[k, 0, 0, batch.labels[k, j]]
                drawn = net.decoder.net(capsule.flatten())
                expected = expected + 0.002 * ((drawn - batch.singles[k, j].flatten()) ** 2).sum() / 5
        torch.testing.assert_close(Objective(net, 10, 0.002)(batch).loss, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("images", range(1, 8))
def test_processes_share_a_batch_and_their_mean_is_the_batchs(images):
    """Also where some of them have no image left and take part without weight."""
    values = torch.arange(1.0, images + 1)
    batch = Batch(values[:, None, None, None], torch.arange(images)[:, None], values[:, None, None, None, None] * 2)
    for world in range(1, 6):
        parts = [part_of(batch, rank, world) for rank in range(world)]
        mean = sum(weight * part.images.mean() for part, weight in parts) / world
        torch.testing.assert_close(mean, values.mean())
        for field in range(3):
            shares = [part[field] for part, weight in parts if weight > 0]
            assert torch.equal(torch.cat(shares), batch[field])
        assert all(len(part.images) == 1 for part, weight in parts if weight == 0)


@pytest.mark.parametrize(("rank", "hits"), [(0, 0.0), (1, 1.0)])
def test_a_process_without_images_counts_none(rank, hits):
    """One image for two processes: the one that only takes part does not count it as well."""
    net = separable.linear()
    net.body[-1].weight.data, net.body[-1].bias.data = torch.tensor([[-9.0], [9.0]]), torch.tensor([4.0, -4.0])
    one, shared = separable.Separable(1), []
    settings = Settings("custom", "custom", validation=0.0, batch_size=1)
    training = Training(Fabric(accelerator="cpu", devices=1), settings, net, Splits(one, one), folder=None)
    share = {"all_reduce": lambda values, reduce_op: shared.append(values.flatten()) or values}
    others = {"global_rank": rank, "world_size": 2, "device": torch.device("cpu"), "autocast": nullcontext}
    training.fabric = NonCallableMock(Fabric, **share, **others)
    training.fabric.backward, training.fabric.broadcast = torch.Tensor.backward, lambda found: found
    training.train_on(one.batch(torch.arange(1)))
    assert training.accuracy(one) == hits
    assert [float(values[-1]) for values in shared] == [hits, hits]


def test_a_network_given_as_it_is_judged_is_trained_as_one_is_trained():
    dice = Dice()
    fit(linear(dice).eval(), Waves(), epochs=2, batch_size=4, validation=0.0, quiet=True)
    assert len(dice.thrown) == STEPS


def test_the_loss_of_an_epoch_is_the_mean_over_its_images():
    """A last batch of four weighs half as much as one of eight; the rate is too small to matter."""
    data, net = Waves(), linear()
    every = data.batch(torch.arange(28))
    scores = net(every.images).scores.detach().double()
    expected = -scores.log_softmax(-1)[torch.arange(28), every.labels[:, 0]].mean()
    right = (scores.argmax(-1) == every.labels[:, 0]).double().mean()
    [entry] = fit(net, data, epochs=1, batch_size=8, lr=1e-12, loss={"name": "ce"}, validation=0.0, quiet=True).history
    assert entry["loss"] == pytest.approx(float(expected), rel=1e-5)
    assert entry["accuracy"] == pytest.approx(float(right))


def test_the_decoder_weighs_what_sabour_et_al_give_it_unless_told():
    """0.0005 of the squared error, summed over an image's pixels."""
    torch.manual_seed(0)
    net, data = create_model("sabour2017/capsnet", width=0.05), load_glyphs("train", 6)
    told = Settings("custom", "custom", validation=0.0)
    training = Training(Fabric(accelerator="cpu", devices=1), told, net, Splits(data, None), folder=None)
    batch = data.batch(torch.arange(6))
    with torch.no_grad():
        parse = net(batch.images)
        capsules = torch.zeros(6, 10, 16)
        capsules[torch.arange(6), data.labels] = parse.capsules[-1].pose[torch.arange(6), 0, 0, data.labels].flatten(1)
        wrong = (net.decoder.net(capsules.flatten(1)) - batch.images.flatten(1)) ** 2
        expected = net.loss(parse.scores, torch.eye(10)[data.labels]) + 0.0005 * wrong.sum(1).mean()
        torch.testing.assert_close(training.objective(batch).loss, expected, rtol=1e-5, atol=1e-6)
