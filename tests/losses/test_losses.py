import math

import pytest
import torch

from torchcaps.layers import DenseDecoder
from torchcaps.losses import (
    LOSSES,
    BinaryCrossEntropy,
    CrossEntropy,
    ReconstructionLoss,
    SpreadLoss,
    make_loss,
    multi_hot,
)
from torchcaps.types import CapsShape, Capsules, Parse

Z = math.exp(2) + math.exp(-1) + 1
SIGMOIDS = [1 / (1 + math.exp(-2)), 1 / (1 + math.exp(1)), 0.5]


def test_spread_loss_is_its_formula():
    loss, scores, labels = SpreadLoss(), torch.rand(4, 5), torch.tensor([0, 2, 4, 1])
    loss.anneal(1.0)
    expected = sum(
        max(0, 0.9 - (a[t] - a[k])) ** 2 for a, t in zip(scores, labels, strict=True) for k in range(5) if k != t
    )
    torch.testing.assert_close(loss(scores, multi_hot(labels, 5)), expected / 4)


def test_the_spread_margin_is_annealed():
    loss = SpreadLoss()
    margins = []
    for progress in (-1.0, 0.0, 0.5, 0.5, 0.25, 1.0, 2.0):
        loss.anneal(progress)
        margins.append(round(loss.margin, 6))
    assert margins == [0.2, 0.2, 0.55, 0.55, 0.375, 0.9, 0.9]


def test_images_that_show_no_class_have_no_target():
    assert multi_hot(torch.zeros(2, 0, dtype=torch.long), 3).tolist() == [[0.0] * 3] * 2


def test_cross_entropies():
    scores, labels = torch.randn(4, 5), torch.tensor([0, 2, 4, 1])
    expected = -scores.log_softmax(-1)[torch.arange(4), labels].mean()
    torch.testing.assert_close(CrossEntropy()(scores, multi_hot(labels, 5)), expected)
    targets = multi_hot(torch.tensor([[0, 2], [1, 3], [4, 4], [2, 3]]), 5)
    p = scores.sigmoid()
    expected = -(targets * p.log() + (1 - targets) * (1 - p).log()).sum(-1).mean()
    torch.testing.assert_close(BinaryCrossEntropy()(scores, targets), expected)
    torch.testing.assert_close(BinaryCrossEntropy(on="lengths")(p, targets), expected)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_finite_at_the_ends_and_prefers_the_truth(name):
    loss, targets = make_loss(name), multi_hot(torch.tensor([0, 1]), 3)
    right = targets.clone().requires_grad_()
    loss(right, targets).backward()
    assert torch.isfinite(right.grad).all()
    assert loss(targets, targets) < loss(1 - targets, targets)


def test_the_reconstruction_weight_multiplies_the_sum_over_pixels():
    decoder = DenseDecoder(CapsShape((1, 1), 3, 4), (1, 5, 5))
    pose = torch.rand(2, 1, 1, 3, 4)
    parse = Parse(pose.norm(dim=-1)[:, 0, 0], [Capsules(pose, pose.norm(dim=-1))], [], [])
    labels, singles = torch.tensor([[0, 1], [2, 0]]), torch.rand(2, 2, 1, 5, 5)
    expected = sum(((decoder(parse, labels[:, k]) - singles[:, k]) ** 2).sum() / 2 for k in range(2))
    torch.testing.assert_close(ReconstructionLoss()(decoder, parse, labels, singles), 0.0005 * expected)


def test_bad_losses_are_named(no_shape_checks):
    with pytest.raises(ValueError, match="loss='hinge' is not allowed: choose one of 'margin'"):
        make_loss("hinge")
    with pytest.raises(ValueError, match="on='scores' is not allowed"):
        BinaryCrossEntropy(on="scores")


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_losses_keep_the_precision_of_the_scores(name, dtype):
    scores = torch.rand(2, 3).to(dtype)
    assert make_loss(name)(scores, multi_hot(torch.tensor([0, 2]), 3)).dtype == dtype


@pytest.mark.parametrize("name", LOSSES)
def test_class_indices_are_not_targets(name, no_shape_checks):
    with pytest.raises(ValueError, match=r"targets of shape \(3,\) do not fit scores of shape \(4, 3\)"):
        make_loss(name)(torch.rand(4, 3), torch.rand(3))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", [(4,), (4, 1), (1, 4), (4, 3)], ids=str)
