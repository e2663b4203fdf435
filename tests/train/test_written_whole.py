"""Files of a training that are written anew: a disk that is full halfway leaves what was there, whole."""

import errno
import os
from pathlib import Path

import pytest

from tests.train.separable import linear
from torchcaps.data import Inventory
from torchcaps.measures import Nothing
from torchcaps.train.findings import FOLDER, keep
from torchcaps.train.fingerprint import DATA, write_inventory
from torchcaps.train.log import LOG, forget_after
from torchcaps.train.run import RUN, Facts, Run, write_run
from torchcaps.train.settings import Settings


def _facts(k):
    return Facts(Settings("custom", "custom", seed=k), ("a", "b"), (1, 1, 1))


WRITERS = {
    RUN: lambda folder, k: write_run(folder, _facts(k)),
    DATA: lambda folder, k: write_inventory(folder, Inventory({"a.png": str(k)})),
    LOG: lambda folder, k: forget_after(folder, 9 - k),
    f"{FOLDER}/activity.json": lambda folder, k: keep(
        Run(linear(), *_facts(k)[:3], directory=folder), {"activity": Nothing("activity", f"because of {k}")}
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_halfway_costs_nothing_that_was_there(name, tmp_path, monkeypatch):
    (tmp_path / LOG).write_text("".join(f'{{"step": {k}}}\n' for k in range(10)))
    WRITERS[name](tmp_path, 1)
    before = (tmp_path / name).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", _half)
        with pytest.raises(OSError, match="No space left"):
            WRITERS[name](tmp_path, 2)
    assert (tmp_path / name).read_bytes() == before
    WRITERS[name](tmp_path, 2)
    assert (tmp_path / name).read_bytes() != before


def _half(path, text, **_):
    path.write_bytes(text.encode()[: len(text) // 2])
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
