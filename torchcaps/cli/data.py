"""`torchcaps data`: what there is, and getting it."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from torchcaps.cli._names import RECIPES as KNOWN
from torchcaps.cli._names import check_name
from torchcaps.cli._say import say

app = typer.Typer(no_args_is_help=True, help="Data sets: list them, get them.")


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what is cached, where the rest would come from, its size and licence."""
    from torchcaps.data import GENERATORS, RECIPES, cache_dir

    def row(name: str, *, here: bool, megabytes: int, licence: str, sources: list[str]) -> dict[str, Any]:
        return {"name": name, "cached": here, "megabytes": megabytes, "licence": licence, "sources": sources}

    rows = [
        row(
            name,
            here=all((cache_dir() / name / file).is_file() for file in recipe.files),
            megabytes=recipe.megabytes,
            licence=recipe.licence,
            sources=[source.label for source in recipe.sources],
        )
        for name, recipe in RECIPES.items()
    ]
    rows += [
        row(name, here=True, megabytes=0, licence="–", sources=["made on the spot"])
        for name in ("glyphs", "sign", *GENERATORS)
    ]
    rows.append(row("affnist", here=False, megabytes=0, licence="not stated", sources=["a directory of .mat files"]))
    if as_json:
        say(json.dumps(rows, indent=2))
        return
    from rich.table import Table

    from torchcaps._console import Console

    table = Table("data set", "here", "MB", "licence", "comes from", box=None, pad_edge=False)
    for entry in rows:
        here, size = "yes" if entry["cached"] else "no", str(entry["megabytes"] or "–")
        table.add_row(entry["name"], here, size, entry["licence"], "\n".join(entry["sources"]))
    console = Console()
    console.print(table)
    console.print(f"The cache is {cache_dir()}; TORCHCAPS_DATA names another.", soft_wrap=True)


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="mnist, fashion_mnist, cifar10 or cifar100.")],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A directory with its files, asked alone; of cifar100 also a tar archive, and train/CLASS/NAME.png.",
        ),
    ] = None,
) -> None:
    """Fetch a data set into the cache, checked, once even when several ask."""
    check_name("data set to get", name, KNOWN)
    from torchcaps._console import Console
    from torchcaps.data import RECIPES, obtain

    console = Console(stderr=True)
    with console.status(f"{name}, {RECIPES[name].megabytes} MB …") as status:

        def report(text: str) -> None:
            console.print(text, highlight=False, markup=False)
            status.update(text)

        recipe = RECIPES[name]
        files = obtain(recipe if source is None else recipe._replace(sources=()), source, report)
    say(f"{name}: {len(files)} files ready")
