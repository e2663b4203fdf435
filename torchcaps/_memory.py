"""How much memory this process may still take."""

from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory() -> int:
    """Bytes of memory that this process may still take; where the system does not say, as many as one can count."""
    bounds = [2**62]
    status = Path("/proc/meminfo")
    if status.exists():
        lines = dict(line.split(":") for line in status.read_text().splitlines())
        bounds.append(int(lines["MemAvailable"].split()[0]) * 1024)
    limits = [Path(limit).read_text().strip() for limit in _LIMITS if Path(limit).exists()]
    return min(bounds + [int(limit) for limit in limits if limit.isdigit()])
