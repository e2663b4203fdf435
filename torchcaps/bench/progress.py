"""How far a run is: a bar on a terminal, a line every few seconds where it is piped."""

import time
from collections import Counter

from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar

from torchcaps._console import Console
from torchcaps.bench.executors import Event
from torchcaps.bench.plan import Plan
from torchcaps.bench.spans import span

EVERY = 5.0


class Progress:
    """Over the whole run: jobs done and failed, the share of the expected work, the time left.

    The time left assumes that what is to come takes as many times its expected time as what is done has.

    Args:
        every: seconds between lines, where there is no terminal.
    """

    def __init__(self, plan: Plan, *, title: str, console: Console | None = None, every: float = EVERY) -> None:
        self.console = Console(stderr=True) if console is None else console
        self.expected = {job.name: unit.seconds / len(unit.jobs) for unit in plan.units for job in unit.jobs}
        self.finished, self.title, self.every = plan.finished, title, every
        self.total = sum(self.expected.values(), start=0.0)
        self.states, self.done, self.last = Counter[str](), 0.0, ""
        self.began = self.told = time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        self.bar = Bar(*columns, console=self.console, disable=not self.console.is_terminal, transient=True)
        self.task = self.bar.add_task(title, total=max(self.total, 1e-9))

    def __enter__(self) -> "Progress":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        self._say()

    def hear(self, event: Event) -> None:
        """A job has ended; or a second has passed."""
        if event is not None:
            job, state = event
            self.states[state] += 1
            self.done += self.expected[job.name]
            self.last = job.title
        self.bar.update(self.task, completed=self.done, description=str(self))
        if not self.console.is_terminal and time.monotonic() - self.told >= self.every:
            self._say()

    def __str__(self) -> str:
        ended = sum(self.states.values())
        parts = [f"{self.title}: {ended} of {len(self.expected)} jobs"]
        parts += [f"{count} {state}" for state, count in sorted(self.states.items()) if state != "done"]
        if self.finished:
            parts.append(f"{self.finished} were finished before")
        if self.expected and not ended:
            parts.append(f"about {span(self.total)} of work")
        elif ended < len(self.expected):
            parts.append(f"{span(self.left())} left")
        return ", ".join(parts) + (f"; last {self.last}" if self.last else "")

    def left(self) -> float:
        """Seconds that are left, by the pace so far."""
        return (time.monotonic() - self.began) * (self.total - self.done) / max(self.done, 1e-9)

    def _say(self) -> None:
        self.told = time.monotonic()
        self.console.print(str(self), highlight=False, markup=False, soft_wrap=True)
