"""`torchcaps models`: what can be built, and what it costs."""

import json
from typing import Annotated

import typer


def models(
    pattern: Annotated[str, typer.Argument(help="Only names that match, such as 'tsai2020/*'.")] = "*",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the models of the papers with parameters and multiply-adds for one image."""
    from torchcaps.models import list_models, model_info

    names = list_models(pattern)
    if not names:
        raise ValueError(f"no model matches {pattern!r}: 'torchcaps models' lists them all")
    infos = [model_info(name) for name in names]
    if as_json:
        typer.echo(json.dumps(infos, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("model", no_wrap=True, min_width=max(map(len, names)))
    for title in ("parameters", "multiply-adds", "input", "routing", "what it is"):
        table.add_column(title)
    for info in infos:
        size = "×".join(map(str, info["image"]))
        costs = (f"{info['parameters']:,}", f"{info['multiply_adds']:,}")
        table.add_row(info["name"], *costs, size, info["routing"] or "–", info["summary"])
    Console().print(table)
