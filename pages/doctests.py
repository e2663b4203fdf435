"""An extension of griffe, which reads the docstrings for the reference: sessions become code, arguments rows."""

import re
from typing import Any

import griffe

SESSION = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)
ARGUMENTS = re.compile(r"^(?P<indent> *)(?:Args|Attributes):\n(?:(?P=indent) +.*\n?)+", re.MULTILINE)
TOGETHER = re.compile(r"^(?P<indent> +)(?P<names>\w+(?:, \w+)+)(?P<told>: .*(?:\n(?P=indent) +.*)*)", re.MULTILINE)


def fenced(docstring: str) -> str:
    """A docstring whose `>>>` sessions, up to a blank line each, stand in fences.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nMore.")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nMore.'
    """
    return SESSION.sub(lambda found: "{1}```pycon\n{0}\n{1}```".format(found.group(), found["indent"]), docstring)


def apart(docstring: str) -> str:
    """A docstring in which arguments that are explained together have a line each, and so a default each.

    >>> print(apart("Args:\\n    a, b: of the sum.\\n    c: another."))
    Args:
        a: of the sum.
        b: of the sum.
        c: another.
    """
    return ARGUMENTS.sub(lambda section: TOGETHER.sub(_each, section.group()), docstring)


def _each(found: re.Match[str]) -> str:
    return "\n".join(f"{found['indent']}{name}{found['told']}" for name in found["names"].split(", "))


class Doctests(griffe.Extension):
    """Fences the sessions of everything that is read, and sets arguments apart."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """A module, class, function or attribute with its docstring."""
        if obj.docstring is not None:
            obj.docstring.value = apart(fenced(obj.docstring.value))
