"""What projected gradient descent leaves of a network."""

from torchcaps.attacks import PGD, attacked
from torchcaps.attacks.robustness import judge
from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject, images


def descent(subject: Subject, *, count: int = 0, eps: float = 0.1, steps: int = 20) -> Found:
    """Accuracy on adversarial images within `eps`, in the units of the image, as "pgd"."""
    own = subject.own
    seen = attacked(PGD(eps, steps=steps, seed=subject.seed))(own.model, images(own.settings, count))
    found = judge(own.model, seen, "pgd")
    return Found({"pgd": Number.share(found.right.numpy(), len(found.classes))})
