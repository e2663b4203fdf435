"""CIFAR-10: 60,000 colour images of 32×32 in pickles, read by an unpickler that only knows arrays."""

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch

from torchcaps.data._dataset import Stored
from torchcaps.data._sources import Npm, Recipe, Report, Web, obtain

CIFAR10 = Recipe(
    "cifar10",
    {
        "data_batch_1": "54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd",
        "data_batch_2": "766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8",
        "data_batch_3": "0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9",
        "data_batch_4": "3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b",
        "data_batch_5": "d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154",
        "test_batch": "f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831",
    },
    (Web("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", archive=True), Npm("convnetjs@0.1.4")),
    "not stated; free for research, cite Krizhevsky 2009",
    186,
)
CLASSES10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}


class ArrayUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, strings and NumPy arrays, and refuses everything else that a pickle can do."""

    def find_class(self, module: str, name: str) -> Any:
        """The few functions that build an array."""
        if (module, name) not in _ALLOWED:
            raise ValueError(f"the batch asks for {module}.{name}, which no CIFAR batch contains: it is not read")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def read_batch(data: bytes) -> dict[bytes, Any]:
    """The contents of a pickled CIFAR batch."""
    contents = ArrayUnpickler(io.BytesIO(data), encoding="bytes").load()
    if not isinstance(contents, dict) or b"data" not in contents:
        raise ValueError("not a CIFAR batch: it has no 'data'")
    return contents


def load_cifar10(split: str, root: Path | None = None, report: Report = lambda _: None) -> Stored:
    """Ten classes of natural images (Krizhevsky 2009)."""
    files = obtain(CIFAR10, root, report)
    names = [name for name in CIFAR10.files if name.startswith("test" if split == "test" else "data")]
    return _stored([read_batch(files[name]) for name in names], b"labels", CLASSES10)


def _stored(batches: list[dict[bytes, Any]], key: bytes, classes: tuple[str, ...]) -> Stored:
    images = np.concatenate([batch[b"data"] for batch in batches]).reshape(-1, 3, 32, 32)
    labels = [label for batch in batches for label in batch[key]]
    return Stored(torch.from_numpy(images.copy()), torch.tensor(labels), classes)
