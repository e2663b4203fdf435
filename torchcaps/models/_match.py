"""Networks of equal size, as the papers compare them: how large a model is, and how wide it must be to be so large."""

import inspect
from typing import Any

import torch

from torchcaps.models._registry import card, create_model


def count_parameters(name: str, **options: Any) -> int:
    """The parameters of a model with these options, found without memory for them.

    >>> count_parameters("sabour2017/capsnet", conv_width=0.125)
    1681264
    """
    with torch.device("meta"):
        return sum(p.numel() for p in create_model(name, **options).parameters())


def match_parameters(name: str, option: str, parameters: int, *, within: float = 0.02, **options: Any) -> Any:
    """The value of one option with which a model has as many parameters as another, within 2 %.

    The option's own value, a whole number or several, is scaled as a whole until the count fits. What comes back is
    plain, so that a recipe can hold it.

    >>> narrow = {"conv_width": 0.125, "image_size": 36}
    >>> wanted = count_parameters("gu2021/capsnet", **narrow)
    >>> units = match_parameters("gu2021/convnet_fc_lk", "units", wanted, **narrow)
    >>> wanted, units, count_parameters("gu2021/convnet_fc_lk", units=units, **narrow)
    (2533744, [855, 503], 2533471)

    Args:
        parameters: the number to reach.
        within: how far the count may be from it, as a share.
        options: the other options of the model. Where the model has no value of its own to scale, give one here.
    """
    known = inspect.signature(card(name).build).parameters
    first = options.pop(option, known[option].default if option in known else None)
    sizes = [first] if isinstance(first, int) else list(first or [])
    if not sizes or not all(isinstance(size, int) for size in sizes):
        raise ValueError(
            f"option={option!r} of {name} is not allowed: it must be a whole number or several, not {first!r}"
        )

    def at(scale: float) -> tuple[int, Any]:
        values = [max(1, round(size * scale)) for size in sizes]
        value = values[0] if isinstance(first, int) else values
        return count_parameters(name, **options, **{option: value}), value

    low, high = 2.0**-10, 2.0**10
    for _ in range(24):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if at(middle)[0] < parameters else (low, middle)
    count, value = min(at(low), at(high), key=lambda found: abs(found[0] - parameters))
    if abs(count - parameters) > within * parameters:
        raise ValueError(
            f"no {option} gives {name} {parameters:,} parameters within {within:.0%}: the nearest, {value}, gives "
            f"{count:,}"
        )
    return value
