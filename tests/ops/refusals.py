"""Calls of internal operators that cannot be right, each in a child of its own: a crash is a finding, not the end.

Prints a line for each call that did not end in an error of Python's.
"""

import os
import resource
import signal
from pathlib import Path

import torch

from torchcaps.ops import native, scaled, spectral, squash, stored, turn  # noqa: F401  # they declare operators

OP, PLACES = torch.ops.torchcaps, torch.zeros(2, 2, 3, dtype=torch.long)
POSE, GRADIENT = torch.zeros(2, 3, 3, 2, 4), torch.zeros(6, 4, 1, 8)
X, W, G = torch.zeros(2, 3, 9, 9), torch.zeros(4, 3, 5, 5), torch.zeros(2, 4, 5, 5)
CUT = {"stride": [1, 1], "padding": [0, 0], "n": [9, 9]}
FAR, MORE = 1 << 40, 400 << 20  # what no memory holds, and the bytes that a call may take


def at(place, kind=torch.long):
    """Windows of which one position is another."""
    index = PLACES.to(kind)
    index[1, 1, 2] = place
    return index


def cut(**changed):
    return list({**CUT, **changed}.values())


def convolved(x=X, w=W, **changed):
    return lambda: OP.spectral(x, w, None, None, *cut(**changed))


def backward(**changed):
    return lambda: OP.spectral_backward(G, X, W, *cut(**changed), True, True)


CALLS = {
    "gathered: a place before the first": lambda: OP.gathered(POSE, at(-FAR), 1),
    "gathered: places that are no whole numbers": lambda: OP.gathered(POSE, at(1, torch.float), 1),
    "gathered: no rows": lambda: OP.gathered(POSE, PLACES, 0),
    "ungathered: a place before the first": lambda: OP.ungathered(GRADIENT, at(-FAR), [2, 3, 3, 2, 4], 1),
    "ungathered: a negative side": lambda: OP.ungathered(GRADIENT, PLACES, [2, -3, -3, 2, 4], 1),
    "ungathered: no rows": lambda: OP.ungathered(GRADIENT, PLACES, [2, 3, 3, 2, 4], 0),
    "spectral: stride 0": convolved(stride=[0, 1]),
    "spectral: one stride": convolved(stride=[]),
    "spectral: a huge stride": convolved(stride=[FAR, FAR], n=[1, 1]),
    "spectral: negative padding": convolved(padding=[-1, 0]),
    "spectral: huge padding": convolved(padding=[FAR << 21, 0]),
    "spectral: much padding": convolved(padding=[1 << 62, 1 << 62]),
    "spectral: a huge transform": convolved(n=[FAR, 9]),
    "spectral: a huge transform along both axes": convolved(n=[1 << 32, 1 << 32]),
    "spectral: no size of a transform": convolved(n=[]),
    "spectral: a matrix": lambda: OP.spectral(torch.zeros(3, 3), W, None, None, *cut()),
    "spectral: no channels": convolved(torch.zeros(2, 0, 9, 9), torch.zeros(4, 0, 5, 5)),
    "spectral: an empty kernel": convolved(w=torch.zeros(4, 3, 0, 5)),
    "spectral_backward: stride 0": backward(stride=[1, 0]),
    "spectral_backward: one stride": backward(stride=[]),
    "spectral_backward: a huge transform": backward(n=[FAR, FAR]),
    "spectral_kernel: stride 0": lambda: OP.spectral_kernel(X, W, *cut(stride=[0, 0])),
    "spectral_kernel: no channels": lambda: OP.spectral_kernel(X[:, :0].clone(), W[:, :0].clone(), *cut()),
    "spectral_kernel: a huge transform": lambda: OP.spectral_kernel(X, W, *cut(n=[FAR, FAR])),
    "room: negative sides": lambda: OP.room([-(1 << 13), -(1 << 13)], X),
    "room: sides whose product wraps round": lambda: OP.room([FAR + 1, 1 << 24], X),
    "scaled: maps of five axes": lambda: OP.scaled(
        torch.zeros(2, 3, 4), torch.zeros(3, 4, 2, 2, 9), torch.zeros(3, 2, 1)
    ),
    "scaled: couplings of two axes": lambda: OP.scaled(
        torch.zeros(2, 3, 4), torch.zeros(3, 4, 2, 2), torch.zeros(3, 2)
    ),
    "attend_stored: no votes": lambda: OP.attend_stored(torch.zeros(2, 2), None, None, None, [1, 1, 2], False),
    "attend_stored: two sizes": lambda: OP.attend_stored(X[None], None, None, None, [], False),
    "attend_stored: negative sizes": lambda: OP.attend_stored(X[None], None, None, None, [-1, -1, 2], False),
    "turned: a line": lambda: OP.turned(torch.zeros(3)),
    "squash: a number": lambda: OP.squash(torch.tensor(1.0), False),
}  # fmt: skip


def ended(call):
    """How a child ends that makes the call: '' after an error of Python's."""
    child = os.fork()
    if not child:
        try:
            signal.alarm(10)
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MORE,) * 2)
            call()
        except (ValueError, RuntimeError, IndexError, MemoryError, TypeError):
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return "" if not status else "answered" if status == 1 else signal.Signals(-status).name


if __name__ == "__main__":
    torch.set_num_threads(1)  # threads of a pool do not live on in a child
    assert native.status() == "native"
    for name, call in CALLS.items():
        found = ended(call)
        if found:
            print(f"{name}: {found}", flush=True)
