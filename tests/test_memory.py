"""How much memory may still be taken, from files of the system that are made up."""

import pytest

from torchcaps import _memory


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system of which nothing is known yet; called with a file and its text, it has that file too."""
    monkeypatch.setattr(_memory, "Path", lambda name: tmp_path / name.lstrip("/"))

    def has(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    return has


def test_the_least_of_what_the_system_says(system):
    assert _memory.memory() == 2**62
    system(
        "proc/meminfo", "MemTotal:        8000 kB\nMemFree:           10 kB\nMemAvailable:    3000 kB\nBuffers:  1 kB\n"
    )
    assert _memory.memory() == 3000 * 1024
    system("sys/fs/cgroup/memory.high", "5\n")  # from there on a container is slowed down, no more
    system("sys/fs/cgroup/memory.max", "max\n")
    assert _memory.memory() == 3000 * 1024
    system("sys/fs/cgroup/memory.max", f"{2**30}\n")
    assert _memory.memory() == 3000 * 1024
    system("sys/fs/cgroup/memory.max", "1000000\n")
    assert _memory.memory() == 1_000_000


def test_the_limit_of_an_older_kernel(system):
    system("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n")
    assert _memory.memory() == 2_000_000
