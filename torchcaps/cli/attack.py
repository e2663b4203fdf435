"""`torchcaps attack`: what is left of a trained network's accuracy when somebody wants it to be wrong."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from torchcaps._atomic import write_text
from torchcaps._telling import working
from torchcaps.cli._names import ATTACKS, Norm, check_run, parts
from torchcaps.cli._say import say

if TYPE_CHECKING:
    from torchcaps.attacks import Attack, Robustness
    from torchcaps.network import Model
    from torchcaps.train import Run

KEPT = "attacks"
LENET = "chen2019/lenet"


def attack(
    run: Annotated[Path, typer.Argument(help="The directory of a training.")],
    method: Annotated[
        str, typer.Option(help="Attacks, with commas: fgsm, pgd, autoattack, universal, transfer.")
    ] = "pgd",
    eps: Annotated[
        str, typer.Option(help="How far a perturbation may go, with commas, in the units of images from 0 to 1.")
    ] = "0.1,0.3",
    norm: Annotated[
        Norm, typer.Option(help="How far is measured: by the pixel that changes most, or by all.")
    ] = "linf",
    images: Annotated[int, typer.Option(min=1, metavar="N", help="Test images to attack.")] = 1000,
    loss: Annotated[
        str, typer.Option(help="What gradients are taken of: own (what the network was trained with), ce, margin …")
    ] = "ce",
    clip: Annotated[bool, typer.Option(help="Keep attacked images within 0 to 1.")] = True,
    substitute: Annotated[
        Path | None, typer.Option(metavar="RUN", help="For transfer: the attacker's network; a LeNet if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Attack a trained network through test images it has never seen; what was found is kept with the run.

    Noise as large and FGSM run beside every attack as controls: where they do better, gradients look masked.
    """
    names = parts(method, "attack", ATTACKS)
    far = _numbers(eps)
    check_run(run)
    with working("loading torch"):
        from torchcaps.train import load_run

        trained = load_run(run)
        bounds = {"norm": norm, "clip": clip, "seed": seed}
        try:
            attacks = [made for name in names for made in _attacks(name, far, bounds, loss, trained, substitute)]
            found = _judge(trained, attacks, images)
        except ModuleNotFoundError as missing:  # its words name the extra
            raise ValueError(str(missing)) from missing
    kept = run / KEPT / f"{'+'.join(names)}-{norm}{'' if clip else '-unclipped'}.json"
    try:
        write_text(kept, json.dumps(found.to_json()) + "\n")
    finally:  # what was found is shown even if it cannot be kept
        say(json.dumps(found.to_json(), indent=2) if as_json else str(found))


def _numbers(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found:
        raise ValueError(f"--eps {text} is not allowed: give numbers with commas between, such as 0.1,0.3")
    return found


def _attacks(
    name: str, far: list[float], bounds: dict[str, Any], loss: str, trained: "Run", substitute: Path | None
) -> "list[Attack]":
    """One attack for each eps, with what else it needs."""
    from torchcaps.attacks import make_attack
    from torchcaps.train.splits import load_part

    options = dict(bounds)
    if name in ("fgsm", "pgd", "universal"):
        options["loss"] = loss
    if name == "universal":
        options["learn_on"] = load_part(trained.settings, "train")
    if name == "transfer":
        options["substitute"] = _substitute(trained, substitute)
    return [make_attack(name, e, **options) for e in far]


def _substitute(trained: "Run", path: Path | None) -> "Model":
    """The network that the attacker has: one from a training, or the shipped LeNet for those who read its digits."""
    from torchcaps.data.mnist import DIGITS
    from torchcaps.models import create_model
    from torchcaps.train import load_run

    if path is not None:
        other = load_run(path)
        if (other.classes, other.image_shape) != (trained.classes, trained.image_shape):
            raise ValueError(f"{path} is no substitute: it tells other classes, or takes images of another shape")
        return other.model
    if trained.image_shape != (1, 28, 28) or trained.classes != DIGITS:
        raise ValueError(
            "the shipped LeNet reads digits of 1×28×28 only: train a substitute on the same data and give it with "
            "--substitute RUN"
        )
    return create_model(LENET, pretrained=True)


def _judge(trained: "Run", attacks: "list[Attack]", images: int) -> "Robustness":
    """Accuracy under all attacks; the table says what looks masked."""
    import warnings

    from torchcaps.attacks import Chosen, MaskedGradientsWarning, robustness

    with working("reading the test images") as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskedGradientsWarning)
        return robustness(trained.model, Chosen(trained.test_data(), images), attacks, progress=tell)
