"""The sign of a number, which capsules without a bias cannot learn (peer2021, table 1)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from torchcaps.data import load
from torchcaps.measures import Score, accuracy
from torchcaps.train import fit
from torchcaps.train.callbacks import Callback

if TYPE_CHECKING:
    from torchcaps.train.loop import Training


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


class Epochs(Callback):
    """Says after every epoch that another one is done."""

    def __init__(self, tick: Callable[[], None]) -> None:
        self.tick = tick

    def after_epoch(self, training: "Training", entry: dict[str, Any]) -> None:
        """Another one."""
        self.tick()


def train_sign(row: Row, epochs: int, seed: int, tick: Callable[[], None]) -> Score:
    """Accuracy on the training numbers of a network 1 → 20 → 2, after Adam at 5e-3 with batches of 256 and λ = 1.

    Args:
        seed: of the numbers, the weights and the order.
        tick: called after every epoch.
    """
    run = fit(
        "peer2021/sign",
        "sign",
        options={"routing": row.routing, "bias": row.bias},
        data_options={"seed": seed},
        loss={"name": "margin", "down_weight": 1.0},
        validation=0,
        epochs=epochs,
        batch_size=256,
        lr=5e-3,
        seed=seed,
        callbacks=[Epochs(tick)],
        quiet=True,
    )
    return accuracy(run.model, load("sign", seed=seed), batch_size=4096)
