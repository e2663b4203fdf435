"""`torchcaps cache`: features of pretrained backbones that are kept on disk."""

import json
from datetime import datetime
from typing import Annotated

import typer

from torchcaps._telling import working
from torchcaps.cli._say import say


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Let go of all that is kept.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what is kept of the features of frozen backbones, or let go of it; they are computed again when needed."""
    with working("loading torch"):
        from torchcaps.backbones import clear as let_go
        from torchcaps.backbones import shelves
        from torchcaps.backbones.cache import LIMIT_NAME, features_home, usual_limit
    if clear:
        free, busy = let_go()
        stays = f"; {busy} in use by another process stay" if busy else ""
        say(json.dumps({"bytes": free, "busy": busy}) if as_json else f"{free / 1e6:,.1f} MB are free{stays}")
        return
    found = shelves()
    if as_json:
        say(json.dumps([{**one, "folder": str(one["folder"])} for one in found], indent=2))
        return
    for one in found:
        size, used = "×".join(map(str, one["image"])), datetime.fromtimestamp(one["used"]).strftime("%Y-%m-%d %H:%M")
        say(f"{one['backbone']}  images {size}  {one['bytes'] / 1e6:,.1f} MB  last used {used}")
    total = sum(one["bytes"] for one in found)
    say(f"{total / 1e6:,.1f} MB of {usual_limit() / 1e6:,.0f} in {features_home()}; {LIMIT_NAME} sets the limit")
