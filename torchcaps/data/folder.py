"""A folder of images: every sub-folder is a class, or first one for each of train, val and test."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from torchcaps.data._files import NAMED, Skipped, UnreadableError
from torchcaps.data._room import room_for
from torchcaps.data._tree import images_below, places
from torchcaps.data.own import OwnImages, Report
from torchcaps.data.parts import Item
from torchcaps.data.photograph import BACKGROUNDS, read_sized
from torchcaps.data.resize import check_fit

CHUNK = 256
FOLDERS = {"train": "train", "validation": "val", "test": "test"}
Pixels = UInt8[np.ndarray, "c h w"]


class Folder(OwnImages):
    """The images below a folder, looked through.

    Files are judged by what they hold, not by their names. Hidden ones are left alone; what else is no image is noted
    in `skipped`.

    Args:
        image_size: height and width of the squares the images become.
        in_chans: 3 for colour, 1 for grey.
        fit: "pad", "crop" or "squash": how an image that is no square becomes one.
        background: "white" or "black", behind what is transparent.
        make_missing: whether a missing train/ or test/ is made from the other.
        report: is told how far the work is.
    """

    def __init__(
        self,
        root: Path,
        *,
        image_size: int = 64,
        in_chans: int = 3,
        fit: str = "pad",
        background: str = "white",
        make_missing: bool = False,
        report: Report = lambda _: None,
    ) -> None:
        if not root.is_dir():
            raise FileNotFoundError(f"there is no folder {root}")
        if in_chans not in (1, 3):
            raise ValueError(f"in_chans={in_chans} is not allowed: 1 for grey, 3 for colour")
        if background not in BACKGROUNDS:
            raise ValueError(f"background={background!r} is not allowed: choose one of 'white', 'black'")
        check_fit(fit)
        self.root, self.fit, self.background, self.report = root, fit, background, report
        self.image_shape = (in_chans, image_size, image_size)
        skipped = list[Skipped]()
        found = [
            (place, *image)
            for place in places(root, skipped)
            for image in images_below(place.folder, root, skipped, report)
        ]
        if not found:
            raise ValueError(f"{root} holds no images: expected a sub-folder a class with files of {NAMED}")
        classes = sorted({place.label for place, _, _ in found})
        numbers = {name: k for k, name in enumerate(classes)}
        items = [Item(name, digest, numbers[place.label], place.part) for place, name, digest in found]
        super().__init__(str(root), classes, items, skipped=skipped, make_missing=make_missing)

    def place(self, part: str) -> str:
        """A folder beside those of the other parts."""
        return f"{self.root / FOLDERS[part]}/<class>/… beside {self.root / 'train'}/<class>/…"

    def read(self, items: Sequence[Item]) -> tuple[UInt8[Tensor, "n c h w"], list[Item]]:
        """Decode and resize, several at once: Pillow lets other threads run while it decodes."""
        images, kept = room_for((len(items), *self.image_shape)), list[Item]()
        target = images.numpy()
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            for start in range(0, len(items), CHUNK):
                self.report(f"{self.name}: {start:,} of {len(items):,} images read")
                chunk = items[start : start + CHUNK]
                for item, pixels in zip(chunk, pool.map(self._pixels, chunk), strict=True):
                    if isinstance(pixels, Skipped):
                        self.skipped.append(pixels)
                        continue
                    target[len(kept)] = pixels[0]
                    self.sizes[pixels[1]] += 1
                    kept.append(item)
        if not kept:
            raise ValueError(f"none of {len(items)} images can be read\n{self.complaint()}")
        return images[: len(kept)], kept

    def _pixels(self, item: Item) -> tuple[Pixels, tuple[int, int]] | Skipped:
        channels, height, width = self.image_shape
        try:
            file = self.root / item.name
            return read_sized(file, (height, width), channels, fit=self.fit, background=self.background)
        except UnreadableError as error:
            return Skipped(item.name, error.reason, str(error))
        except OSError as error:
            return Skipped(item.name, "cannot be opened", str(error))
