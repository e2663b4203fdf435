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
    for progress in (-1.0, 0.0, 0.5, 1.0, 2.0):
        loss.anneal(progress)
        margins.append(round(loss.margin, 6))
    assert margins == [0.2, 0.2, 0.55, 0.9, 0.9]


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


def test_labels_out_of_range_are_named():
    with pytest.raises(ValueError, match="labels from 0 to 3 do not fit 3 classes"):
        multi_hot(torch.tensor([0, 3]), 3)
