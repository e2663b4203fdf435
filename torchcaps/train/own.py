"""A user's own images in a training: at what size, which are learned from, and what must be said before it begins."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from torchcaps.backbones import is_pretrained, usual_size
from torchcaps.data import NAMES, OwnImages, list_datasets, look_through
from torchcaps.data._before import honest
from torchcaps.data._random import permutation
from torchcaps.data.own import Report
from torchcaps.data.parts import Item, missing
from torchcaps.models import model_info
from torchcaps.train.settings import CUSTOM, Settings

Parts = dict[str, list[Item]]
BEFORE = (
    "{} was parted by the names of its files, and its pictures squashed, as the first version of torchcaps did it; "
    "this training keeps to that. Train anew to have parts that new images never move."
)
LEAKY = " Its test images are those it was trained on: their accuracy says nothing."


def is_own(settings: Settings) -> bool:
    """Whether the data of a training is a user's own, and parted by contents."""
    return settings.data not in (CUSTOM, *list_datasets()) and settings.data_options.get("rule") != NAMES


def trained_before(settings: Settings) -> str:
    """A sentence about a training whose images were parted by the first version's rule; '' of any other."""
    if settings.data_options.get("rule") != NAMES:
        return ""
    return BEFORE.format(settings.data) + ("" if honest(Path(settings.data)) else LEAKY)


def own_images(settings: Settings, report: Report = lambda _: None) -> OwnImages:
    """The images that the settings name, looked through."""
    options = dict(settings.data_options)
    if Path(settings.data).is_dir():
        channels = {"in_chans": settings.options["in_chans"]} if "in_chans" in settings.options else {}
        wanted = {"image_size": size_of(settings), "fit": settings.fit, **channels}
        options = {**wanted, **options, "report": report}
    return look_through(settings.data, **options)


def size_of(settings: Settings) -> int:
    """The side of the squares that pictures of any size become: as the settings say, or as the model's paper has it.

    >>> size_of(Settings("gu2021/capsnet", "photos"))
    40
    """
    given = settings.options.get("image_size") if settings.image_size is None else settings.image_size
    if isinstance(given, int):
        return given
    if is_pretrained(settings.options.get("backbone")):
        return usual_size(settings.options["backbone"])
    if settings.model == CUSTOM:
        raise ValueError("image_size is missing: of a network of one's own nobody knows what size it takes")
    return int(model_info(settings.model)["image"][1])


def held_out(settings: Settings) -> float:
    """The share of the images to learn from that is kept to judge by."""
    return 0.0 if settings.overfit or settings.validation_data is not None else settings.validation


def own_parts(own: OwnImages, settings: Settings) -> Parts:
    """The images of each part, fewer if the settings say so; what cannot be trained on is an error."""
    share = held_out(settings)
    parts = own.parts(share)
    if settings.images:
        parts = _few(own, parts, settings.images)
    if len(own.classes) < 2:
        raise ValueError(
            f"{own.name} has one class only, {own.classes[0]!r}: a network needs two to tell apart, each in a folder "
            f"or with a label of its own"
        )
    check_classes(own, own.counts(parts["train"]))
    for part, wanted in (("validation", share > 0), ("test", missing(own.items) is None)):
        if wanted and not parts[part]:
            advice = ", or go without: --set validation=0" if part == "validation" else ""
            raise ValueError(
                f"{own.name} has {len(own.items)} images, too few: none of them is left for {part}. Add images, or "
                f"choose some yourself, as {own.place(part)}{advice}"
            )
    return parts


def check_classes(own: OwnImages, counts: Mapping[str, int]) -> None:
    """Refuse classes of which no image is left to learn from."""
    bare = [name for name, count in counts.items() if not count]
    if bare:
        raise ValueError(f"{own.name} has no image to learn from of {_listed(bare)}: add some, or take the class out")


def remarks(own: OwnImages, parts: Parts) -> list[str]:
    """What should be known of the parts before a training, and what to do about it."""
    found = list[str]()
    for part in ("validation", "test"):
        bare = [name for name, count in own.counts(parts[part]).items() if not count]
        if parts[part] and bare:
            found.append(
                f"no image of {_listed(bare)} is for {part}: the accuracy there says nothing about it. Add images, or "
                f"choose some yourself, as {own.place(part)}"
            )
    if missing(own.items) == "test" and not parts["test"]:
        found.append(
            f"{own.name} has no images to test by, so 'torchcaps evaluate' will have none: add them as "
            f"{own.place('test')}, or begin again with --make-missing, which keeps a fifth of the others for it"
        )
    return found


def _few(own: OwnImages, parts: Parts, count: int) -> Parts:
    """The first of an order that no seed changes, taken before any are held out; parts of the user's own stay whole."""
    pool = own.parts()["train"]
    if count > len(pool):
        raise ValueError(f"images={count} is not allowed: {own.name} has {len(pool)} training images")
    others = {pool[k].name for k in permutation(0, 0, len(pool))[count:].tolist()}
    return {part: [item for item in items if item.name not in others] for part, items in parts.items()}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more classes" if len(names) > 5 else "")
