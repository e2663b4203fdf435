"""Processes of this machine, single-threaded, a unit each."""

import multiprocessing
import os
import threading
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
    from multiprocessing.context import ForkServerContext
    from multiprocessing.process import BaseProcess

TICK = 1.0


class Running(NamedTuple):
    """A process at work.

    Args:
        alive: the end of a pipe that nobody else holds: when it goes, so does the process.
        heard: the jobs it has told of.
    """

    unit: Unit
    process: "BaseProcess"
    alive: Connection
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
                receiver, started = _start(context, waiting.pop(0), place)
                running[receiver] = started
            ready = [end for end in wait(list(running), timeout=TICK) if isinstance(end, Connection)]
            for end in ready:
                yield from _hear(end, running, place)
            if not ready:
                yield None
    finally:
        for left in running.values():
            left.process.kill()


def _start(context: "ForkServerContext", unit: Unit, place: Place) -> tuple[Connection, Running]:
    receiver, sender = context.Pipe(duplex=False)
    watched, alive = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(unit, place, sender, watched), daemon=True)
    process.start()
    sender.close()
    watched.close()
    return receiver, Running(unit, process, alive, set())


def _hear(end: Connection, running: dict[Connection, Running], place: Place) -> Iterator[Event]:
    """What a process has to tell; if it has ended, what became of the jobs it never told of."""
    unit, process, _, heard = running[end]
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


def _work(unit: Unit, place: Place, sender: Connection, watched: Connection) -> None:
    threading.Thread(target=_end_with, args=(watched,), name="parent-watcher", daemon=True).start()
    torch.set_num_threads(1)
    for job, state in perform(unit.jobs, place):
        sender.send((job.name, state))


def _end_with(watched: Connection) -> None:
    """End when the runner does, even if it was killed and could not say so."""
    try:
        watched.recv()
    except EOFError:
        os._exit(1)
