"""Is the new tree slower than the old one, in any row of the speed suite?

    python -m benchmarks.paired --old DIR|REV [--new DIR|REV] [PATTERN …] [--pairs N] [--minutes M] [--json FILE]
    python -m benchmarks.paired --self

Each tree has a process of one thread. Both build the same workload, as the new tree defines it, from the same seed;
they are timed by turns, old, new, new, old, … A row fails if the 95 % interval of the median ratio new ÷ old lies
wholly above 1.03, or if the new tree alone cannot run it; then the exit code is 1. Where memory happens to lie makes
one process slower than another at the same code: a row that fails is measured again in new processes, and judged by
all its pairs. Judge by processor time on a busy machine, by `--clock wall` on one that has nothing else to do. A
pattern is of `part/workload`, as in `'layers/dynamic*'`. `--self` compares a tree with itself, which shows the noise.
"""

import argparse
import fnmatch
from contextlib import ExitStack
from pathlib import Path

from benchmarks.paired.interval import FEWEST
from benchmarks.paired.pairs import CLOCKS, Apart, Plan
from benchmarks.paired.process import Setting
from benchmarks.paired.result import Found, failing, summary
from benchmarks.paired.run import Run
from benchmarks.paired.trees import HERE, tree
from benchmarks.speed.result import machine


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paired", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="workloads, as part/name; all if not given")
    parser.add_argument("--old", metavar="DIR|REV", help="what to compare with")
    parser.add_argument("--new", metavar="DIR|REV", default=str(HERE), help="this checkout if not given")
    parser.add_argument("--self", action="store_true", dest="noise", help="the new tree against itself")
    parser.add_argument("--pairs", type=int, default=41, metavar="N", help="of every row, at most (41)")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="M", help="shared out among the rows")
    parser.add_argument("--again", type=int, default=1, metavar="N", help="how often to repeat what fails (1)")
    parser.add_argument("--clock", choices=CLOCKS, default=CLOCKS[0], help="which time the verdict is of (processor)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="such as benchmarks/results/paired-OLD-NEW.json")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything works")
    options = parser.parse_args()
    if options.noise == bool(options.old):
        parser.error("one of --old and --self is needed")
    if options.pairs < FEWEST:
        parser.error(f"--pairs {options.pairs} is not allowed: of fewer than {FEWEST} there is no 95 % interval")
    if not options.minutes > 0:
        parser.error(f"--minutes {options.minutes:g} is not allowed: it must be more than 0")
    return options


def main() -> None:
    options = parsed()
    try:
        found = run(options)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(summary(found, options.clock))
    raise SystemExit(int(bool(failing(found, options.clock))))


def run(options: argparse.Namespace) -> list[Found]:
    """Compare, tell every row as it comes, and store what there is after each workload."""
    with ExitStack() as stack:
        new = stack.enter_context(tree(options.new))
        old = new if options.noise else stack.enter_context(tree(options.old))
        definitions = new.folder if (new.folder / "benchmarks/paired").is_dir() else HERE
        setting = Setting(old, new, definitions, options.quick)
        run = Run(options.clock, options.json, {"machine": {**machine(quick=options.quick), "threads": 1}})
        with setting.processes() as both:
            for which, tree_, process in zip(("old", "new"), (old, new), both, strict=True):
                run.about[which] = {"commit": tree_.name, **process.about}
                print(f"{which}: {', '.join(run.about[which].values())}", flush=True)
            names, alone = chosen(both[0].ask("names"), both[1].ask("names"), options.patterns)
            run.add("", alone)
            run.all(both, names, Plan(options.pairs, options.minutes * 60))
        for number in range(options.again):
            if failed := run.failed_pairs():
                with setting.processes(new_first=number % 2 == 0) as both:
                    run.repeat(both, failed, Plan(options.pairs, options.minutes * 60 / len(names)))
    return run.found


def chosen(old: list[str], new: list[str], patterns: list[str]) -> tuple[list[str], list[Apart]]:
    """The workloads of both trees that match a pattern, and those of one alone; none at all is an error."""
    kept = [name for name in dict.fromkeys([*new, *old]) if any(fnmatch.fnmatch(name, p) for p in patterns or ["*"])]
    if not kept:
        raise ValueError(f"no workload matches {', '.join(patterns)}: there are\n  " + "\n  ".join(new))
    alone = [
        Apart(name, "", f"only in the {'old' if name in old else 'new'} tree")
        for name in kept
        if (name in old) != (name in new)
    ]
    return [name for name in kept if name in old and name in new], alone


if __name__ == "__main__":
    main()
