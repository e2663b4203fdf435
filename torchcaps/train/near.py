"""Images near what computes on them: all on the card where they fit, a byte a number; else sent as they come."""

import torch

from torchcaps.data import Batch, Dataset

SHARE = 0.25
"""Of a card's free memory that images may take; the rest is for the training."""


def near(data: Dataset, device: torch.device, free: int | None = None) -> Dataset:
    """A data set on a card, where it also draws what is random, if it fits; else as it is.

    Args:
        free: bytes that the card has left; it is asked if not given.
    """
    if device.type == "cpu":
        return data
    if free is None:
        free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 0
    return data.to(device) if 0 < data.nbytes <= SHARE * free else data


def sent(batch: Batch, device: torch.device) -> Batch:
    """A batch on its way to a card, for which nobody waits; one that is there already, or need not go, as it is."""
    if device.type != "cuda" or batch.images.is_cuda:
        return batch
    away = [None if part is None else part.pin_memory().to(device, non_blocking=True) for part in batch]
    return Batch(*away)  # type: ignore[arg-type]
