"""The command `torchcaps`; one command per file, heavy imports inside the commands so that --help answers at once."""

import sys
import warnings
from typing import Annotated

try:
    import typer
except ModuleNotFoundError:
    sys.exit("The torchcaps command needs the extra 'train': pip install 'torchcaps[train]'")

from torchcaps._version import __version__
from torchcaps.cli import (
    attack,
    bench,
    cache,
    compare,
    data,
    demo,
    doctor,
    evaluate,
    explore,
    export,
    inspect,
    models,
    predict,
    report,
    train,
)
from torchcaps.cli._group import BOTH_SPELLINGS, Group
from torchcaps.cli._say import say

app = typer.Typer(
    cls=Group,
    context_settings=BOTH_SPELLINGS,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Capsule networks: train them, judge them, look inside.",
)
app.command()(attack.attack)
app.command()(cache.cache)
app.command()(compare.compare)
app.command()(demo.demo)
app.command()(doctor.doctor)
app.command()(evaluate.evaluate)
app.command()(explore.explore)
app.command()(inspect.inspect)
app.command()(models.models)
app.command()(predict.predict)
app.command()(report.report)
app.command()(train.train)
app.command()(export.export)
app.add_typer(bench.app, name="bench")
app.add_typer(data.app, name="data")

OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "bad_alloc", "out of memory")


def _version(asked: bool) -> bool:  # noqa: FBT001  # as typer calls it
    if asked:
        say(f"torchcaps {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """What holds for every command."""


def main() -> None:
    """Run a command; what the user can mend is said in a line, without a traceback, and so is a warning."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]
            app()
    except (ValueError, OSError, FloatingPointError, MemoryError, RuntimeError) as error:
        said = _said(error)
        if "--debug" in sys.argv or not said:
            raise
        say(f"torchcaps: {said}", err=True)
        sys.exit(1)


def _said(error: Exception) -> str:
    """An error in a line; '' of one that is a fault of ours."""
    if isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY):
        reason = str(error).splitlines()[0] if str(error) else "nothing was left"
        return f"there is not enough memory ({reason}): a smaller batch, image size or width needs less"
    return "" if isinstance(error, RuntimeError) else str(error)


def _warn(message: Warning | str, category: type[Warning], *_: object) -> None:
    """Our own warnings as a line; others with what they are called, for they speak to programmers."""
    name = "" if category is UserWarning else f"{category.__name__}: "
    say(f"torchcaps: {name}{message}", err=True)
