"""A data set of one's own, drawn on the spot: is a bar upright or level?

A sample depends on (seed, epoch, index) alone.
"""

import torch
from torch import Tensor

from torchcaps import fit
from torchcaps.data import Batch, Dataset


class Bars(Dataset):
    """White bars on noise, 16 × 16."""

    def __init__(self, count: int = 1000, *, seed: int = 0) -> None:
        super().__init__(("upright", "level"), (1, 16, 16), seed=seed)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def batch(self, index: Tensor, epoch: int = 0) -> Batch:
        drawn = [self._draw(k, epoch) for k in index.tolist()]
        return Batch(torch.stack(drawn), index[:, None] % 2)

    def _draw(self, k: int, epoch: int) -> Tensor:
        chance = torch.Generator().manual_seed((self.seed * 1009 + epoch) * self.count + k)
        image, at = torch.rand(1, 16, 16, generator=chance) / 2, torch.randint(16, (), generator=chance)
        image[:, at] = 1
        return image if k % 2 else image.mT


def main() -> None:
    """A network that learns it."""
    run = fit(
        "mitterreiter2023/capsnet",
        Bars(),
        validation_data=Bars(200, seed=1),
        options={"layers": 3, "width": 0.5, "reconstruction": "none"},
        epochs=3,
        batch_size=32,
        quiet=True,
    )
    print(f"{run.history[-1]['validation_accuracy']:.0%} of bars it has not seen")


if __name__ == "__main__":
    main()
