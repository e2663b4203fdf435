"""A user's own images: looked through first, so that all is known about them, and read only when they are asked for."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import UInt8
from torch import Tensor

from torchcaps.data._dataset import Stored
from torchcaps.data._files import Skipped
from torchcaps.data.inventory import Inventory
from torchcaps.data.parts import PARTS, Item, divide, missing

Report = Callable[[str], None]
SHOWN = 20  # of the files that were passed over


class OwnImages:
    """Images and their classes, each in one part, whatever is asked for first.

    >>> OwnImages("photos", ["cat", "owl"], []).classes
    ('cat', 'owl')

    Args:
        name: of the folder or file, as the user gave it.
        classes: of all parts, numbered once.
        items: every image, in its order.
        skipped: what was found but is no image.
        make_missing: where the user's own parts lack one for training or testing, whether it is made from the other.
    """

    def __init__(
        self,
        name: str,
        classes: Sequence[str],
        items: Sequence[Item],
        *,
        skipped: Sequence[Skipped] = (),
        make_missing: bool = False,
    ) -> None:
        self.name, self.classes, self.items = name, tuple(classes), list(items)
        self.skipped, self.make_missing = list(skipped), make_missing
        _, copies = divide(self.items, make_missing=make_missing)
        self.skipped += [Skipped(copy.name, "copies of images to judge by", "also in another part") for copy in copies]
        self.sizes = Counter[tuple[int, int]]()  # width and height of the images that were read

    image_shape: tuple[int, int, int]

    def read(self, items: Sequence[Item]) -> tuple[UInt8[Tensor, "n c h w"], list[Item]]:
        """Pixels, and the items they belong to; what cannot be read is left out and noted in `skipped`."""
        raise TypeError(f"{type(self).__name__} must define read(items)")

    def place(self, part: str) -> str:
        """Where the user would put images of a part of their own choice."""
        raise TypeError(f"{type(self).__name__} must define place(part)")

    def parts(self, validation: float = 0.0) -> dict[str, list[Item]]:
        """The images to learn from, to validate and to test by."""
        return divide(self.items, validation=validation, make_missing=self.make_missing)[0]

    def load(self, part: str, *, validation: float = 0.0) -> Stored:
        """One part, in memory.

        Args:
            part: "train", "validation" or "test".
            validation: share of the images to learn from that are for validation; they are no part of "train".
        """
        if part not in PARTS:
            raise ValueError(f"split={part!r} is not allowed: choose one of {', '.join(map(repr, PARTS))}")
        absent = None if self.make_missing else missing(self.items)
        if part == absent:
            other = "test" if absent == "train" else "train"
            raise ValueError(
                f"{self.name} has a part for {other} and none for {absent}: add one, or have it made from the other "
                f"with make_missing=True (--make-missing)"
            )
        items = self.parts(validation)[part]
        if not items:
            raise ValueError(f"{self.name} has {len(self.items)} images, and none of them is for {part}: add images")
        return self.stored(items)

    def stored(self, items: Sequence[Item]) -> Stored:
        """Some of the images, as many of them as can be read, in memory."""
        images, kept = self.read(items)
        labels = torch.tensor([item.label for item in kept], dtype=torch.long)
        return Stored(images, labels, self.classes)

    def counts(self, items: Iterable[Item]) -> dict[str, int]:
        """How many of them there are of each class."""
        found = Counter(item.label for item in items)
        return {name: found[label] for label, name in enumerate(self.classes)}

    def inventory(self) -> Inventory:
        """What there is, by name and contents."""
        return Inventory({item.name: f"{item.digest.hex()[:32]} {self.classes[item.label]}" for item in self.items})

    def sound(self) -> list[Item]:
        """All images but those that turned out not to be readable."""
        bad = {skip.name for skip in self.skipped}
        return [item for item in self.items if item.name not in bad]

    def complaint(self) -> str:
        """What was passed over and why, file by file."""
        return "\n".join([f"{self.name}: {self.skipped_by_reason()}", *self.skipped_by_name()])

    def skipped_by_name(self) -> list[str]:
        """A line for each of the first files that were passed over."""
        listed = [f"  {skip.name!r}: {skip.detail}" for skip in self.skipped[:SHOWN]]
        return listed + ([f"  and {len(self.skipped) - SHOWN} more"] if len(self.skipped) > SHOWN else [])

    def skipped_by_reason(self) -> str:
        """How many files were passed over, by reason: '3 skipped: 2 damaged, 1 a link to nothing'."""
        counts = Counter(skip.reason for skip in self.skipped)
        return f"{len(self.skipped)} skipped: " + ", ".join(f"{n} {reason}" for reason, n in counts.most_common())
