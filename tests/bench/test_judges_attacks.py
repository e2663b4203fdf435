"""Judges that attack, draw or take gradients: what is handed to the attack, and outcomes known beforehand."""

import base64
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from tests.bench.judged import TEST, TRAIN, Bright, Quadrants, corners, grey, module_of, show, subject, values
from torchcaps.attacks import Transfer
from torchcaps.attacks._base import Attack
from torchcaps.attacks.robustness import Point, Robustness, judge
from torchcaps.bench.judges import JUDGES
from torchcaps.bench.subject import Subject
from torchcaps.layers import Decoder
from torchcaps.losses import MarginLoss
from torchcaps.models import create_model
from torchcaps.network import Model
from torchcaps.types import CapsShape, Capsules, Parse

GREY = grey([40, 115, 140, 220], [0, 0, 1, 1])  # 0.16, 0.45, 0.55 and 0.86: a tenth turns the two in the middle


@dataclass(frozen=True)
class Push(Attack):
    """Moves every image across one half, where eps allows it, unless its network says that it stays."""

    made: ClassVar[list] = []

    def search(self, model, images, labels):
        self.made.append((self.eps, self.clip))
        away = torch.where(labels == 1, -1.0, 1.0)[:, None, None, None]
        return images + self.eps * away * getattr(model, "moves", 1.0)


def test_descent_attacks_as_it_is_told_and_judges_the_attacked(monkeypatch):
    show(monkeypatch, GREY)
    asked = []

    def pgd(eps, **options):
        asked.append((eps, options))
        return Push(eps)

    monkeypatch.setattr(module_of("descent"), "PGD", pgd)
    found = JUDGES["descent"](subject(Bright(), seed=5))
    assert found.numbers["pgd"].images.tolist() == [True, False, False, True]
    assert found.numbers["pgd"].answers == 2
    assert values(JUDGES["descent"](subject(Bright(), seed=3), eps=0.5, steps=7)) == {"pgd": 0.0}
    assert asked == [(0.1, {"steps": 20, "seed": 5}), (0.5, {"steps": 7, "seed": 3})]


class Still(Bright):
    """A network that an attack leaves alone."""

    moves = 0.0


def test_a_black_box_attack_sees_the_substitute_alone(monkeypatch):
    show(monkeypatch, GREY)
    monkeypatch.setattr(Push, "made", made := [])
    monkeypatch.setattr(module_of("universal"), "Transfer", partial(Transfer, through=Push))
    found = JUDGES["transferred"](subject(Still(), others=[Bright()]), eps=(0.01, 0.1), unclipped=(0.1, 2.0))
    assert values(found) == {"clipped/0.01": 1.0, "clipped/0.1": 0.5, "unclipped/0.1": 0.5, "unclipped/2": 0.0}
    assert made == [(0.01, True), (0.1, True), (0.1, False), (2.0, False)]
    spared = JUDGES["transferred"](subject(Bright(), others=[Still()]), eps=(0.1,))
    assert values(spared) == {"clipped/0.1": 1.0}


def test_answers_under_attack_are_counted_by_what_was_answered(monkeypatch):
    show(monkeypatch, grey([40, 115, 120, 220], [0, 0, 0, 1]))
    monkeypatch.setattr(module_of("universal"), "Transfer", partial(Transfer, through=Push))
    found = JUDGES["transferred"](subject(Still(), others=[Bright()]), eps=(0.1,))
    assert found.details == {"answers/clipped/0.1": [1, 3]}
    assert found.numbers["clipped/0.1"].answers == 2


def test_the_universal_attack_is_judged_after_its_last_iteration(monkeypatch):
    show(monkeypatch, GREY)
    clean, half, none = (judge(Bright(), grey(levels, [0, 0, 1, 1]), "") for levels in
                         ([0, 0, 255, 255], [0, 255, 255, 0], [255, 255, 0, 0]))  # fmt: skip
    asked = []

    def decline(_, data, attack, *, every):
        asked.append((len(data), attack.eps, attack.iterations, attack.seed, every))
        curves = {
            "noise": (Point(0.0, clean), Point(4.0, clean)),
            "universal": (Point(0.0, clean), Point(2.0, half), Point(4.0, none)),
        }
        return Robustness("iteration", "", clean, curves)

    monkeypatch.setattr(module_of("universal"), "decline", decline)
    found = JUDGES["universal"](subject(Bright(), seed=6), count=3, eps=(0.3, 0.5), iterations=4, every=2)
    assert values(found) == {"noise/0.3": 1.0, "universal/0.3": 0.0, "noise/0.5": 1.0, "universal/0.5": 0.0}
    assert found.details["curves"]["universal/0.3"] == [[0.0, 1.0], [2.0, 0.5], [4.0, 0.0]]
    assert asked == [(3, 0.3, 4, 6, 2), (3, 0.5, 4, 6, 2)]


def test_errors_on_drawn_images_are_told_epoch_by_epoch(monkeypatch):
    asked, drawn = [], {"first": corners([0, 1, 2, 3]), "second": corners([0, 0])}
    drawn["second"].labels = torch.tensor([0, 1])  # its second image shows another class than was wanted

    def train_acgan(data, **options):
        asked.append((data, options))
        return ["first", "second"]

    def drawn_by(generator, **options):
        asked.append(options)
        return drawn[generator]

    module = module_of("drawn")
    monkeypatch.setattr(module, "train_acgan", train_acgan)
    monkeypatch.setattr(module, "drawn_by", drawn_by)
    monkeypatch.setattr(
        module, "load", lambda name, split: {("mnist", "train"): TRAIN, ("mnist", "test"): TEST}[name, split]
    )
    found = JUDGES["drawn"](subject(Quadrants(), seed=3), images=6, epochs=2, width=0.5, per_class=1)
    assert values(found) == {"error/1": 0.0, "error/2": 0.5}
    assert found.numbers["error/2"].images.tolist() == [False, True]
    assert {number.answers for number in found.numbers.values()} == {0}
    [(data, options), *drawings] = asked
    assert options == {"epochs": 2, "width": 0.5, "seed": 3}
    assert drawings == [{"per_class": 1, "seed": 3}] * 2
    assert len(data) == 6
    JUDGES["drawn"](subject(Quadrants()))
    assert asked[3][0] is TRAIN


