import torch

from torchcaps.losses import MarginLoss


def test_margin_loss_is_equation_4():
    scores, targets = torch.rand(4, 5), torch.randint(0, 2, (4, 5)).float()
    expected = 0.0
    for v, t in zip(scores, targets, strict=True):
        for k in range(5):
            expected += t[k] * max(0, 0.9 - v[k]) ** 2 + 0.5 * (1 - t[k]) * max(0, v[k] - 0.1) ** 2
    torch.testing.assert_close(MarginLoss()(scores, targets), expected / 4)


def test_margin_loss_of_logits_is_that_of_their_sigmoid():
    logits, targets = torch.randn(4, 5), torch.randint(0, 2, (4, 5)).float()
    loss = MarginLoss(logits=True)
    torch.testing.assert_close(loss(logits, targets), MarginLoss()(logits.sigmoid(), targets))
    torch.testing.assert_close(loss.probabilities(logits), MarginLoss().probabilities(logits.sigmoid()))
    assert (loss.threshold, MarginLoss().threshold) == (0.0, 0.5)
