"""Becoming a ninja that ends with the process which started it: one that is killed leaves no compilers running.

This runs as a script, without torch: `python _ninja.py PARENT NINJA [ARGUMENT…]`.
"""

import ctypes
import os
import shlex
import signal
import sys
from pathlib import Path

SIGNAL_AT_THE_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG of Linux


def put_into(folder: Path, ninja: Path) -> None:
    """Write a `ninja` into a folder for the `PATH`, which runs the true one for this process and ends with it.

    Linux alone can tie a process to its parent's life; elsewhere nothing is written.
    """
    if not sys.platform.startswith("linux"):
        return
    from torchcaps._atomic import write_text  # the script itself starts without the package

    command = shlex.join([sys.executable, "-I", "-S", __file__, str(os.getpid()), str(ninja)])
    write_text(folder / "ninja", f'#!/bin/sh\nexec {command} "$@"\n')
    (folder / "ninja").chmod(0o700)


def become(parent: int, command: list[str]) -> None:
    """Replace this process by a command that is asked to end when its parent has ended."""
    ctypes.CDLL(None).prctl(SIGNAL_AT_THE_PARENTS_DEATH, signal.SIGTERM)  # ninja then ends what it has started
    if os.getppid() != parent:  # which ended before
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])
