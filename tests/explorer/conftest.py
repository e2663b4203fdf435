"""The explorer as people start it: a process of its own, on a port that is free."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from torchcaps.explorer import gather

COMMAND = [sys.executable, "-c", "from torchcaps.cli import main; main()", "explore", "--no-browser", "--port", "0"]


class Running(NamedTuple):
    address: str
    process: subprocess.Popen

    @property
    def port(self):
        return int(re.search(r":(\d+)/$", self.address).group(1))

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def memory(self):
        """Megabytes that the process holds."""
        kilobytes = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text()).group(1)
        return int(kilobytes) / 1024


@pytest.fixture(scope="session")
def explorer():
    """With no argument: the networks that ship."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            said = process.stdout.readline()
            yield Running(re.search(r"http://\S+/", said).group(), process)
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def gallery():
    return gather()
