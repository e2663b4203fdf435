"""From what a user asks for to a contest: the images are looked at once, and all networks are made for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchcaps.bench.compare.contest import Contest, check_tests
from torchcaps.bench.compare.entrants import MODELS, ROUTED, choose
from torchcaps.data import list_datasets
from torchcaps.models import card
from torchcaps.train import Settings
from torchcaps.train.splits import load_part

STEPS, SIDE, CONV_WIDTH = 400, 32, 0.25
COMMON: dict[str, Any] = {"batch_size": 64, "lr": 1e-3, "validation": 0.1}
"""Of all trainings; no routing has a rate of its own, and validation images are those that no network learns from."""


def arrange(
    data: str,
    *,
    models: Sequence[str] = MODELS,
    routings: Sequence[str] = ROUTED,
    tests: Sequence[str] = ("clean", "affine"),
    seeds: int = 3,
    epochs: int | None = None,
    steps: int | None = None,
    conv_width: float = CONV_WIDTH,
    image_size: int | None = None,
) -> Contest:
    """A contest on a data set, or on a user's own images, whose contents decide which are to test by.

    Args:
        data: a name of `list_datasets`, a folder with a sub-folder a class, or an .npz file.
        models, routings: every capsule model is trained with every routing.
        tests: names of `contest.TESTS`; the answer is by the first.
        epochs, steps: how long all learn, one or the other; 400 steps if neither is given.
        conv_width: of convolutions, as a share of the papers'.
        image_size: of the squares that pictures become; 32 for a folder if not given.
    """
    if epochs is not None and steps is not None:
        raise ValueError(f"epochs={epochs} and steps={steps} exclude each other: give one")
    for model in models:
        card(model)  # an unknown one is an error that names those that are near
    shown = check_tests(list(tests))
    own = data not in list_datasets()
    size = {"image_size": image_size or SIDE} if own and Path(data).is_dir() else {}
    size = {"image_size": image_size} if image_size is not None else size
    long: dict[str, Any] = {"steps": steps or STEPS} if epochs is None else {"epochs": epochs}
    settings = {**COMMON, **size, **long, "data": str(Path(data).resolve()) if own else data}
    seen = load_part(Settings.from_json({**settings, "model": models[0], "data": data}), "test")
    if "overlap" in shown and len(seen.classes) < 3:
        raise ValueError(f"test 'overlap' is not allowed: it needs 3 classes, and {data} has {len(seen.classes)}")
    entrants = choose(models, routings, seen.image_shape, len(seen.classes), conv_width)
    return Contest(Path(data).name or data, entrants, settings, shown, seeds)
