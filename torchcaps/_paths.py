"""Where torchcaps keeps what it fetched and built."""

import os
from pathlib import Path


def cache_home() -> Path:
    """The platform's cache directory for torchcaps."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return Path(base).expanduser() / "torchcaps"
