"""A trained LeNet on MNIST's test images: how far it falls, and how far it must."""

import pytest
import torch

from torchcaps.attacks import FGSM, PGD, AutoAttack, MaskedGradientsWarning, Robustness, Transfer, robustness
from torchcaps.data import load
from torchcaps.infer import infer
from torchcaps.models import create_model

COUNT = 200
EPS = (0.1, 0.2, 0.3)


@pytest.fixture(scope="module")
def lenet():
    return create_model("chen2019/lenet", pretrained=True)


@pytest.fixture(scope="module")
def digits():
    return load("mnist", "test").select(torch.arange(COUNT))


@pytest.fixture(scope="module")
def found(lenet, digits):
    """No warning among it: those would be errors here."""
    return robustness(lenet, digits, [PGD(eps, steps=20) for eps in EPS])


def accuracies(result, name):
    return {point.at: point.found.score.value for point in result.curves[name]}


def test_it_falls(found):
    assert found.clean.score.value > 0.97
    assert accuracies(found, "fgsm")[0.3] < 0.30
    assert accuracies(found, "pgd")[0.3] < 0.05
    assert all(value > 0.9 for value in accuracies(found, "noise").values())


def test_more_steps_are_never_a_point_weaker(found):
    fgsm, pgd = accuracies(found, "fgsm"), accuracies(found, "pgd")
    assert fgsm.keys() == pgd.keys() == set(EPS)
    assert all(pgd[eps] <= fgsm[eps] + 0.01 for eps in EPS)
    assert found.masked == ()


def test_nothing_changes_without_room(lenet, digits):
    batch = digits.batch(torch.arange(COUNT))
    clean = infer(lenet, batch.images).scores
    for attack in (FGSM(0.0), PGD(0.0), AutoAttack(0.0), FGSM(0.0, "l2")):
        found = attack(lenet, batch.images, batch.labels[:, 0])
        assert torch.equal(infer(lenet, found).scores, clean)


def test_l2_and_bounds_on_real_digits(lenet, digits):
    batch = digits.batch(torch.arange(100))
    images, labels = batch.images, batch.labels[:, 0]
    for attack in (FGSM(2.0, "l2"), PGD(2.0, "l2", steps=10), PGD(0.3, steps=5), PGD(2.0, "l2", clip=False, steps=5)):
        found = attack(lenet, images, labels)
        moved = (found - images).flatten(1)
        far = moved.norm(dim=-1) if attack.norm == "l2" else moved.abs().amax(-1)
        assert far.max() <= attack.eps + 1e-5
        assert bool(found.min() < 0) != attack.clip
        assert (infer(lenet, found).scores.argmax(-1) == labels).float().mean() < 0.7


def test_autoattack_is_the_strongest(lenet, digits):
    few = digits.select(torch.arange(40))
    [auto, pgd] = (
        robustness(lenet, few, [attack]).curves[attack.name][0].found.hits
        for attack in (AutoAttack(0.15, steps=20, restarts=1, queries=20), PGD(0.15, steps=10))
    )
    assert auto <= pgd < 40


def test_masked_gradients_are_found_out(lenet, digits):
    """The margin loss of a well-trained CapsNet is flat: FGSM finds no way, a LeNet's perturbations do."""
    net = create_model("sabour2017/capsnet", pretrained=True)
    attacks = [FGSM(0.3, loss="own"), Transfer(0.3, substitute=lenet)]
    with pytest.warns(MaskedGradientsWarning, match="have no gradient at all under this loss") as warned:
        found = robustness(net, digits, attacks)
    assert [str(w.message) for w in warned] == [f"gradients look masked: {'; '.join(found.masked)}"]
    assert any("transfer leaves" in said and "fgsm, which follows gradients" in said for said in found.masked)
    assert "Gradients look masked: " in str(found)
    assert Robustness.from_json(found.to_json()) == found
    assert accuracies(found, "fgsm")[0.3] > accuracies(found, "transfer")[0.3] + 0.3
    open_way = robustness(net, digits.select(torch.arange(100)), [FGSM(0.3)])  # cross entropy: no warning
    assert accuracies(open_way, "fgsm")[0.3] < 0.3
