"""A disk on which files end after so many bytes: the system itself cuts them, as a full one does."""

import resource
from contextlib import contextmanager

WHY = "File too large"


@contextmanager
def room_for(count):
    """Files that this process writes meanwhile are cut after so many bytes, and writing more is an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
