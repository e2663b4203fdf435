"""The command `torchcaps`; one command a file, heavy imports inside the commands so that --help answers at once."""

import sys
import warnings
from typing import Annotated

try:
    import typer
except ModuleNotFoundError:
    sys.exit("The torchcaps command needs the extra 'train': pip install 'torchcaps[train]'")

from torchcaps.cli import (
    attack,
    bench,
    compare,
    data,
    demo,
    doctor,
    evaluate,
    export,
    inspect,
    models,
    predict,
    report,
    train,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Capsule networks: train them, judge them, look inside.",
)
app.command()(attack.attack)
app.command()(compare.compare)
app.command()(demo.demo)
app.command()(doctor.doctor)
app.command()(evaluate.evaluate)
app.command()(inspect.inspect)
app.command()(models.models)
app.command()(predict.predict)
app.command()(report.report)
app.command()(train.train)
app.command()(export.export)
app.add_typer(bench.app, name="bench")
app.add_typer(data.app, name="data")


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """What holds for every command."""


def main() -> None:
    """Run a command; what the user can mend is said in a line, without a traceback, and so is a warning."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]
            app()
    except (ValueError, OSError, FloatingPointError) as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"torchcaps: {error}", err=True)
        sys.exit(1)


def _warn(message: Warning | str, category: type[Warning], *_: object) -> None:
    """Our own warnings as a line; others with what they are called, for they speak to programmers."""
    name = "" if category is UserWarning else f"{category.__name__}: "
    typer.echo(f"torchcaps: {name}{message}", err=True)
