"""Where jobs run: processes of this machine, a Ray cluster, or Slurm. All do the same work, see `perform`."""

from torchcaps.bench.executors._base import Event, Executor, make_executor

__all__ = ["Event", "Executor", "make_executor"]
