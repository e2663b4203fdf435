"""Labels as people write them, in one meaning: a class an image."""

from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = 2**53  # whole numbers up to here are exact as floats too
MIXED = "some are words, others numbers"


def understood(labels: Mapping[str, np.ndarray]) -> tuple[list[str], dict[str, np.ndarray]]:
    """The names of the classes over all arrays, and each array's labels as numbers of these names.

    Labels are whole numbers from 0 up, words, truth values, one in a row (n, 1), or rows with a single 1 (n, classes).

    >>> names, numbers = understood({"train": np.array(["owl", "cat"]), "test": np.array([["owl"]])})
    >>> names, numbers["test"].tolist()
    (['cat', 'owl'], [1])
    """
    flat = {name: _flat(array, name) for name, array in labels.items()}
    kinds = {"words" if array.dtype.kind == "U" else "numbers" for array, _ in flat.values()}
    if len(kinds) > 1:
        raise ValueError(f"the labels of {', '.join(labels)} do not go together: {MIXED}")
    values = [array for array, _ in flat.values()] + [np.arange(most) for _, most in flat.values() if most]
    names, indices = np.unique(np.concatenate(values), return_inverse=True)
    found, at = dict[str, np.ndarray](), 0
    for name, (array, _) in flat.items():
        found[name], at = indices[at : at + len(array)].astype(np.int64), at + len(array)
    return [str(name) for name in names.tolist()], found


def _flat(labels: np.ndarray, name: str) -> tuple[np.ndarray, int]:
    """One label an image, as words or whole numbers; and how many classes there are, where the array itself says so."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 2:
        return _from_one_hot(labels, name), labels.shape[1]
    if labels.ndim != 1:
        raise ValueError(f"{name} has the shape {labels.shape}: one label an image, (n,), (n, 1) or one-hot, is needed")
    kind = labels.dtype.kind
    if kind == "S":
        labels, kind = np.char.decode(labels, "utf-8", "replace"), "U"
    if kind == "U":
        return _nonempty(labels, name), 0
    if kind == "b":
        return np.where(labels, "True", "False"), 0
    if kind not in "iuf":
        raise ValueError(f"{name} holds {labels.dtype}: whole numbers or words are needed")
    return _whole(labels, name), 0


def _from_one_hot(labels: np.ndarray, name: str) -> np.ndarray:
    single = labels.dtype.kind in "biuf" and ((labels == 0) | (labels == 1)).all() and (labels.sum(1) == 1).all()
    if not single:
        raise ValueError(f"{name} has the shape {labels.shape}, but not a single 1 in each row: it is not one-hot")
    return np.asarray(labels.argmax(1))


def _nonempty(labels: np.ndarray, name: str) -> np.ndarray:
    if (labels == "").any():
        raise _wrong(name, np.flatnonzero(labels == "")[0], "''")
    return labels


def _whole(labels: np.ndarray, name: str) -> np.ndarray:
    """Numbers as int64; NaN, fractions and negative ones, which often stand for 'unknown', are refused."""
    bad = ~((labels >= 0) & (labels <= LARGEST) & (labels == np.floor(labels)))  # NaN is none of these
    if bad.any():
        at = np.flatnonzero(bad)[0]
        raise _wrong(name, at, labels[at])
    return labels.astype(np.int64)


def _wrong(name: str, at: Any, value: object) -> ValueError:
    return ValueError(
        f"{name}[{at}] is {value}, which is no class: whole numbers from 0 up, or words, are needed; leave out images "
        f"whose class is not known"
    )
