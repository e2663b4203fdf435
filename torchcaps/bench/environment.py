"""Where a result comes from: machine, versions, commit."""

import os
import platform
import resource
import subprocess
from functools import cache
from pathlib import Path

from torchcaps._version import __version__


@cache
def environment() -> dict[str, str]:
    """The versions and the machine that a result depends on, if on anything."""
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else _processor()
    return {
        "torchcaps": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": device,
        "threads": str(torch.get_num_threads()),
    }


@cache
def commit() -> str:
    """The commit of this code, with a plus if files differ from it; empty where there is none."""
    here = Path(__file__).parent
    try:
        found = _git(here, "rev-parse", "HEAD")
        changed = _git(here, "status", "--porcelain", "--", str(here.parent))
    except (OSError, subprocess.SubprocessError):
        return ""
    return found + "+" * bool(changed)


def peak_megabytes() -> float:
    """The most memory this process has had."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def _git(folder: Path, *words: str) -> str:
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, env=quiet)
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
