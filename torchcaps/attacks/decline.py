"""Accuracy while a universal perturbation is learned (chen2019, supplement 6.2, figure 1)."""

from torchcaps.attacks._base import bound_in_words
from torchcaps.attacks.attacked import attacked
from torchcaps.attacks.robustness import Point, Robustness, Told, judge, untold
from torchcaps.attacks.universal import Universal
from torchcaps.data import Dataset
from torchcaps.network import Model


def decline(model: Model, data: Dataset, attack: Universal, *, every: int = 10, progress: Told = untold) -> Robustness:
    """Accuracy against iterations of the attack, beside noise of the same norm.

    The noise is the perturbation itself with its pixels in random places and random signs: it has the same norm,
    whichever norm is asked for, and knows nothing.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net, digits = create_model("chen2019/lenet", pretrained=True), load("glyphs", "test", count=40)
    >>> found = decline(net, digits, Universal(0.3, iterations=4, batch_size=20), every=2)
    >>> [point.at for point in found.curves["universal"]]
    [0.0, 2.0, 4.0]

    Args:
        data: the images it is judged by, and learns from unless the attack names others.
        every: how many iterations lie between two judgements.
        progress: told what is going on, how many iterations are done, of how many.
    """
    if every < 1:
        raise ValueError(f"every={every} is not allowed: at least one iteration lies between two judgements")
    clean = judge(model, data, "clean")
    points, control = list[Point](), list[Point]()
    for done, learned in enumerate(attack.perturbations(model, data)):
        if done % every == 0 or done == attack.iterations:
            points.append(Point(float(done), judge(model, attacked(learned)(model, data), "universal")))
            control.append(Point(float(done), judge(model, attacked(learned.shuffled())(model, data), "noise")))
        progress("universal", done, attack.iterations)
    curves = {"noise": tuple(control), "universal": tuple(points)}
    return Robustness("iteration", bound_in_words(attack, f"{attack.eps:g}"), clean, curves)
