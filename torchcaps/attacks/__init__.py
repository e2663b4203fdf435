"""Attacks: images near the given ones that a network gets wrong, and what is left of its accuracy on them.

FGSM, PGD and AutoAttack are those of the Adversarial Robustness Toolbox (extra `attacks`), which is imported when one
of them is called; noise, the universal perturbation and the AC-GAN are written here. An eps is always in the units of
the image, whose numbers run from 0 to 1.
"""

from torchcaps.attacks._base import NORMS, Attack, Norm
from torchcaps.attacks._methods import METHODS, make_attack
from torchcaps.attacks.acgan import Discriminator, Generator, load_generators, save_generators
from torchcaps.attacks.acgan_images import drawn_by, sheet
from torchcaps.attacks.acgan_training import train_acgan
from torchcaps.attacks.attacked import Attacked, attacked
from torchcaps.attacks.autoattack import AutoAttack
from torchcaps.attacks.chosen import Chosen
from torchcaps.attacks.decline import decline
from torchcaps.attacks.fgsm import FGSM
from torchcaps.attacks.masking import MaskedGradientsWarning, without_gradient
from torchcaps.attacks.noise import Noise
from torchcaps.attacks.pgd import PGD
from torchcaps.attacks.robustness import Point, Robustness, robustness
from torchcaps.attacks.transfer import Transfer
from torchcaps.attacks.universal import Fixed, PerturbationGenerator, Universal

__all__ = [
    "FGSM",
    "METHODS",
    "NORMS",
    "PGD",
    "Attack",
    "Attacked",
    "AutoAttack",
    "Chosen",
    "Discriminator",
    "Fixed",
    "Generator",
    "MaskedGradientsWarning",
    "Noise",
    "Norm",
    "PerturbationGenerator",
    "Point",
    "Robustness",
    "Transfer",
    "Universal",
    "attacked",
    "decline",
    "drawn_by",
    "load_generators",
    "make_attack",
    "robustness",
    "save_generators",
    "sheet",
    "train_acgan",
    "without_gradient",
]
