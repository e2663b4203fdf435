"""A page beside the one that its own data make: every word and number of it, and its pictures.

The text must be the same to the letter. Pictures are compared mark by mark where the same version of Matplotlib drew
them; other versions choose other ticks and places, so that their pictures cannot be compared.
"""

import base64
import math
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from torchcaps.bench.summary import short

_PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]*)")
_VERSION = re.compile(r"<dc:title>Matplotlib v([^,<]+)")
_NAME = re.compile(r"\b[a-z][0-9a-f]{10}\b")  # made of a mark's numbers to the last digit
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
NEAR = 0.01
"""Points by which a mark may lie elsewhere: processors do not add apart."""
MOST = 20
"""Differing places of the text that are told."""


def page_differences(page: str, again: str) -> list[str]:
    """A line for every place at which a page differs from the same page rendered again.

    >>> page_differences("<p>refuted</p>", "<p>reproduced</p>")
    ["line 1: shown 'futed</p>', rendered again 'produced</p>'"]
    """
    before, now = (_PICTURE.sub("picture", text).splitlines() for text in (page, again))
    changes = SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    found = [f"line {a + 1}: {_apart(before[a:b], now[c:d])}" for kind, a, b, c, d in changes if kind != "equal"]
    if found:
        return [*found[:MOST], *([f"{len(found) - MOST} more places"] if len(found) > MOST else [])]
    pairs = zip(_PICTURE.findall(page), _PICTURE.findall(again), strict=True)
    return [
        f"picture {k} of the page is not what the results draw" for k, two in enumerate(pairs, 1) if not _same(*two)
    ]


def drawn_elsewhere(page: Path) -> int:
    """How many pictures of a page another version of Matplotlib drew."""
    import matplotlib as mpl

    codes = _PICTURE.findall(page.read_text(encoding="utf-8")) if page.is_file() else []
    return sum(_version(_svg(code)) != mpl.__version__ for code in codes)


def _apart(shown: Sequence[str], again: Sequence[str]) -> str:
    """Two passages from where they begin to differ."""
    before, now = "\n".join(shown), "\n".join(again)
    apart = (k for k, (a, b) in enumerate(zip(before, now, strict=False)) if a != b)
    begin = next(apart, min(len(before), len(now)))
    return f"shown {short(before[begin:])}, rendered again {short(now[begin:])}"


def _same(shown: str, again: str) -> bool:
    before, now = _svg(shown), _svg(again)
    if _version(before) not in ("", _version(now)):
        return True
    marks, drawn = (_NUMBER.split(_NAME.sub("name", svg)) for svg in (before, now))
    return len(marks) == len(drawn) and all(a == b or _near(a, b) for a, b in zip(marks, drawn, strict=True))


def _near(one: str, other: str) -> bool:
    both = _NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)
    return bool(both) and math.isclose(float(one), float(other), abs_tol=NEAR)


def _svg(code: str) -> str:
    try:
        return base64.b64decode(code, validate=True).decode()
    except ValueError:
        return ""


def _version(svg: str) -> str:
    found = _VERSION.search(svg)
    return found[1] if found else ""
