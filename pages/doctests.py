"""An extension of griffe, which reads the docstrings for the reference: sessions in them become blocks of code."""

import re
from typing import Any

import griffe

SESSION = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)


def fenced(docstring: str) -> str:
    """A docstring whose `>>>` sessions, up to a blank line each, stand in fences.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nMore."))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    More.
    """
    return SESSION.sub(lambda found: "{1}```pycon\n{0}\n{1}```".format(found.group(), found["indent"]), docstring)


class Doctests(griffe.Extension):
    """Fences the sessions of everything that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """A module, class, function or attribute with its docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
