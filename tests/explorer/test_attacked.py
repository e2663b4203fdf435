"""The picture after an attack is the one that the attack itself finds."""

import pytest
import torch

from tests.explain.networks import IMAGE
from torchcaps.attacks import make_attack
from torchcaps.explorer.attacked import attacked
from torchcaps.explorer.question import Attacked, decoded
from torchcaps.infer import infer

from .ask import picture
from .small import plain, seen


@pytest.mark.parametrize(("method", "options"), [("fgsm", {}), ("pgd", {"steps": 20})])
def test_an_attack_is_the_one_that_was_asked_for(method, options):
    exhibit = plain()
    exhibit.samples.images[0] = 128  # so that every pixel can move both ways
    answer = attacked(exhibit, Attacked(**picture(exhibit), method=method, eps=0.3))
    image = seen(exhibit)
    before = infer(exhibit.model, image).scores.argmax(-1)
    found = decoded(answer["image"], IMAGE)
    wanted = make_attack(method, 0.3, **options)(exhibit.model, image, before)
    torch.testing.assert_close(found, wanted[0], atol=0.6 / 255, rtol=0)
    assert 0.2 < (found - image[0]).abs().max() <= 0.3 + 0.6 / 255
    assert (answer["before"], answer["shape"]) == (exhibit.classes[before], list(IMAGE))
    assert answer["after"] == exhibit.classes[infer(exhibit.model, found[None]).scores.argmax(-1)]
    assert answer["after"] != answer["before"]
