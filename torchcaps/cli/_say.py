"""What every command says on stdout and stderr goes through here."""

import typer

from torchcaps._shown import shown


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text, with what would command a terminal escaped.

    Args:
        err: on stderr.
        nl: whether to end the line.
    """
    typer.echo(shown(text), err=err, nl=nl)
