"""What a contest leaves: a row for each network, with intervals over seeds and images, and the first one's networks."""

from dataclasses import dataclass
from statistics import fmean

from torchcaps.bench.compare.contest import Contest, Entrant
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import Gathered
from torchcaps.bench.place import Place
from torchcaps.bench.sample import single
from torchcaps.bench.trained import trained
from torchcaps.data import Dataset
from torchcaps.measures import Result, Score, inspect
from torchcaps.network import Model
from torchcaps.report import Curve, Row, dead_of, dynamics_of, parameters

LOOKED_AT = ("activity", "dynamics", "parse_tree")


@dataclass(frozen=True)
class Outcome:
    """Everything that is shown of a contest.

    Args:
        data: the test images.
        models, found: of the first seed, by the entrants' names: each network, and what was measured of its capsules.
    """

    contest: Contest
    gathered: Gathered
    data: Dataset
    rows: list[Row]
    curves: list[Curve]
    models: dict[str, Model]
    found: dict[str, dict[str, Result]]


def outcome(contest: Contest, gathered: Gathered, place: Place) -> Outcome:
    """Look at the networks of the first seed, and put all numbers together."""
    data = contest.images()
    made = Outcome(contest, gathered, data, [], [], {}, {})
    firsts = {job.row: job.training for job in gathered.artefact.judgings("cpu", 1)}
    for entrant in contest.entrants:
        training = firsts[entrant.id]
        if training is None:
            raise ValueError(f"{entrant.name} is not trained")
        own = trained(training, place)
        made.models[entrant.name], made.found[entrant.name] = own.model, inspect(own.model, data, LOOKED_AT)
        made.rows.append(_row(entrant, made))
        accuracies = [entry.get("validation_accuracy", float("nan")) for entry in own.history]
        made.curves.append(Curve(entrant.name, [entry["loss"] for entry in own.history], accuracies))
    return made


def score(at: At, gathered: Gathered) -> Score:
    """A share of images: with several seeds its interval is over seeds and images, with one over images alone."""
    found = gathered.evidence[at]
    seen = [number.images for number in found.values() if number.images is not None]
    if len(seen) < 2:
        return Score.of(int(seen[0].sum()), len(seen[0]))
    sample = single(at, gathered.evidence, list(found))
    low, high = sample.interval()
    return Score(sample.mean, len(seen[0]), (max(0.0, low), min(1.0, high)))


def _row(entrant: Entrant, made: Outcome) -> Row:
    gathered, found = made.gathered, made.found[entrant.name]
    lines = [gathered.lines[entrant.id, seed] for seed in gathered.seeds(entrant.id)]
    own, beside = parameters(made.models[entrant.name])
    scores = {test: score(At(entrant.id, test), gathered) for test in made.contest.tests}
    return Row(
        entrant.name,
        entrant.detail,
        own,
        beside,
        round(fmean(line["training_seconds"] for line in lines), 1),
        scores,
        dead_of(found["activity"]),
        dynamics_of(found["dynamics"]),
    )
