"""Several processes at one training: who is first, and what happens when one of them dies."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lightning_fabric import Fabric

RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID")
LOST = ("onnection", "gloo", "NCCL", "imed out")


def is_first() -> bool:
    """Whether this process is the one that speaks and writes; known before the others are there."""
    return all(os.environ.get(name, "0") == "0" for name in RANKS)


def size(devices: int, nodes: int) -> tuple[int, int]:
    """Processes on a machine, and machines: as asked for, unless torchrun, which starts them, knows better."""
    if devices < 1 or nodes < 1:
        raise ValueError(f"devices={devices}, nodes={nodes} is not allowed: both must be at least 1")
    if "TORCHELASTIC_RUN_ID" in os.environ:
        return int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["GROUP_WORLD_SIZE"])
    return devices, nodes


@contextmanager
def launched(fabric: Fabric) -> Iterator[None]:
    """Start the other processes; when one dies, the rest say so instead of waiting, or of showing what gloo felt."""
    _watch_parent()
    try:
        fabric.launch()
        yield
    except RuntimeError as error:
        if fabric.world_size == 1 or not any(word in str(error) for word in LOST):
            raise
        raise ConnectionError(_message(f"another of {fabric.world_size} has ended ({error})")) from error


def _watch_parent() -> None:
    """A process that another has started ends with it, wherever it waits."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        sys.stderr.write(f"torchcaps: {_message('the process that started this one has ended')}\n")
        os._exit(1)

    if os.environ.get("LOCAL_RANK", "0") != "0":
        threading.Thread(target=watch, name="parent-watcher", daemon=True).start()


def _message(what: str) -> str:
    rank = next((os.environ[name] for name in RANKS if name in os.environ), "0")
    return f"process {rank} of this training stops: {what}. Go on with --resume"
