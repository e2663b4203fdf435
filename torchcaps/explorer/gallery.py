"""The networks on show: trained ones by the folder of their run, or by the name of weights that ship."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import torch

from torchcaps.data import Stored
from torchcaps.explain import Structure
from torchcaps.layers import Decoder
from torchcaps.models import card, create_model, list_pretrained
from torchcaps.network import Model
from torchcaps.train import load_run
from torchcaps.train.run import RUN

SHOWN = 200
DIGITS = Path(__file__).parent / "digits.npz"


@dataclass
class Exhibit:
    """A network, what it was trained to tell, and a few test images.

    Attributes:
        id: what a page calls it; the name or folder it was asked for by.
        folder: where its run lies; None for weights that ship.
        lock: held while something is measured that others will ask for too.
    """

    id: str
    title: str
    model: Model
    classes: tuple[str, ...]
    image_shape: tuple[int, int, int]
    samples: Stored
    structure: Structure
    folder: Path | None = None
    lock: Lock = field(default_factory=Lock)

    @property
    def decoder(self) -> Decoder | None:
        """What draws from its class capsules."""
        return self.model.decoder if isinstance(self.model.decoder, Decoder) else None


def gather(names: Sequence[str]) -> dict[str, Exhibit]:
    """Every network that was named; without names, those that ship and take digits.

    >>> [exhibit.title for exhibit in gather(["chen2019/lenet"]).values()]
    ['chen2019/lenet']
    """
    wanted = list(names) or [name for name in list_pretrained() if card(name).image[1:] != (1, 1)]
    return {name: exhibit(name) for name in dict.fromkeys(wanted)}


def exhibit(name: str) -> Exhibit:
    """A network by the folder of its run, or by the name of weights that ship."""
    folder = Path(name)
    if (folder / RUN).is_file():
        run = load_run(folder)
        data = run.test_data()
        if not isinstance(data, Stored):
            batch = data.batch(torch.arange(min(SHOWN, len(data))))
            data = Stored((batch.images * 255).round().to(torch.uint8), batch.labels[:, 0], data.classes)
        few = data.select(torch.arange(min(SHOWN, len(data))))
        structure = Structure.of(run.model, run.classes)
        return Exhibit(name, folder.name, run.model, run.classes, run.image_shape, few, structure, folder)
    if name not in list_pretrained():
        raise ValueError(
            f"there is no run in {name!r} and no weights of that name ship: give the folder of a training, or one of "
            f"{', '.join(list_pretrained())}"
        )
    model = create_model(name, pretrained=True).eval()
    digits = shipped_digits()
    return Exhibit(name, name, model, digits.classes, digits.image_shape, digits, Structure.of(model, digits.classes))


def shipped_digits() -> Stored:
    """Two hundred of MNIST's test digits, which ship with the package."""
    import numpy as np

    with np.load(DIGITS, allow_pickle=False) as file:
        images, labels = torch.from_numpy(file["images"]), torch.from_numpy(file["labels"]).long()
    return Stored(images[:, None], labels, [str(k) for k in range(10)])
