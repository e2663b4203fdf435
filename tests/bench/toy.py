"""A small artefact for the machinery: the sign of a number, with a few rows and seconds of work; also a program."""

import sys
from pathlib import Path

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import above, every, greater
from torchcaps.bench.executors import make_executor
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.perform import perform
from torchcaps.bench.place import Place
from torchcaps.bench.runner import run
from torchcaps.bench.table import Column, grid

TINY = {"images": 300, "epochs": 1}
SLOW = {"images": 2000, "epochs": 3}
PRINTED = {"accuracy": 49.61}


def toy(rows=("rba", "rba_bias"), *, settings=TINY, version=1, seeds=2, others=None, name="peer2021/table1"):
    """Rows of networks without a bias and with one; `others` are rows with settings of their own."""
    made = [Row(row, row, {"options": {"bias": row.endswith("bias")}}, PRINTED) for row in rows]
    made += [Row(row, row, of) for row, of in (others or {}).items()]
    budget = Budget(minutes=0.1, seeds=seeds, settings=settings)
    first, last = rows[0], rows[-1]
    return Artefact(
        id=name,
        title="The sign of a number",
        kind="table",
        rows=tuple(made),
        settings={
            "model": "peer2021/sign",
            "data": "sign",
            "batch_size": 32,
            "lr": 5e-3,
            "validation": 0.0,
            "save_every": 20,
        },
        measures=(MeasureSpec("accuracy", {"on": "accuracy", "count": 200}),),
        budgets={"smoke": budget, "cpu": budget},
        tables=(grid(made, [Column("accuracy", "accuracy")]),),
        claims={"no_bias": every(greater(last, first, "accuracy")), "bias": above(last, 0.99, "accuracy")},
        version=version,
    )


def place(folder, scale="cpu", run="one"):
    """A folder for everything."""
    return Place(folder / "results" / scale, folder / "work", scale, run)


def inline(units, where):
    """An executor without processes."""
    for unit in units:
        yield from perform(unit.jobs, where)


def numbers(results):
    """What was found, by artefact, row and seed, without times and machines."""
    return {
        (line["artefact"], line["row"], line["seed"]): line["numbers"]
        for line in results.values()
        if line["job"] == "judging" and line["state"] == "done"
    }


if __name__ == "__main__":
    run([toy(settings=SLOW, seeds=1)], "cpu", place(Path(sys.argv[1])), make_executor("local", 1))
