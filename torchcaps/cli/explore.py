"""`torchcaps explore`: a page on this machine that looks inside trained networks."""

from typing import Annotated

import typer

from torchcaps.cli._say import say


def explore(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN | NAME]…", help="Folders of trainings, or names of weights that ship; those if none."
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8765,
    host: Annotated[str, typer.Option(help="Another address lets other machines in.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Draw, turn and attack images, and see how capsules understand them."""
    try:
        from torchcaps.explorer import serve
    except ModuleNotFoundError as missing:
        if missing.name and missing.name.startswith("torchcaps"):
            raise
        raise ValueError(f"the explorer needs {missing.name}: pip install 'torchcaps[explorer]'") from missing
    serve(runs or [], host=host, port=port, browser=browser, say=say)
