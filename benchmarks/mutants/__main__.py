"""Plant them all, or those of some files."""

import argparse
import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.mutants.fault import ROOT, Fault, FaultError, planned
from benchmarks.mutants.plant import Copy, preload
from benchmarks.mutants.table import table

RESULTS = ROOT / "benchmarks/results/mutants"
FEWEST = 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help="only lists of this name, or faults whose file begins so")
    parser.add_argument("--part", default="1/1", help="every n-th fault, such as 1/2 and 2/2 in two processes")
    parser.add_argument("--check", action="store_true", help="only see whether every fault can be planted")
    parser.add_argument("--again", action="store_true", help="try again those that survived")
    args = parser.parse_args()
    faults = planned()
    asked = tuple(args.files)
    chosen = [fault for fault in faults if not asked or fault.list in asked or fault.file.startswith(asked)]
    if args.check:
        _check(faults)
        return
    known = results()
    settled = {place for place, line in known.items() if not (args.again and line["state"] == "survived")}
    part, parts = map(int, args.part.split("/"))
    mine = chosen[part - 1 :: parts]  # before the settled ones go: parts that start at different times stay apart
    todo = [fault for fault in mine if fault.place not in settled or known[fault.place]["tests"] != list(fault.tests)]
    _try(todo, part)
    RESULTS.with_suffix(".md").write_text(table(faults, results()))


def results() -> dict[str, dict[str, Any]]:
    """What is known, by the places of faults; the last word counts."""
    texts = {path.stem: path.read_text().splitlines() for path in sorted(RESULTS.glob("*.jsonl"))}
    return {f"{name}/{line['name']}": line for name, text in texts.items() for line in map(json.loads, text)}


def _try(faults: list[Fault], part: int) -> None:
    preload()
    copy, sound = Copy(ROOT / "build" / "mutants" / str(part)), set[tuple[str, ...]]()
    for number, fault in enumerate(faults, 1):
        # Together: each alone may pass where they do not side by side.
        if fault.tests not in sound and (before := copy.test(fault.tests)).state != "survived":
            raise SystemExit(f"without any fault {' '.join(fault.tests)} fails at {before.by}: mend that first")
        sound.add(fault.tests)
        outcome = copy.try_(fault)
        line = {"name": fault.name, **outcome._asdict(), "tests": fault.tests, "random": fault.random}
        RESULTS.mkdir(exist_ok=True)
        with (RESULTS / f"{fault.list}.jsonl").open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(f"{number} of {len(faults)}: {outcome.state:9}{fault.file}: {fault.what} {outcome.by}", flush=True)


def _check(faults: list[Fault]) -> None:
    """Every fault can be planted, and every module that does anything has enough of them."""
    wrong = [problem for fault in faults for problem in _problems(fault)]
    print(*wrong, sep="\n", end="\n" * bool(wrong))
    chosen = Counter(fault.file for fault in faults if not fault.random)
    few = {name: chosen[name] for name in modules() if chosen[name] < FEWEST}
    for name, count in few.items():
        print(f"{name}: {count} of {FEWEST}")
    print(f"{len(faults)} faults, {len(wrong)} problems; {len(few)} modules have fewer than {FEWEST}")
    raise SystemExit(bool(few or wrong))


def _problems(fault: Fault) -> list[str]:
    missing = [test for test in fault.tests if not (ROOT / test.partition("::")[0]).exists()]
    try:
        fault.planted()
    except (FaultError, SyntaxError) as error:
        return [str(error), *missing]
    return [f"{fault.file}: there is no {test}" for test in missing]


def modules() -> list[str]:
    """All modules of the library that do anything: not those that only import and list names."""
    every = sorted(path for path in (ROOT / "torchcaps").rglob("*") if path.suffix in (".py", ".cpp", ".h", ".js"))
    return [str(path.relative_to(ROOT)) for path in every if _does(path)]


def _does(path: Path) -> bool:
    if path.suffix != ".py":
        return True
    idle = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign)
    return any(not isinstance(node, idle) for node in ast.parse(path.read_text()).body)


if __name__ == "__main__":
    main()
