"""How often a network is right on images that the generators of an AC-GAN draw, epoch by epoch."""

from torchcaps.attacks import drawn_by, train_acgan
from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject, few
from torchcaps.data import load
from torchcaps.measures import Accuracy, walk


def drawn(
    subject: Subject, *, data: str = "mnist", images: int = 0, epochs: int = 5, width: float = 1.0, per_class: int = 400
) -> Found:
    """Error on each epoch's images; rows of one seed share the generators, since these depend on the seed alone.

    Args:
        images: how many of the training images the generators learn from; 0 for all.
        width: factor of the generators' maps.
    """
    generators = train_acgan(few(load(data, "train"), images), epochs=epochs, width=width, seed=subject.seed)
    numbers = {}
    for epoch, generator in enumerate(generators, 1):
        measure = Accuracy()
        walk(subject.own.model, drawn_by(generator, per_class=per_class, seed=subject.seed), [measure])
        wrong = ~measure.result().right.numpy()
        numbers[f"error/{epoch}"] = Number.share(wrong, 0)
    return Found(numbers)
