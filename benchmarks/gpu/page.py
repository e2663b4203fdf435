"""The page of a run on a card: the tables of docs/speed.md, with a column for every way."""

from benchmarks.gpu.parts import COMPILED
from benchmarks.gpu.timing import FULL, LACKING
from benchmarks.speed import layers, networks, scaling, tables
from benchmarks.speed.layers import PLAIN
from benchmarks.speed.result import OURS, TEXTBOOK, Row, Run
from benchmarks.speed.tables import against, by_mode, memory, milliseconds, table

WAYS = {TEXTBOOK: "textbook, ms", COMPILED: "compiled, ms", PLAIN: "plain torch, ms", OURS: "torchcaps, ms"}
TEXTS = {
    layers.PART: ("One layer", "The forward pass, and in training all gradients."),
    networks.PART: ("Whole networks", "A training step has its loss, its decoder and Adam besides."),
    networks.MODELS: ("Every paper's model", "At the paper's image size, a batch of 8."),
    scaling.PART: ("How time grows", "Dynamic routing, fully connected; one axis at a time."),
}


def page(run: Run) -> str:
    """All tables; a dry run says that it is none."""
    facts = run.machine
    told = f"{facts['card']}, torch {facts['torch']}, {facts['date']}; passes: {facts['passes']}."
    told = f"**A dry run with small sizes: no measurement.** {told}" if facts["quick"] else told
    parts = [f"# Speed on {facts['card']}\n", f"{told}\n", *(_part(run, part) for part in TEXTS)]
    return "\n".join(text for text in (*parts, tables.peak(run, facts["passes"])) if text)


def _part(run: Run, part: str) -> str:
    rows = [
        [name, mode, *(_time(row, way) for way in WAYS), _rate(row), against(row), against(row, COMPILED), memory(row)]
        for name, modes in by_mode(run, part).items()
        for mode, row in modes.items()
    ]
    header = ("workload", "", *WAYS.values(), "images/s", "× textbook", "× compiled", "peak memory")
    return table(*TEXTS[part], header, rows)


def _time(row: Row, way: str) -> str:
    """Milliseconds, or why there are none."""
    why = row.notes.get(LACKING, {}).get(way)
    return milliseconds(row, way) if why is None else why if why == FULL else "not compiled"


def _rate(row: Row) -> str:
    return f"{row.notes['batch'] / row.costs[OURS].seconds:,.0f}" if OURS in row.costs else "–"
