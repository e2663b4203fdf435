"""Attacks by name."""

from typing import Any

from torchcaps.attacks._base import Attack
from torchcaps.attacks.autoattack import AutoAttack
from torchcaps.attacks.fgsm import FGSM
from torchcaps.attacks.noise import Noise
from torchcaps.attacks.pgd import PGD
from torchcaps.attacks.transfer import Transfer
from torchcaps.attacks.universal import Universal

METHODS: dict[str, type[Attack]] = {
    attack.name: attack for attack in (FGSM, PGD, AutoAttack, Transfer, Universal, Noise)
}


def make_attack(name: str, eps: float, **options: Any) -> Attack:
    """An attack by name.

    >>> make_attack("pgd", 0.1, steps=20)
    PGD(eps=0.1, norm='linf', clip=True, seed=0, loss='ce', steps=20, step=None)
    """
    if name not in METHODS:
        raise ValueError(f"there is no attack {name!r}: choose one of {', '.join(map(repr, METHODS))}")
    try:
        return METHODS[name](eps, **options)
    except TypeError as error:
        given = ", ".join(f"{key}={value!r}" for key, value in options.items())
        raise ValueError(f"the attack {name!r} cannot be made with {given or 'eps alone'}: {error}") from error
