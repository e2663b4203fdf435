"""`torchcaps demo --sign`: the sign of a number, which capsules without a bias cannot learn (peer2021, table 1)."""

from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class Row(NamedTuple):
    """A row of the paper's table 1."""

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


def run_sign(epochs: int, seed: int) -> None:
    """Train four small capsule networks to tell positive numbers from negative, and print the paper's table beside."""
    import torch
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    torch.set_num_threads(1)  # networks this small only wait for a second thread
    console = Console()
    console.print("Is a number positive? Capsule networks 1 → 20 → 2, with and without a bias (peer2021, table 1).")
    table = Table("routing", "bias", "paper, 50 epochs", f"here, {epochs} epochs")
    with Progress(console=console, transient=True) as progress:
        for row in TABLE_1:
            task = progress.add_task(f"{row.name}, {'with' if row.bias else 'no'} bias", total=epochs)
            accuracy = train_sign(row, epochs, seed, partial(progress.advance, task))
            table.add_row(row.name, "yes" if row.bias else "no", f"{row.paper:.2f} %", f"{accuracy:.2f} %")
    console.print(table)
    console.print("Training accuracy. Without a bias, u and −u give the same class scores: chance is all there is.")


def train_sign(row: Row, epochs: int, seed: int, tick: "Callable[[], None]") -> float:
    """Accuracy in percent on the training numbers, after Adam at 5e-3 with batches of 256 and λ = 1."""
    import torch
    from torch.nn.functional import one_hot

    from torchcaps.losses import MarginLoss
    from torchcaps.models.peer2021 import sign

    torch.manual_seed(seed)
    x: Tensor = torch.rand(20_000, 1, 1, 1) * 2 - 1
    y = (x.flatten() >= 0).long()
    net, loss = sign(routing=row.routing, bias=row.bias), MarginLoss(down_weight=1.0)
    adam = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(256):
            adam.zero_grad()
            loss(net(x[batch]).scores, one_hot(y[batch], 2).to(x.dtype)).backward()
            adam.step()
        tick()
    with torch.no_grad():
        hits: Tensor = net(x).scores.argmax(-1) == y
    return 100 * hits.float().mean().item()
