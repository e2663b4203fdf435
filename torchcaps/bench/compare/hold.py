"""Holding a contest: what is not done yet goes to an executor, as all work of the bench does."""

import uuid
from pathlib import Path

from torchcaps.bench import store
from torchcaps.bench.artefact import Artefact
from torchcaps.bench.compare.contest import Contest
from torchcaps.bench.compare.outcome import Outcome, outcome
from torchcaps.bench.executors import Executor
from torchcaps.bench.gather import gather
from torchcaps.bench.place import Place
from torchcaps.bench.plan import plan
from torchcaps.bench.runner import Say, run
from torchcaps.train.estimate import estimate

RESULTS, WORK = "results", ".work"


def place_of(folder: Path) -> Place:
    """Where a contest's results and weights lie; what is there already is not done again."""
    return Place(folder / RESULTS, folder / WORK, "cpu", run=uuid.uuid4().hex[:8])


def foresee(contest: Contest, place: Place) -> Artefact:
    """The contest as an artefact that knows how long it takes, by a few timed steps of each network."""
    if not plan([contest.artefact()], "cpu", place).jobs:
        return contest.artefact()
    seconds = 0.0
    for entrant in contest.entrants:
        values = contest.training(entrant).to_json()
        seconds += estimate(values.pop("model"), values.pop("data"), **values).seconds
    return contest.artefact(seconds * contest.seeds / 60)


def hold(contest: Contest, place: Place, executor: Executor, say: Say) -> Outcome:
    """Train and judge what is not there yet; a training that failed is an error that says why."""
    artefact = foresee(contest, place)
    run([artefact], "cpu", place, executor, say=say, title=artefact.title)
    gathered = gather(artefact, "cpu", store.results(place.results)[0])
    if gathered.failed:
        line = gathered.failed[0]
        raise ValueError(
            f"{len(gathered.failed)} of {gathered.expected} trainings failed; {line['row']}, seed {line['seed']}: "
            f"{line['error'].splitlines()[0]}"
        )
    return outcome(contest, gathered, place)
