"""`torchcaps report`: one page about one or several trainings."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torchcaps._telling import working
from torchcaps.cli._names import check_run
from torchcaps.cli._say import say
from torchcaps.cli.inspect import as_tables

if TYPE_CHECKING:
    from torchcaps.report import Measured


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="The directories of trainings.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("report.html"),
    images: Annotated[
        int, typer.Option(min=1, metavar="N", help="Test images, for what `torchcaps inspect` has not measured yet.")
    ] = 500,
) -> None:
    """Write one page: scores, curves, health and trees of capsules, robustness, samples and drawings.

    It needs nothing but itself. What is kept with the runs is taken, the rest is measured and kept.
    """
    missing = [name for name in ("jinja2", "PIL") if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"a report needs {', '.join(missing)}: pip install 'torchcaps[bench]'")
    for run in runs:
        check_run(run)
    _check_out(out)
    with working("loading torch") as tell:
        from torchcaps.report import report_on
        from torchcaps.train import load_run

        page = report_on(
            {name: load_run(run) for name, run in named(runs).items()},
            out,
            images=images,
            progress=lambda name, walk, done, total: tell(f"{name}: {walk}", done, total),
            instead=_show,
        )
    say(f"The page is {page}")


def _show(found: "Measured") -> None:
    """What was measured, where the page cannot be written."""
    for name, results in found.items():
        say(f"{name}\n{'═' * len(name)}\n{as_tables(results)}", nl=False)


def _check_out(out: Path) -> None:
    """A page is a new file, or takes the place of an older page: of nothing else."""
    if out.suffix not in (".html", ".htm") or (out.exists() and not out.is_file()):
        raise ValueError(f"{out} is not allowed for a page: name a file that ends in .html")
    for folder in out.parents:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{out} is not allowed for a page: {folder} is a file")


def named(runs: list[Path]) -> dict[str, Path]:
    """Runs by the last part of their paths, or by the whole where that is not enough to tell them apart.

    >>> list(named([Path("a/run"), Path("b/run"), Path("c/other")]))
    ['a/run', 'b/run', 'other']
    """
    unique = list(dict.fromkeys(runs))
    short = [run.resolve().name for run in unique]
    return {name if short.count(name) == 1 else str(run): run for name, run in zip(short, unique, strict=True)}
