"""A Ray cluster, or Ray on this machine. All machines must see the same results and work folders."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from torchcaps.bench.executors._base import TRIES, Event, ended, perform_unit
from torchcaps.bench.place import Place
from torchcaps.bench.plan import Unit


def on_ray(units: Sequence[Unit], place: Place, *, workers: int) -> Iterator[Event]:
    """A task for each unit, a core each; Ray gives a task whose worker is lost to another, which goes on from there.

    Ray joins the cluster that RAY_ADDRESS names, or starts on this machine with as many workers as asked for.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise ValueError("Ray is not installed: pip install 'torchcaps[ray]'") from None
    ours = not ray.is_initialized()
    if ours:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        before = signal.getsignal(signal.SIGTERM)
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        task = ray.remote(num_cpus=1, max_retries=TRIES - 1)(perform_unit)
        waiting = {task.remote(unit, place): unit for unit in units}
        while waiting:
            ready, _ = ray.wait(list(waiting), timeout=1)
            for reference in ready:
                states, reason = _result(reference)
                yield from ended(waiting.pop(reference), place, states, reason)
            if not ready:
                yield None
    finally:
        if ours:
            ray.shutdown()
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, before)  # Ray's own would end the process from now on


def _result(reference: Any) -> tuple[dict[str, str], str]:
    """How the jobs of a task ended, or why nobody knows."""
    import ray

    try:
        return dict(ray.get(reference)), ""
    except ray.exceptions.RayError as error:
        return {}, f"Ray lost it {TRIES} times: {type(error).__name__}"
