"""What a training says of its data before it begins: one line, and what it cannot do without."""

from collections import Counter

from torchcaps.data import Dataset, OwnImages
from torchcaps.train.own import own_parts, remarks, trained_before
from torchcaps.train.settings import Settings
from torchcaps.train.splits import Splits

FEW, UNEQUAL = 12, 3  # classes named one by one; how many times the smallest the largest may have
WAYS = {"pad": "padded with black", "crop": "cropped", "squash": "squashed"}


def summary(settings: Settings, splits: Splits, own: OwnImages | None) -> list[str]:
    """The line, and a line for everything that should be known besides.

    Args:
        own: what the splits come from, if they are a user's own.
    """
    if own is None:
        count = len(splits.train) + len(splits.validation or ()) * (splits.train is not splits.validation)
        said = [f"{settings.data}: {count:,} images of {_classes(splits.train, None)}; {_size(splits.train)}; "
                f"{_learned(splits)}; those to test by stay apart"]  # fmt: skip
        return [*said, *filter(None, [trained_before(settings)])]
    parts = own_parts(own, settings)
    images = len(splits.train) + len(splits.validation or ()) + len(parts["test"])
    balance = ", each learned from equally often" if settings.balance else _imbalance(own)
    line = "; ".join(
        [
            f"{own.name}: {images:,} images of {_classes(splits.train, own)}{balance}",
            f"{_sizes(own)} → {_size(splits.train)}{_way(own, settings)}",
            f"{_learned(splits)}, {len(parts['test']):,} to test",
            own.skipped_by_reason() if own.skipped else "none skipped",
        ]
    )
    return [line, *own.skipped_by_name(), *remarks(own, parts)]


def _classes(data: Dataset, own: OwnImages | None) -> str:
    if own is None:
        return f"{len(data.classes)} classes"
    counts = own.counts(own.sound())
    if len(counts) <= FEW:
        return f"{len(counts)} classes ({', '.join(f'{name} {n:,}' for name, n in counts.items())})"
    (least, fewest), *_, (most, many) = sorted(counts.items(), key=lambda pair: pair[1])
    return f"{len(counts)} classes (from {fewest:,} of {least} to {many:,} of {most})"


def _imbalance(own: OwnImages) -> str:
    counts = own.counts(own.sound()).values()
    times = max(counts) / max(1, min(counts))
    return f", the largest {times:.0f} times the smallest: --balance weighs them alike" if times >= UNEQUAL else ""


def _size(data: Dataset) -> str:
    return f"{data.image_shape[2]}×{data.image_shape[1]}"


def _sizes(own: OwnImages) -> str:
    """The size of the images that were read, or the smallest and the largest."""
    by_area: Counter[tuple[int, int]] = own.sizes
    ordered = sorted(by_area, key=lambda size: size[0] * size[1])
    ends = [f"{w}×{h}" for w, h in dict.fromkeys((ordered[0], ordered[-1]))]
    return " to ".join(ends)


def _way(own: OwnImages, settings: Settings) -> str:
    odd = any(w != h for w, h in own.sizes)
    return f", {WAYS[settings.fit]} where they are no squares" if odd else ""


def _learned(splits: Splits) -> str:
    judged = "none" if splits.validation is None else f"{len(splits.validation):,}"
    return f"{len(splits.train):,} to learn from, {judged} to validate"
