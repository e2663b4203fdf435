"""`torchcaps demo`: capsules against convolutions on digits, in minutes: one table and one page."""

import importlib.util
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from torchcaps.bench.demo.digits import Outcome

NEEDED = {"lightning_fabric": "train", "rich": "train", "PIL": "train", "matplotlib": "bench", "jinja2": "bench"}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html and results.json.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the images taken, the weights and the order.")] = 0,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the training data, if not as usual.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny networks, few images: seconds, no results.")] = False,
    sign: Annotated[
        bool, typer.Option("--sign", help="Another demo: the sign of a number (peer2021, table 1).")
    ] = False,
) -> None:
    """Train two capsule networks and a convolutional one on digits, judge them, print a table and write a page.

    At most five minutes on two cores. The digits are MNIST's or, if it cannot be had, those of fonts.
    """
    if sign:
        _sign(epochs or 20, seed)
        return
    _check_extras()
    from dataclasses import replace

    from rich.console import Console

    from torchcaps.bench.demo import digits, page

    began = time.perf_counter()
    plan = replace(digits.QUICK if quick else digits.Plan(), seed=seed)
    plan = plan if epochs is None else replace(plan, epochs=epochs)
    console = Console()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    data = digits.load_digits(plan, say)
    say(data.told(plan))
    outcome = digits.compete(plan, data, say)
    console.print(table(outcome))
    written = page.write(out, plan, data, outcome, seconds=time.perf_counter() - began)
    say(
        f"{data.told(plan)} Under each share its 95 % interval over test images. Dead are capsules that are never "
        f"active, of those with an activation; dynamics, from 0 to 1, is how much couplings change between images."
    )
    say(f"{time.perf_counter() - began:.0f} seconds in all. Curves, samples and what capsules draw: {written}")


def table(outcome: "Outcome") -> "Table":
    """The table for a terminal of 80 columns: under each share its interval, under the parameters the training time."""
    from rich import box
    from rich.table import Table

    from torchcaps.bench.demo.digits import TESTS
    from torchcaps.report import interval, percent

    columns = ("network", *TESTS, "dead", "dynamics", "parameters")
    made = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for row in outcome.rows:
        shares = [f"{percent(row.scores[test])}\n{interval(row.scores[test])}" for test in TESTS]
        dead = "–" if row.dead is None else f"{row.dead[0]} of\n{row.dead[1]}"
        dynamics = "–" if row.dynamics is None else f"{row.dynamics:.2f}"
        name = row.name + ("\n+ decoder" if row.decoder else "")
        made.add_row(name, *shares, dead, dynamics, f"{row.parameters:,}\n{row.seconds:.0f} s")
    return made


def _sign(epochs: int, seed: int) -> None:
    """Four small networks, the paper's table beside."""
    import torch
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from torchcaps.bench.demo.sign import TABLE_1, train_sign

    torch.set_num_threads(1)  # networks this small only wait for a second thread
    console = Console()
    console.print("Is a number positive? Capsule networks 1 → 20 → 2, with and without a bias (peer2021, table 1).")
    made = Table("routing", "bias", "paper, 50 epochs", f"here, {epochs} epochs")
    with Progress(console=console, transient=True) as progress:
        for row in TABLE_1:
            bias = "yes" if row.bias else "no"
            task = progress.add_task(f"{row.name}, bias: {bias}", total=epochs)
            score = train_sign(row, epochs, seed, partial(progress.advance, task))
            made.add_row(row.name, bias, f"{row.paper:.2f} %", f"{100 * score.value:.2f} %")
    console.print(made)
    console.print("Training accuracy. Without a bias, u and −u give the same class scores: chance is all there is.")


def _check_extras() -> None:
    """Say what is missing before minutes of training, not after."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        extra = "bench" if any(NEEDED[name] == "bench" for name in missing) else "train"
        raise ValueError(f"the demo needs {', '.join(missing)}: pip install 'torchcaps[{extra}]'")
