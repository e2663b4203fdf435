"""Processes of this machine, single-threaded, a unit each."""

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, NamedTuple

import torch

from torchcaps.bench.executors._base import Event, ended
from torchcaps.bench.perform import perform
from torchcaps.bench.place import Place
from torchcaps.bench.plan import Unit

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

TICK = 1.0


class Running(NamedTuple):
    """A process at work, and the end of the pipe on which it tells."""

    unit: Unit
    process: "BaseProcess"
    heard: set[str]


def local(units: Sequence[Unit], place: Place, *, workers: int) -> Iterator[Event]:
    """Units in as many processes as there are workers; a process that dies takes its own unit with it, no other.

    Processes are forked from one that has imported everything, so that a unit costs no seconds of imports.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torchcaps.bench.perform"])
    waiting, running = list(units), dict[Connection, Running]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                unit = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(unit, place, sender), daemon=True)
                process.start()
                sender.close()
                running[receiver] = Running(unit, process, set())
            ready = [end for end in wait(list(running), timeout=TICK) if isinstance(end, Connection)]
            for end in ready:
                yield from _hear(end, running, place)
            if not ready:
                yield None
    finally:
        for left in running.values():
            left.process.kill()


def _hear(end: Connection, running: dict[Connection, Running], place: Place) -> Iterator[Event]:
    """What a process has to tell; if it has ended, what became of the jobs it never told of."""
    unit, process, heard = running[end]
    try:
        name, state = end.recv()
    except EOFError:
        del running[end]
        process.join()
        left = replace(unit, jobs=tuple(job for job in unit.jobs if job.name not in heard))
        yield from ended(left, place, {}, f"its process ended with code {process.exitcode}")
        return
    heard.add(name)
    yield next(job for job in unit.jobs if job.name == name), state


def _work(unit: Unit, place: Place, sender: Connection) -> None:
    _watch_parent()
    torch.set_num_threads(1)
    for job, state in perform(unit.jobs, place):
        sender.send((job.name, state))


def _watch_parent() -> None:
    """End with the process that started this one, even if that was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(TICK)
        os._exit(1)

    threading.Thread(target=watch, name="parent-watcher", daemon=True).start()