def test_targets_of_another_shape_are_refused_though_they_could_be_stretched(name, shape, no_shape_checks):
    with pytest.raises(ValueError, match=r"do not fit scores of shape \(4, 4\)"):
        make_loss(name)(torch.rand(4, 4), torch.rand(shape))


def test_the_margin_of_a_spread_loss_before_any_step():
    """0.2 − (0.5 − 0.4) is short by 0.1."""
    assert SpreadLoss()(torch.tensor([[0.5, 0.4, 0.1]]), torch.tensor([[1.0, 0.0, 0.0]])).item() == pytest.approx(0.01)
    assert SpreadLoss(first=0.3).margin == 0.3


def test_cross_entropy_of_two_classes_in_an_image_counts_both():
    scores = [1.0, -0.5, 2.0]
    log_sum = math.log(sum(math.exp(s) for s in scores))
    expected = (log_sum - 1.0) + (log_sum - 2.0)
    assert CrossEntropy()(torch.tensor([scores]), torch.tensor([[1.0, 0.0, 1.0]])).item() == pytest.approx(expected)


def test_lengths_of_zero_and_one_are_kept_from_the_logarithm():
    loss = BinaryCrossEntropy(on="lengths")
    assert loss(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])).item() == pytest.approx(
        -math.log(1e-6), rel=1e-4
    )
    assert loss(torch.tensor([[1.0, 1.0]]), torch.tensor([[0.0, 1.0]])).item() == pytest.approx(
        -math.log(1e-6), rel=0.1
    )


READ = {  # as probabilities: softmax; σ over their sum; lengths over their sum, a negative one as zero
    "ce": ([2.0, -1.0, 0.0], [math.exp(2) / Z, math.exp(-1) / Z, 1 / Z]),
    "bce": ([2.0, -1.0, 0.0], [sigmoid / sum(SIGMOIDS) for sigmoid in SIGMOIDS]),
    "bce_lengths": ([0.6, 0.2, -0.5], [0.75, 0.25, 0.0]),
    "margin": ([0.6, 0.2, -0.5], [0.75, 0.25, 0.0]),
    "spread": ([0.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_how_scores_are_read(name):
    """As probabilities of each image by itself, and as classes that are there: logits above 0, lengths above 1/2."""
    scores, expected = READ[name]
    found = make_loss(name).probabilities(torch.tensor([scores, [0.1, 0.2, 0.3]]))
    assert found[0].tolist() == pytest.approx(expected)
    assert found.sum(-1).tolist() == pytest.approx([1.0, 1.0])
    assert make_loss(name).threshold == (0.0 if name in ("ce", "bce") else 0.5)


def test_sigmoids_that_are_as_good_as_zero_are_shared_out_too():
    found = BinaryCrossEntropy().probabilities(torch.tensor([[-800.0, -800.0, -900.0]]))
    assert found[0].tolist() == pytest.approx([0.5, 0.5, 0.0])


def test_each_name_is_its_own_loss():
    """By what they make of the same scores; and options are heard."""
    scores, targets = torch.tensor([[0.3, 0.4, 0.2]]), torch.tensor([[1.0, 0.0, 0.0]])
    found = {name: make_loss(name)(scores, targets).item() for name in LOSSES}
    assert found == {
        "margin": pytest.approx(0.6**2 + 0.5 * (0.3**2 + 0.1**2)),
        "spread": pytest.approx(0.3**2 + 0.1**2),
        "ce": pytest.approx(math.log(math.exp(0.3) + math.exp(0.4) + math.exp(0.2)) - 0.3),
        "bce": pytest.approx(sum(math.log(1 + math.exp(s)) for s in (-0.3, 0.4, 0.2))),
        "bce_lengths": pytest.approx(-math.log(0.3) - math.log(0.6) - math.log(0.8)),
    }
    heard = make_loss("margin", down_weight=1.0)(scores, targets).item()
    assert heard == pytest.approx(0.6**2 + 0.3**2 + 0.1**2)


def test_labels_out_of_range_are_named():
    with pytest.raises(ValueError, match="labels from 0 to 3 do not fit 3 classes"):
        multi_hot(torch.tensor([0, 3]), 3)
