"""The sign of a number, which capsules without a bias cannot learn (peer2021, table 1)."""

from typing import Literal, NamedTuple

import torch

from torchcaps.data import Sign
from torchcaps.losses import MarginLoss
from torchcaps.measures import Score, accuracy
from torchcaps.models.peer2021 import sign
from torchcaps.train import fit


class Row(NamedTuple):
    """A row of the paper's table 1; its figure is in percent, after 50 epochs."""

    name: str
    routing: Literal["dynamic", "em"]
    bias: bool
    paper: float


TABLE_1 = (
    Row("Routing by agreement", "dynamic", False, 49.61),
    Row("Routing by agreement", "dynamic", True, 99.70),
    Row("EM routing", "em", False, 49.42),
    Row("EM routing", "em", True, 99.81),
)


def train_sign(row: Row, epochs: int = 20, seed: int = 0) -> Score:
    """Accuracy on the training numbers of a network 1 → 20 → 2, after Adam at 5e-3 with batches of 256 and λ = 1.

    Args:
        seed: of the numbers, the weights and the order.
    """
    torch.manual_seed(seed)
    net = sign(routing=row.routing, bias=row.bias)
    net.loss = MarginLoss(down_weight=1.0)
    numbers = Sign(seed=seed)
    run = fit(net, numbers, epochs=epochs, batch_size=256, lr=5e-3, seed=seed, validation=0.0, quiet=True)
    return accuracy(run.model, numbers, batch_size=4096)
