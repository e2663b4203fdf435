"""A run of the bench: what is left of the plan goes to an executor, and what comes back is counted and told."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

from torchcaps._shown import print_shown
from torchcaps.bench import store
from torchcaps.bench.artefact import Artefact, Scale
from torchcaps.bench.executors import Executor
from torchcaps.bench.place import Place
from torchcaps.bench.plan import Plan, plan
from torchcaps.bench.progress import Progress
from torchcaps.bench.spans import span

Say = Callable[[str], None]


def run(
    artefacts: Sequence[Artefact],
    scale: Scale,
    place: Place,
    executor: Executor,
    *,
    seeds: int | None = None,
    say: Say = print_shown,
    title: str = "",
) -> Counter[str]:
    """Do what is left to do, and count how jobs ended.

    Args:
        seeds: instead of as many as the scale has.
        say: for what people must know.
        title: of the progress; "bench" and the scale if empty.
    """
    mend(place, say)
    todo = plan(artefacts, scale, place, seeds=seeds)
    states: Counter[str] = Counter()
    with Progress(todo, title=title or f"bench {scale}") as progress:
        together = [unit for unit in todo.units if not unit.alone]
        alone = [[unit] for unit in todo.units if unit.alone]
        for event in chain.from_iterable(executor(units, place) for units in [together, *alone] if units):
            progress.hear(event)
            if event is not None:
                states[event[1]] += 1
    return states


def mend(place: Place, say: Say) -> None:
    """Name lines that are damaged and set them aside, so that their jobs are done again."""
    _, problems = store.results(place.results)
    for problem in problems:
        say(f"damaged, its job is run again: {problem}")
    store.set_aside(problems)


def describe(todo: Plan, workers: int) -> str:
    """What a plan would do: jobs, time, memory."""
    jobs, trainings = len(todo.jobs), len(todo.trainings)
    lines = [
        f"{jobs} judgings to do, {todo.finished} finished; {trainings} trainings between them",
        f"about {span(todo.seconds(workers))} with {workers} processes, {todo.megabytes(workers):,.0f} MB of memory",
    ]
    if any(unit.alone for unit in todo.units):
        lines.append(f"{sum(len(unit.jobs) for unit in todo.units if unit.alone)} of them run alone: they measure time")
    return "\n".join(lines)
