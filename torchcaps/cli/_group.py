"""How every command meets people: `--batch_size` is `--batch-size`, and a flag is shown without a type."""

from typing import Any

from typer.core import TyperGroup

BOTH_SPELLINGS = {"token_normalize_func": lambda token: token.replace("_", "-")}


class Group(TyperGroup):
    """The commands, whose flags take no value and are not said to."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _untyped(command, ctx)
        return command

    def get_params(self, ctx: Any) -> Any:
        """The options of the program itself."""
        return _flags(super().get_params(ctx))


def _untyped(command: Any, ctx: Any) -> None:
    _flags(command.get_params(ctx))
    for below in getattr(command, "commands", {}).values():
        _untyped(below, ctx)


def _flags(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params
