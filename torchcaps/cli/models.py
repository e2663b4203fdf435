"""`torchcaps models`: what can be built, what it costs, and what it is good for."""

import fnmatch
import json
import shutil
import sys
from typing import Annotated, Any

import typer

from torchcaps._telling import working
from torchcaps.cli._names import MODELS
from torchcaps.cli._say import say

HEAD = ("model", "parameters", "multiply-adds", "speed", "input", "routing", "good for")
FIGURES = ("parameters", "multiply-adds")
PHOTOGRAPHS = (
    "For photographs: any of them with --backbone efficientnet_lite0; held against it, baselines/linear_head with the "
    "same. Without a backbone: baselines/small_cnn"
)
EXTRAS = ("routing", "input", "multiply-adds")  # what a narrow terminal goes without, first to last


def models(
    pattern: Annotated[str, typer.Argument(help="Only names that match, such as 'tsai2020/*'.")] = "*",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the models of the papers, one a line: what they cost for one image, and what they are good for.

    The speed goes by the multiply-adds; torchcaps train MODEL --dry-run times it on this machine.
    """
    names = [name for name in MODELS if fnmatch.fnmatch(name, pattern)]
    if not names:
        raise ValueError(f"no model matches {pattern!r}: 'torchcaps models' lists them all")
    with working("loading torch"):
        from torchcaps.models import model_info

        infos = [model_info(name) for name in names]
    if as_json:
        say(json.dumps(infos, indent=2))
        return
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in table([_row(info) for info in infos], room):
        say(line)
    say(PHOTOGRAPHS, err=True)  # beside the table, which others search


def table(rows: list[dict[str, str]], room: int | None) -> list[str]:
    """A head, and a line for each row. Where there is little room columns are left out, but no number is cut.

    >>> table([{name: name for name in HEAD}], 40)[1]
    'model  parameters  speed  good for'
    """
    rows = [dict(zip(HEAD, HEAD, strict=True)), *rows]
    wide = {name: max(len(row[name]) for row in rows) for name in HEAD}
    for name in EXTRAS:
        if room is not None and sum(wide.values()) + 2 * (len(wide) - 1) > room:
            del wide[name]
    lines = ["  ".join(f"{row[k]:>{w}}" if k in FIGURES else f"{row[k]:<{w}}" for k, w in wide.items()) for row in rows]
    return [line.rstrip() if room is None or len(line) <= room else f"{line[: room - 1]}…" for line in lines]


def _row(info: dict[str, Any]) -> dict[str, str]:
    size = "×".join(map(str, info["image"]))
    costs = f"{info['parameters']:,}", f"{info['multiply_adds']:,}"
    cells = info["name"], *costs, info["speed"], size, info["routing"] or "–", info["good_for"]
    return dict(zip(HEAD, cells, strict=True))
