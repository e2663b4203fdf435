"""The page about the command line, from what --help says."""

import re

import typer
import typer.cli

from torchcaps.cli import app

NAME = "command-line.md"
INTRODUCTION = """\
Written by `make pages` from what `--help` says. `torchcaps COMMAND --help` shows the same in a terminal.

Errors that you can mend are said in a line, with exit code 1; `--debug` before the command shows where they arose.
"""


def render() -> str:
    """All commands with their arguments and options."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="torchcaps")
    text = typer.cli.get_docs_for_click(obj=command, ctx=context, name="torchcaps", title="Command line")
    text = text.replace("```console\n$ ", "```text\n")
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+\n", "", text)
    return re.sub(r"\n\n.*?(?=\n## )", f"\n\n{INTRODUCTION}", text, count=1, flags=re.DOTALL).rstrip() + "\n"