def long_capsules(monkeypatch):
    """The theorems' network with maps so large that class capsules pass both margins of the loss."""

    def made(*args, **options):
        net = create_model(*args, **options)
        with torch.no_grad():
            for layer in net.layers:
                layer.weight *= 2
        return net

    monkeypatch.setattr(module_of("formulas"), "create_model", made)


def test_theorems_are_of_capsules_with_the_margin_loss(monkeypatch):
    module = module_of("formulas")
    for name, options in (("chen2019/lenet", {}), ("mitterreiter2023/capsnet", {"loss": "ce"})):
        other = create_model(name, width=0.1, image_size=28, **options)
        monkeypatch.setattr(module, "create_model", lambda *_, other=other, **__: other)
        with pytest.raises(TypeError, match="is a capsule network with the margin loss"):
            JUDGES["formulas"](Subject(0), count=1)


def test_both_theorems_agree_with_autograd(monkeypatch):
    assert max(values(JUDGES["formulas"](Subject(0), count=3)).values()) < 1e-9
    long_capsules(monkeypatch)
    assert max(values(JUDGES["formulas"](Subject(0), count=3)).values()) < 1e-9


@pytest.mark.parametrize(("what", "theorem"), [("pose", "theorem 2"), ("weight", "theorem 2"), ("top", "theorem 1")])
def test_a_gradient_that_is_a_little_off_is_told(monkeypatch, what, theorem):
    long_capsules(monkeypatch)
    right, calls = module_of("formulas").gradients, []

    def spoiled(model, batch):
        calls.append(len(batch.images))
        found = right(model, batch)
        if what == "top":
            found[-1] = found[-1]._replace(pose=1.1 * found[-1].pose)
        elif len(calls) == 2:  # of the first image alone
            below = found[1]
            noise = 0.2 * torch.randn_like(getattr(below, what)) * getattr(below, what).abs().mean()
            found[1] = below._replace(**{what: getattr(below, what) + noise})
        return found

    monkeypatch.setattr(module_of("formulas"), "gradients", spoiled)
    found = values(JUDGES["formulas"](Subject(0), count=3))
    other = {"theorem 1": "theorem 2", "theorem 2": "theorem 1"}[theorem]
    assert found[theorem] > 1e-2
    assert found[other] < 1e-9


class Mirror(Decoder):
    """Each number of the labelled class's capsule brightens one pixel and darkens another by its own factor."""

    factors = torch.tensor([1.0, 3.0, 0.5, 2.0, 1.5])

    def __init__(self, classes):
        super().__init__(CapsShape((1, 1), classes, 5), (1, 2, 5))

    def draw(self, code):
        numbers = code.reshape(len(code), -1, 5).sum(1) * self.factors
        return torch.stack([numbers, -numbers], 1)[:, None]


class Poses(Model):
    """Class capsules whose numbers are a class's own function of the image's first pixel row."""

    def __init__(self, classes=2):
        super().__init__(loss=MarginLoss(), decoder=Mirror(classes))
        self.nothing = nn.Parameter(torch.zeros(1))

    def forward(self, x, record="none"):
        pose = torch.stack([(k + 1) * x[:, 0, 0, :5] for k in range(2)], 1)[:, None, None]
        return Parse(pose.norm(dim=-1)[:, 0, 0], [Capsules(pose, pose.norm(dim=-1))], [], [])


def test_response_is_the_change_of_a_pixel_for_one_deviation_of_a_unit(monkeypatch):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (7, 1, 5, 5)).astype(np.uint8)
    labels = [1, 0, 0, 1, 1, 0, 1]
    data = grey([0] * 7, labels)
    data.images, data.image_shape = torch.from_numpy(pixels), (1, 5, 5)
    show(monkeypatch, data)
    found = JUDGES["response"](subject(Poses()), deltas=(-0.5, 0.0, 0.25))

    factors, rows = Mirror.factors.numpy(), pixels[:, 0, 0] / 255
    by_class = []
    for label in (0, 1):
        deviations = ((label + 1) * rows[np.array(labels) == label]).std(0)
        by_class.append(deviations * factors * 2 / 10)  # of ten pixels two change, one up, one down
    assert values(found)["response"] == pytest.approx(float(np.mean(by_class)), rel=1e-5)

    strongest = np.argsort(-np.mean(by_class, 0))[:4]
    sheet = found.details["sheet"]
    assert (sheet["shape"], sheet["deltas"]) == ([4, 3, 2, 5], [-0.5, 0.0, 0.25])
    drawn = np.frombuffer(base64.b64decode(sheet["pixels"]), np.uint8).reshape(4, 3, 2, 5)
    for k, dim in enumerate(strongest):
        for t, delta in enumerate((-0.5, 0.0, 0.25)):
            numbers = (2 * rows[0] + delta * (np.arange(5) == dim)) * factors
            expected = np.round(np.clip(np.stack([numbers, -numbers]), 0, 1) * 255)
            assert np.abs(drawn[k, t] - expected).max() <= 1
