"""The networks on show: trained ones by the folder of their run, or by the name of weights that ship."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import numpy as np
import torch

from torchcaps.data import Reading, Stored
from torchcaps.explain import Structure
from torchcaps.layers import Decoder
from torchcaps.measures import ParseTreeResult, Result
from torchcaps.models import card, create_model, list_pretrained
from torchcaps.network import Model
from torchcaps.train import Run, load_run
from torchcaps.train.run import RUN

SHOWN = 200
DIGITS = Path(__file__).parent / "digits.npz"


@dataclass
class Exhibit:
    """A network, what it was trained to tell, and a few test images.

    Attributes:
        id: what a page calls it; the name or folder it was asked for by.
        reading: how pictures become what it takes.
        run: the training it comes from; None for weights that ship.
        average, findings: what was measured of it, once somebody has asked.
        lock: held while it is measured, so that others who ask wait for the same figures.
    """

    id: str
    title: str
    model: Model
    classes: tuple[str, ...]
    samples: Stored
    structure: Structure
    reading: Reading
    run: Run | None = None
    average: ParseTreeResult | None = None
    findings: dict[str, Result] | None = None
    lock: Lock = field(default_factory=Lock)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width it takes."""
        return self.reading.image_shape

    @property
    def decoder(self) -> Decoder | None:
        """What draws from its class capsules."""
        return self.model.decoder if isinstance(self.model.decoder, Decoder) else None


def gather(names: Sequence[str] = ()) -> dict[str, Exhibit]:
    """Every network that was named; without names, those that ship and take pictures.

    >>> [exhibit.title for exhibit in gather(["chen2019/lenet"]).values()]
    ['chen2019/lenet (no capsules)']
    """
    return {name: exhibit(name) for name in dict.fromkeys(names or shipped_names())}


def shipped_names() -> list[str]:
    """The weights that ship for networks that take pictures, the deepest networks of capsules first."""
    names = [name for name in list_pretrained() if card(name).image[1:] != (1, 1)]
    return sorted(names, key=lambda name: (name.split("/")[0] != "mitterreiter2023", card(name).routing is None, name))


def exhibit(name: str) -> Exhibit:
    """A network by the folder of its run, or by the name of weights that ship."""
    folder = Path(name)
    if (folder / RUN).is_file():
        return _trained(name, folder)
    if name not in shipped_names():
        raise ValueError(
            f"there is no run in {name!r}, and no weights of that name that take pictures ship: give the folder of a "
            f"training, or one of {', '.join(shipped_names())}"
        )
    model, digits = create_model(name, pretrained=True), shipped_digits()
    structure = Structure.of(model, digits.classes)
    reading = Reading(digits.image_shape, background="black")
    return Exhibit(name, f"{name} ({_routing(model)})", model, tuple(digits.classes), digits, structure, reading)


def _routing(model: Model) -> str:
    """What tells two networks of one paper apart."""
    own: str | None = model.recipe["options"].get("routing", card(model.recipe["name"]).routing)
    return "no capsules" if own is None else own.replace("_", " ")


def _trained(name: str, folder: Path) -> Exhibit:
    run = load_run(folder)
    data = run.test_data(SHOWN)
    if not isinstance(data, Stored):
        batch = data.batch(torch.arange(min(SHOWN, len(data))))
        data = Stored((batch.images * 255).round().to(torch.uint8), batch.labels[:, 0], data.classes)
    structure = Structure.of(run.model, run.classes)
    return Exhibit(name, folder.resolve().name, run.model, run.classes, data, structure, run.reading, run)


def shipped_digits() -> Stored:
    """Two hundred of MNIST's test digits, which ship with the package, under CC BY-SA 3.0 (see NOTICE).

    >>> shipped_digits().image_shape
    (1, 28, 28)
    """
    with np.load(DIGITS, allow_pickle=False) as file:
        images, labels = torch.from_numpy(file["images"]), torch.from_numpy(file["labels"]).long()
    return Stored(images[:, None], labels, [str(k) for k in range(10)])
