"""A measure of one's own: how sure a network is of its answers, where they are right and where they are wrong."""

from dataclasses import dataclass

from torchcaps import Parse, create_model
from torchcaps.data import Batch, Dataset, load
from torchcaps.measures import Accuracy, Result, Table, walk
from torchcaps.network import Model
from torchcaps.types import Record


@dataclass(frozen=True)
class SurenessResult(Result):
    """The mean probability of the class named, over images that were right and over those that were wrong."""

    right: float | None
    wrong: float | None

    def table(self) -> Table:
        rows = [("right", self.right), ("wrong", self.wrong)]
        return Table(("answers", "probability"), [(k, "–" if v is None else f"{v:.1%}") for k, v in rows])


class Sureness:
    """An accumulator: it sees each batch once, and keeps two sums and two counts."""

    record: Record = "none"  # scores are enough; "last" or "all" would give it the couplings too

    def begin(self, model: Model, data: Dataset) -> None:
        self.model, self.sums, self.counts = model, {True: 0.0, False: 0.0}, {True: 0, False: 0}

    def update(self, parse: Parse, batch: Batch) -> None:
        sure, said = self.model.probabilities(parse.scores).max(-1)
        for probability, hit in zip(sure.tolist(), (said == batch.labels[:, 0].to(said.device)).tolist(), strict=True):
            self.sums[hit] += probability
            self.counts[hit] += 1

    def result(self) -> SurenessResult:
        means = {hit: self.sums[hit] / n if n else None for hit, n in self.counts.items()}
        return SurenessResult(means[True], means[False])


def main() -> None:
    """One walk over test images, for it and for another measure."""
    net = create_model("sabour2017/capsnet", pretrained=True)
    for result in walk(net, load("glyphs", "test", count=300), [Sureness(), Accuracy()]):
        print(result)


if __name__ == "__main__":
    main()
