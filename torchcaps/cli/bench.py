"""`torchcaps bench`: the claims of five papers, put to the test."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from torchcaps.cli._say import say

if TYPE_CHECKING:
    from torchcaps.bench.artefact import Artefact

app = typer.Typer(no_args_is_help=True, help="Put the claims of five papers about capsules to the test.")

Scale = Literal["smoke", "cpu", "trained", "paper"]
Backend = Literal["local", "ray", "slurm"]
Results = Annotated[Path, typer.Option(help="Folder of the results, with a folder for each scale.")]
RESULTS, WORK, PAGE = Path("results"), ".work", "report.html"


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the claims as sentences.")] = False,
    results: Results = RESULTS,
) -> None:
    """The artefacts with their claims, and what became of them."""
    from torchcaps.bench.listing import listing

    entries = listing(_all(), results)
    if as_json:
        say(json.dumps(entries, indent=1, ensure_ascii=False))
        return
    for entry in entries:
        say(f"{entry['id']}: {entry['title']}")
        for claim in entry["claims"]:
            said = ", ".join(f"{word} at {scale}" for scale, word in claim["verdicts"].items())
            say(f"  {claim['id']}: {said or 'not run'}")


@app.command()
def run(
    artefacts: Annotated[
        list[str] | None, typer.Argument(help="Which ones, such as gu2021/table1; all that have the scale if none.")
    ] = None,
    scale: Annotated[
        Scale, typer.Option(help="How much of each: seconds, minutes, until it has learned, or as the paper did.")
    ] = "smoke",
    seeds: Annotated[int | None, typer.Option(min=1, help="Instead of as many as the scale has.")] = None,
    backend: Annotated[Backend, typer.Option(help="Where the work is done.")] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes side by side; a core each if not given.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell jobs, time and memory, and do nothing.")] = False,
    results: Results = RESULTS,
    work: Annotated[Path | None, typer.Option(help="Folder for weights and checkpoints.")] = None,
) -> None:
    """Do what is not done yet: train, judge, store."""
    import uuid

    from torchcaps.bench.executors import make_executor
    from torchcaps.bench.place import Place
    from torchcaps.bench.plan import plan
    from torchcaps.bench.runner import describe
    from torchcaps.bench.runner import run as run_bench

    chosen = _chosen(artefacts, scale)
    place = Place(results / scale, work or results / WORK, scale, run=uuid.uuid4().hex[:8])
    count = workers or os.cpu_count() or 1
    say(describe(plan(chosen, scale, place, seeds=seeds), count))
    if dry_run:
        return
    executor = make_executor(backend, count)
    states = run_bench(chosen, scale, place, executor, seeds=seeds, say=say)
    say(", ".join(f"{number} {state}" for state, number in sorted(states.items())) or "nothing was left to do")
    if states["failed"]:
        raise ValueError(f"{states['failed']} jobs failed: torchcaps bench report shows why")


@app.command()
def report(
    out: Annotated[
        Path | None,
        typer.Option(
            help="A file or folder for the page, and nothing else is written; beside the results if not given."
        ),
    ] = None,
    accept: Annotated[
        str, typer.Option(metavar="REASON", help="Why lines of the verdicts have changed or vanished, if any have.")
    ] = "",
    results: Results = RESULTS,
) -> None:
    """Judge every claim by the stored results, and write one page about all of them."""
    from torchcaps._atomic import NotWrittenError
    from torchcaps.bench.page import write_page
    from torchcaps.bench.summary import computed, write

    if out and out.is_dir():
        out /= PAGE
    try:
        made = computed(_all(), results) if out else write(_all(), results, accept=accept)
        if not made:
            raise ValueError(f"there are no results in {results}: torchcaps bench run makes some")
        page = write_page(out or results / PAGE, _all(), made, results)
    except NotWrittenError:
        for scale, found in computed(_all(), results).items():
            for name, one in found.items():
                for claim in one["claims"]:
                    say(f"{name}, {claim['id']}: {claim['word']} at {scale}")
        raise
    say(f"written: {page}")


@app.command()
def verify(
    page: Annotated[Path | None, typer.Option(help="The report; the one beside the results if not given.")] = None,
    complete: Annotated[
        Scale | None, typer.Option(help="A scale at which no artefact or claim may be missing.")
    ] = None,
    results: Results = RESULTS,
) -> None:
    """Compute every verdict, every table and the page again from the stored results; any difference is an error.

    So is a claim or a setting that is not what was frozen and stands in no deviation.
    """
    from torchcaps.bench.freeze import thawed, unfrozen
    from torchcaps.bench.page_check import drawn_elsewhere
    from torchcaps.bench.verify import gaps
    from torchcaps.bench.verify import verify as verify_bench

    if not results.is_dir():
        raise ValueError(f"there are no results in {results}: torchcaps bench run makes some")
    found = verify_bench(_all(), results, page or results / PAGE)
    found += [*thawed(_all()), *unfrozen(_all(), results)]
    found += gaps(_all(), results, complete) if complete else []
    for difference in found:
        say(difference)
    if found:
        raise ValueError(f"{len(found)} differences from what the results say, or gaps")
    say("every verdict and every table is what the results say")
    if others := drawn_elsewhere(page or results / PAGE):
        say(f"{others} pictures of the page were drawn by another version of Matplotlib: they were not compared")


@app.command()
def freeze(
    paper: Annotated[str, typer.Argument(help="Its key, such as gu2021.")],
    results: Results = RESULTS,
) -> None:
    """Write down digests of a paper's claims, settings and measures, before there are results."""
    from torchcaps.bench.freeze import freeze as freeze_paper

    say(f"written: {freeze_paper(paper, _all(), results)}")


def _all() -> "list[Artefact]":
    from torchcaps.bench.papers import artefacts

    return list(artefacts().values())


def _chosen(names: list[str] | None, scale: Scale) -> "list[Artefact]":
    """The named artefacts, or all that have a scale."""
    import difflib

    known = {artefact.id: artefact for artefact in _all()}
    for name in names or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            hint = f"did you mean {', '.join(map(repr, near))}?" if near else "torchcaps bench list names them all"
            raise ValueError(f"there is no artefact {name!r}: {hint}")
        if scale not in known[name].budgets:
            raise ValueError(f"{name} has no scale {scale!r}: it has {', '.join(map(repr, known[name].budgets))}")
    return [artefact for name, artefact in known.items() if (name in names if names else scale in artefact.budgets)]
