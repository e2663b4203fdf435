import torch

from torchcaps.losses import MarginLoss


def test_margin_loss_is_equation_4():
    scores, targets = torch.rand(4, 5), torch.randint(0, 2, (4, 5)).float()
    expected = 0.0
    for v, t in zip(scores, targets, strict=True):
        for k in range(5):
            expected += t[k] * max(0, 0.9 - v[k]) ** 2 + 0.5 * (1 - t[k]) * max(0, v[k] - 0.1) ** 2
    torch.testing.assert_close(MarginLoss()(scores, targets), expected / 4)
