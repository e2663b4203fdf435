"""The console of `rich` that everything here prints to: text of others cannot command the terminal through it."""

from collections.abc import Iterable

from rich import console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from torchcaps._shown import shown


class Console(console.Console):
    r"""A console whose text is `shown`; colours, bars and tables, which rich adds, stay.

    >>> Console(color_system=None).print("\x1b[31mcat", markup=False)
    \u001b[31mcat
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Pieces of text and their styles, which rich turns into what the terminal gets."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else shown(text), style, control)
