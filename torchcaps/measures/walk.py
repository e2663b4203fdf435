"""One walk over a data set that feeds every measure that was asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from torchcaps.data import Batch, Dataset
from torchcaps.infer import infer
from torchcaps.measures.result import Result
from torchcaps.network import Model
from torchcaps.types import RECORDS, Parse, Record

Progress = Callable[[int, int], None]
RECORD_BYTES = 32 << 20  # of one batch's record; routings and statistics take several times as much in passing


@runtime_checkable
class Measure(Protocol):
    """An accumulator: it sees each batch once and keeps what does not grow with their number.

    Attributes:
        record: how much of the parse it needs, known once it has begun.
    """

    record: Record

    def begin(self, model: Model, data: Dataset) -> None:
        """Forget what was seen before, and look at the network and the data of the walk that begins."""

    def update(self, parse: Parse, batch: Batch) -> None:
        """See the next images and what the network made of them; the parse is on the network's device."""

    def result(self) -> Result:
        """What was found; a `Nothing` that says why where the network has nothing to measure."""


def silent(done: int, total: int) -> None:
    """Progress that nobody wants to hear of: images done so far, and how many there are."""


def walk(
    model: Model,
    data: Dataset,
    measures: Sequence[Measure],
    *,
    batch_size: int = 256,
    epoch: int = 0,
    progress: Progress = silent,
) -> list[Result]:
    """The result of each measure, after one pass over the data.

    The network is asked in evaluation mode, on the device and in the precision of its parameters, and left as it was.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import Accuracy
    >>> from torchcaps.models import create_model
    >>> [found] = walk(create_model("chen2019/lenet"), load("glyphs", "test", count=40), [Accuracy()])
    >>> found.count
    40

    Args:
        data: the images to be shown; a view makes others of them.
        batch_size: images at once, at most: fewer where what the network must record of them is large.
        epoch: of a generator, which draws other images in every epoch.
        progress: told after each batch how many images are done, of how many.
    """
    total = len(data)
    if total == 0:
        raise ValueError("there are no images to judge by: the data set is empty")
    for measure in measures:
        measure.begin(model, data)
    record: Record = max((measure.record for measure in measures), key=RECORDS.index, default="none")
    done = 0
    for batch in data.batches(_fitting(model, data, record, batch_size), epoch=epoch):
        parse = infer(model, batch.images, record)
        for measure in measures:
            measure.update(parse, batch)
        done += len(batch.images)
        progress(done, total)
    return [measure.result() for measure in measures]


def _fitting(model: Model, data: Dataset, record: Record, most: int) -> int:
    """How many images' records fit `RECORD_BYTES`, found by asking for that of one."""
    if record == "none":
        return most
    one = infer(model, data.batch(torch.arange(1)).images, record)
    return max(1, min(most, RECORD_BYTES // max(1, sum(t.nbytes for t in _tensors(one)))))


def _tensors(part: Any) -> Iterator[Tensor]:
    if isinstance(part, Tensor):
        yield part
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _tensors(inner)
