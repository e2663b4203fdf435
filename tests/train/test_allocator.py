"""A process that was asked to keep freed memory takes no new pages for what it frees and takes again."""

import os
import subprocess
import sys

import pytest

PAGES = """
import resource, sys
import torch
from torchcaps.train.allocator import keep_freed_memory

kept = keep_freed_memory() if "keep" in sys.argv else None
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    [torch.ones(5 << 20) for _ in range(8)]
before = faults()
[torch.ones(5 << 20) for _ in range(8)]
print(kept, faults() - before)
"""
OWN = ("GLIBC_TUNABLES", "MALLOC_")


def pages(*words, **more):
    """What the function says, and how many pages eight tensors of 20 MB took that had been there before."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    done = subprocess.run(
        [sys.executable, "-c", PAGES, *words], env={**clean, **more}, capture_output=True, text=True, check=True
    )
    said, count = done.stdout.split()
    return said, int(count)


def test_freed_memory_is_taken_again_without_new_pages():
    said, count = pages("keep")
    assert said == "True"
    assert count < 100


@pytest.mark.parametrize(
    ("name", "value"),
    [("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")],
)
def test_variables_of_the_user_stand(name, value):
    said, count = pages("keep", **{name: value})
    assert said == "False"
    assert count > 1000
