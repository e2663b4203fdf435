"""Signs that a network hides its gradients: it then looks robust to attacks that follow them, and is not."""

import math
from collections.abc import Mapping
from itertools import combinations

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from torchcaps.attacks._art import find_loss
from torchcaps.attacks._base import frozen, single
from torchcaps.data import Dataset
from torchcaps.infer import ready
from torchcaps.losses import multi_hot
from torchcaps.network import Model

FOLLOW = ("fgsm", "pgd", "autoattack")  # attacks that follow gradients, those that look longer later
DO_NOT = ("noise", "transfer", "universal")  # those that know no gradient of the network at the image
NONE_AT_ALL = 0.05  # share of images without gradient from which on it is worth a word
POINT = 0.01


class MaskedGradientsWarning(UserWarning):
    """Gradients look masked: an attack that follows them says little about robustness."""


def without_gradient(
    model: Model, data: Dataset, loss: str | nn.Module = "ce", *, batch_size: int = 128
) -> Bool[Tensor, " images"]:
    """For which images the loss has no gradient at all, not for a single pixel.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> bool(without_gradient(create_model("chen2019/lenet"), load("glyphs", "test", count=20)).any())
    False

    Args:
        loss: as in `FGSM`.
    """
    judge = find_loss(model, loss)
    found = list[Tensor]()
    for images, labels, _ in data.batches(batch_size):
        with frozen(model):
            shown = ready(model, images).detach().requires_grad_()
            scores = model(shown).scores
            targets = multi_hot(single(labels), scores.shape[-1]).to(scores)
            (gradient,) = torch.autograd.grad(judge(scores, targets), shown)
        found.append((gradient == 0).flatten(1).all(-1).cpu())
    return torch.cat(found)


def clearly_more(a: Bool[Tensor, " images"], b: Bool[Tensor, " images"]) -> bool:
    """Whether more images are right in a than in b: by more than a point, and than chance leads one to expect.

    >>> [clearly_more(torch.ones(n).bool(), torch.zeros(n).bool()) for n in (3, 100)]
    [False, True]
    """
    lead = int(a.sum() - b.sum())
    return lead > max(POINT * len(a), 2 * math.sqrt(int((a ^ b).sum())))


def signs(
    right: Mapping[str, Mapping[float, Bool[Tensor, " images"]]],
    known: Bool[Tensor, " images"],
    flat: Bool[Tensor, " images"],
) -> tuple[str, ...]:
    """What speaks for masked gradients, in sentences; nothing where nothing does.

    Args:
        right: by attack and eps, which images are still right.
        known: which are right without attack.
        flat: which have no gradient.
    """
    said = list[str]()
    none = int((flat & known).sum()) / max(1, int(known.sum()))
    if none > NONE_AT_ALL:
        said.append(f"{none:.0%} of the images that the network gets right have no gradient at all under this loss")
    for eps in sorted({eps for by_eps in right.values() for eps in by_eps}):
        at = {name: by_eps[eps] for name, by_eps in right.items() if eps in by_eps}
        follow = [name for name in FOLLOW if name in at]
        best = min(follow, key=lambda name: int(at[name].sum()), default="")
        longer = [(less, more, "with more steps") for less, more in combinations(follow, 2)]
        blind = [(less, best, "which follows gradients") for less in DO_NOT if best and less in at]
        for less, more, why in [*longer, *blind]:
            if clearly_more(at[more], at[less]):
                shares = [at[name].double().mean().item() for name in (less, more)]
                said.append(f"at eps={eps:g} {less} leaves {shares[0]:.1%} right, and {more}, {why}, {shares[1]:.1%}")
    return tuple(said)
