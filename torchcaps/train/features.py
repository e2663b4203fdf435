"""Training on features that were computed once, where a frozen backbone gives an image the same in every epoch."""

import copy

import torch
from jaxtyping import Int
from torch import Tensor

from torchcaps._telling import Tell
from torchcaps.backbones import FeatureCache, Trunk, trunk_of
from torchcaps.backbones.cache import Features
from torchcaps.data import Balanced, Batch, Dataset, Stored
from torchcaps.data.augment import Augmented
from torchcaps.network import Model
from torchcaps.train.settings import Settings
from torchcaps.train.splits import Splits

VIEWS = 4
"""How often each image is augmented, to be seen in turn."""


class Featured(Dataset):
    """Images as their features, a network's backbone passes them; several views of an image take turns by epoch.

    Args:
        data: the images.
        views: their features, of each image one a view.
    """

    def __init__(self, data: Stored, views: list[Features]) -> None:
        super().__init__(data.classes, data.image_shape, seed=data.seed)
        self.data, self.labels, self.views = data, data.labels, views

    def __len__(self) -> int:
        return len(self.data)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The features of an epoch's view."""
        view = self.views[epoch % len(self.views)]
        rows = view.rows[index.to(view.rows.device)]
        return Batch(view.maps[rows.to(view.maps.device)], self.labels[index.to(self.labels.device), None])

    def to(self, device: str | torch.device) -> "Featured":
        """The same with the features that it uses, and no others, on a device."""
        there = copy.copy(self)
        there.labels = self.labels.to(device)
        there.views = [
            Features(view.maps[view.rows].to(device), torch.arange(len(self), device=device)) for view in self.views
        ]
        return there

    @property
    def nbytes(self) -> int:
        """What of it would go to a device."""
        return sum(len(view.rows) * view.maps[0].nbytes for view in self.views)


def on_features(
    model: Model, settings: Settings, splits: Splits, device: torch.device, report: Tell
) -> tuple[Splits, list[str]]:
    """The parts of the data as features, where the training sees nothing else of them, and what to say of that.

    Args:
        device: on which the backbone is asked; a network without one stays where it is.
    """
    trunk = trunk_of(model)
    drawn = model.decoder is not None and settings.reconstruction_weight > 0
    if trunk is None or not trunk.is_frozen or drawn or settings.precision == "64":
        return splits, []
    model.to(device)
    # Which images share a batch, and so the last bit, depends on what is there already.
    cache = FeatureCache(keep=not settings.deterministic)
    said = list[Features]()
    train = _featured(splits.train, trunk, cache, report, said)
    if train is None:
        return splits, ["the backbone is frozen, but is asked in every epoch: such images have no features to keep"]
    judged = splits.validation
    if judged is splits.train:
        judged = train
    elif judged is not None:
        judged = _featured(judged, trunk, cache, report, said) or judged
    return Splits(train, judged), _told(said)


def _featured(data: Dataset, trunk: Trunk, cache: FeatureCache, report: Tell, said: list[Features]) -> Dataset | None:
    """Stored images, perhaps balanced or augmented, as features; None of what is drawn anew in every epoch."""
    if isinstance(data, Balanced):
        inner = _featured(data.data, trunk, cache, report, said)
        return None if inner is None else _on(data, inner)
    if isinstance(data, Augmented) and isinstance(data.data, Balanced):  # each view of an image, then the balance
        return _featured(_on(data.data, _on(data, data.data.data)), trunk, cache, report, said)
    stored = data.data if isinstance(data, Augmented) else data
    if not isinstance(stored, Stored):
        return None
    views = list[Features]()
    for epoch in range(VIEWS if isinstance(data, Augmented) else 1):
        found = cache.features(trunk, _bytes(data, epoch), report)
        if found is None:
            return None
        views.append(found)
        said.append(found)
    return Featured(stored, views)


def _on(outer: Dataset, inner: Dataset) -> Dataset:
    there = copy.copy(outer)
    there.data = inner  # type: ignore[attr-defined]
    return there


def _bytes(data: Dataset, epoch: int) -> Tensor:
    """The images of an epoch, a byte a number, as they came from files."""
    if isinstance(data, Stored):
        return data.images
    parts = [data.batch(index, epoch).images for index in torch.arange(len(data)).split(256)]
    return torch.cat([(part * 255).round().to(torch.uint8) for part in parts])


def _told(said: list[Features]) -> list[str]:
    images, computed = sum(len(one.rows) for one in said), sum(one.computed for one in said)
    problem = next((one.problem for one in said if one.problem), "")
    end = f"; they are not kept on disk: {problem}" if problem else ""
    return [f"backbone frozen: features of {images:,} images, {computed:,} of them computed now{end}"]
