"""A picture near a given one that a network may get wrong."""

from typing import Any

from torchcaps.attacks import make_attack
from torchcaps.explorer.gallery import Exhibit
from torchcaps.explorer.look import seen
from torchcaps.explorer.question import Attacked, encoded
from torchcaps.infer import infer

OPTIONS: dict[str, dict[str, Any]] = {"fgsm": {}, "pgd": {"steps": 20}}


def attacked(exhibit: Exhibit, question: Attacked) -> dict[str, Any]:
    """The picture after an attack that knows the network's own answer and moves away from it."""
    image = seen(exhibit, question, [question.changes])
    named = infer(exhibit.model, image).scores.argmax(-1).cpu()
    attack = make_attack(question.method, question.eps, **OPTIONS[question.method])
    found = attack(exhibit.model, image, named)
    after = infer(exhibit.model, found).scores.argmax(-1)
    return {
        "image": encoded(found[0]),
        "shape": list(exhibit.image_shape),
        "before": exhibit.classes[int(named)],
        "after": exhibit.classes[int(after)],
    }
