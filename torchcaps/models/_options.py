"""Options of a model: known, each of its kind, and no larger than a machine can hold."""

import difflib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from torchcaps.windows import pair

SHARED = {"standardise": False, "loss": "the model's own"}
"""What every model takes besides the options of its builder, with the defaults."""
MOST, MOST_LAYERS, MOST_PIXELS = 10**6, 1000, 4096
"""The largest number of anything, of layers, and of pixels along a side."""
USUAL, USUALLY_WIDE = 1024, 4  # up to here nobody needs to count parameters beforehand

_POSITIVE = ("width", "conv_width", "init_std")
_BOUNDS = {"layers": MOST_LAYERS, "depth": MOST_LAYERS, "iters": MOST_LAYERS}


def options_of(build: Callable[..., Any]) -> dict[str, Any]:
    """The options that a model takes, with their defaults.

    >>> from torchcaps.models import card
    >>> options_of(card("peer2021/sign").build)["num_classes"]
    2
    """
    own = {name: option.default for name, option in inspect.signature(build).parameters.items()}
    return {**own, **{name: value for name, value in SHARED.items() if name not in own}}


def check_options(model: str, build: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse an option that a model has not, or a value that makes no sense, with a sentence that says what does."""
    allowed, kinds = options_of(build), inspect.signature(build).parameters
    for name, value in options.items():
        if name not in allowed:
            near = difflib.get_close_matches(name, allowed, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"{model} has no option {name!r}: {hint}it takes {', '.join(allowed)}")
        rule = broken(name, value, kinds[name].annotation if name in kinds else bool)
        if rule:
            raise ValueError(f"{name}={short(value)} is not allowed: {rule}")


def is_large(options: Mapping[str, Any]) -> bool:
    """Whether options are such that a network of them may not fit into memory.

    >>> is_large({"num_classes": 10, "width": 0.5}), is_large({"num_classes": 100_000})
    (False, True)
    """
    wide = any(options.get(name, 1) > USUALLY_WIDE for name in ("width", "conv_width"))
    values = [v for value in options.values() for v in (value if isinstance(value, list | tuple) else [value])]
    return wide or any(isinstance(v, int) and v > USUAL for v in values)


def broken(name: str, value: Any, kind: Any) -> str:
    """The rule that a value of an option breaks; '' if none.

    >>> broken("iters", 2.5, int)
    'a whole number from 1 to 1,000 is needed'
    """
    if name == "loss":
        named = isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("name"), str))
        return "" if named else "a name, or a dictionary with one, is needed"
    if name == "image_size":
        sides = pair(tuple(value) if isinstance(value, list) else value, name)
        return "" if min(sides) >= 1 and max(sides) <= MOST_PIXELS else f"from 1 to {MOST_PIXELS} pixels are possible"
    if name == "routing_options":
        return "" if value is None or isinstance(value, Mapping) else "a dictionary of the routing's options is needed"
    kinds = get_args(kind) if NoneType in get_args(kind) else (kind,)
    if value is None and NoneType in kinds:
        return ""
    return _broken_by(name, value, kinds[0])


def _broken_by(name: str, value: Any, kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "" if value in get_args(kind) else f"choose one of {', '.join(map(repr, get_args(kind)))}"
    if kind is bool:
        return "" if isinstance(value, bool) else "it must be True or False"
    if kind is int:
        most = _BOUNDS.get(name, MOST)
        return "" if _is_count(value, most) else f"a whole number from 1 to {most:,} is needed"
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if name in _POSITIVE:
            return "" if number and value > 0 else "it must be a positive number"
        return "" if number else "it must be a number"
    if get_origin(kind) is Sequence:
        several = isinstance(value, list | tuple) and value and all(_is_count(v, MOST) for v in value)
        return "" if several else f"whole numbers from 1 to {MOST:,} are needed, as in [328, 192]"
    return ""


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def short(value: Any) -> str:
    """A value as its owner wrote it, or the beginning of that."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
