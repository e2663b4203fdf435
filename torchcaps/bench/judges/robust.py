"""What attacks leave of a network: through a substitute, and by a universal perturbation."""

from collections.abc import Sequence

from torchcaps.attacks import Transfer, Universal, attacked, decline
from torchcaps.attacks.robustness import judge
from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject, images


def transferred(
    subject: Subject, *, count: int = 0, eps: Sequence[float] = (), unclipped: Sequence[float] = ()
) -> Found:
    """Accuracy on the substitute's adversarial images, and what is answered to them.

    Args:
        count: test images; 0 for all.
        eps, unclipped: in the units of the image, with and without clipping to its range.
    """
    own, [substitute] = subject.own, subject.others
    data = images(own.settings, count)
    numbers, details = {}, {}
    for strength, clip in [*((e, True) for e in eps), *((e, False) for e in unclipped)]:
        name = f"{'clipped' if clip else 'unclipped'}/{strength:.4g}"
        attack = Transfer(strength, clip=clip, substitute=substitute.model)
        found = judge(own.model, attacked(attack)(own.model, data), name)
        numbers[name] = Number.share(found.right.numpy(), len(found.classes))
        details[f"answers/{name}"] = [sum(column) for column in zip(*found.confusion, strict=True)]
    return Found(numbers, details)


def universal(
    subject: Subject, *, count: int = 0, eps: Sequence[float] = (0.3,), iterations: int = 100, every: int = 10
) -> Found:
    """Accuracy after the last iteration, and under noise of equal norm, for each bound; the curves for a picture."""
    own = subject.own
    data = images(own.settings, count)
    numbers, curves = {}, {}
    for strength in eps:
        found = decline(own.model, data, Universal(strength, iterations=iterations, seed=subject.seed), every=every)
        for name, points in found.curves.items():
            last = points[-1].found
            numbers[f"{name}/{strength:g}"] = Number.share(last.right.numpy(), len(last.classes))
            curves[f"{name}/{strength:g}"] = [[p.at, p.found.score.value] for p in points]
    return Found(numbers, {"curves": curves})
