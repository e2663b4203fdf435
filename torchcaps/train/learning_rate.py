"""How the learning rate changes while a training goes on: the papers' schedules, as factors of the first rate."""

import math
from collections.abc import Callable

Schedule = Callable[[float], float]
"""From the share of the training done, 0 to 1, to a factor of the learning rate."""


def constant(share: float) -> float:  # noqa: ARG001
    """The first rate throughout (peer2021)."""
    return 1.0


def exponential(share: float) -> float:
    """Down to a hundredth, evenly on a logarithmic scale, as Sabour et al. 2017 decay theirs.

    >>> exponential(0.5)
    0.1
    """
    return float(0.01**share)


def steps(share: float) -> float:
    """A tenth after three sevenths of the training, a hundredth after five (tsai2020: epochs 150 and 250 of 350).

    >>> steps(0.4), steps(0.5), round(steps(0.9), 3)
    (1.0, 0.1, 0.01)
    """
    return 1.0 if share < 3 / 7 else 0.1 if share < 5 / 7 else 0.01


def cosine(share: float) -> float:
    """Half a cosine down to nothing.

    >>> round(cosine(0.5), 3)
    0.5
    """
    return 0.5 * (1 + math.cos(math.pi * min(1.0, share)))


def one_cycle(share: float) -> float:
    """Up for a third of the training and down for the rest: the fastest of these where epochs are few.

    >>> round(one_cycle(0.3), 3)
    1.0
    """
    return 0.04 + 0.96 * share / 0.3 if share < 0.3 else cosine((share - 0.3) / 0.7)


SCHEDULES: dict[str, Schedule] = {
    "constant": constant,
    "exponential": exponential,
    "steps": steps,
    "cosine": cosine,
    "one_cycle": one_cycle,
}
