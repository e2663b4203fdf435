"""`torchcaps demo`: capsules against convolutions on digits, in minutes: one table and one page."""

import importlib.util
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from torchcaps._telling import Tell, working

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

    from torchcaps._console import Console
    from torchcaps.bench.compare.page import write
    from torchcaps.bench.compare.printed import printed
    from torchcaps.bench.demo.digits import QUICK, Plan, compete, source

    began, console = time.perf_counter(), Console()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    plan = replace(QUICK if quick else Plan(), seed=seed, source=source(say))
    plan = plan if epochs is None else replace(plan, epochs=epochs)
    say(plan.told)
    outcome = compete(plan, say)
    console.print(printed(outcome))
    written = write(out, outcome, title="Capsules and convolutions, side by side", lead=plan.told, command="make demo")
    say(
        f"{plan.told} Under each share its 95 % interval over test images. Dead are capsules that are never active, of "
        f"those with an activation; dynamics, from 0 to 1, is how much couplings change between images."
    )
    say(f"{time.perf_counter() - began:.0f} seconds in all. Curves, samples and what capsules draw: {written}")


def _sign(epochs: int, seed: int) -> None:
    """Four small networks, the paper's table beside."""
    with working("loading torch") as tell:
        import torch
        from rich.table import Table

        from torchcaps._console import Console
        from torchcaps.bench.demo.sign import TABLE_1, train_sign

        torch.set_num_threads(1)  # networks this small only wait for a second thread
        console = Console()
        console.print("Is a number positive? Capsule networks 1 → 20 → 2, with and without a bias (peer2021, table 1).")
        made = Table("routing", "bias", "paper, 50 epochs", f"here, {epochs} epochs")
        for row in TABLE_1:
            bias = "yes" if row.bias else "no"
            score = train_sign(row, epochs, seed, _counted(tell, f"{row.name}, bias: {bias}, epochs", epochs))
            made.add_row(row.name, bias, f"{row.paper:.2f} %", f"{100 * score.value:.2f} %")
    console.print(made)
    console.print("Training accuracy. Without a bias, u and −u give the same class scores: chance is all there is.")


def _counted(tell: Tell, text: str, total: int) -> Callable[[], None]:
    """What tells of one more each time it is called, and of none yet."""
    tell(text, 0, total)
    done = count(1)
    return lambda: tell(text, next(done), total)


def _check_extras() -> None:
    """Say what is missing before minutes of training, not after."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        extra = "bench" if any(NEEDED[name] == "bench" for name in missing) else "train"
        raise ValueError(f"the demo needs {', '.join(missing)}: pip install 'torchcaps[{extra}]'")
