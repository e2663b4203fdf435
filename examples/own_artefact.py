"""A claim of one's own, put to the bench: rows, a measure, a budget, and what is claimed of the numbers.

In this repository an artefact is a file under torchcaps/bench/papers/, and claims.toml beside it has its sentences.
"""

import sys
from pathlib import Path

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import greater
from torchcaps.bench.executors import make_executor
from torchcaps.bench.frozen import frozen
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.place import Place
from torchcaps.bench.runner import run
from torchcaps.bench.summary import summaries
from torchcaps.bench.table import Column, grid

ROWS = (
    Row("plain", "no bias", {"options": {"bias": False}}),
    Row("bias", "bias", {"options": {"bias": True}}),
)
ARTEFACT = Artefact(
    id="mine/bias",
    title="Does a bias help to tell the sign of a number?",
    kind="table",
    rows=ROWS,
    settings={"model": "peer2021/sign", "data": "sign", "batch_size": 64, "lr": 5e-3, "validation": 0.0},
    measures=(MeasureSpec("accuracy", {"on": "accuracy", "count": 1000}),),
    budgets={"smoke": Budget(minutes=0.2, seeds=5, settings={"images": 2000, "epochs": 2})},
    tables=(grid(ROWS, [Column("accuracy", "accuracy")]),),
    claims={"helps": greater("bias", "plain", "accuracy")},
)
SENTENCES = {"helps": "A bias on the votes raises accuracy."}


def main(folder: str = "build/mine") -> None:
    """Run it, store the results, judge the claim by them."""
    frozen()[ARTEFACT.id] = SENTENCES
    place = Place(Path(folder) / "smoke", Path(folder) / "work", "smoke")
    run([ARTEFACT], "smoke", place, make_executor("local", 1))
    found, _ = summaries([ARTEFACT], "smoke", place.results)
    for claim in found[ARTEFACT.id]["claims"]:
        print(f"{claim['sentence']} {claim['word']}: {claim['reason']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
