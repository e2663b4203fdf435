"""Trees are compared in pairs: what is slower is found, what is equal passes, and nothing is mixed up between them."""

import json
import subprocess
import sys
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.measure import Cost, Effort
from benchmarks.paired import __main__ as command
from benchmarks.paired import trees
from benchmarks.paired.interval import median, passes
from benchmarks.paired.pairs import Apart, Pairs, Plan, compared
from benchmarks.paired.process import AnswerError
from benchmarks.paired.result import failing
from benchmarks.paired.worker import Worker
from benchmarks.speed import gemm, layers, networks
from benchmarks.speed.__main__ import PARTS
from benchmarks.speed.result import TEXTBOOK, Workload

START = Path(trees.HERE, "benchmarks/paired/start.py")
ROWS = ("train, torchcaps", "inference, torchcaps")


class Machine:
    """A clock that both trees share, and a load that hits whoever runs: it drifts, jumps, and grows."""

    def __init__(self, growth=0.0, noise=0.05):
        self.now, self.growth, self.noise = 0.0, growth, noise
        self.draw, self.calls = np.random.default_rng(0), count()

    def run(self, seconds):
        load = (1 + self.growth) ** next(self.calls) * (1 + self.noise * self.draw.standard_gamma(1.0))
        self.now += seconds * load
        return seconds * load


class Tree:
    """What stands for a process: the seconds of a call by row, and what it says of a workload it cannot build."""

    def __init__(self, machine, seconds, *, name="", error=None):
        self.machine, self.seconds, self.error, self.name = machine, seconds, error, name
        self.about = {"passes": "native", "torch": "2"}
        self.asked = []

    def ask(self, method, *arguments):
        self.asked.append((method, *arguments))
        return getattr(self, method)(*arguments)

    def names(self):
        return ["layers/one", "layers/two"]

    def build(self, workload):
        if self.error:
            raise AnswerError(self.error)
        return list(self.seconds)

    def warm(self, row):
        return {"processor": self.seconds[row], "megabytes": 5.0}

    def time(self, row, count):
        wall = self.machine.run(self.seconds[row] * count) / count
        return {"wall": wall, "processor": wall}


def pair(slower=1.0, **load):
    machine = Machine(**load)
    seconds = dict.fromkeys(ROWS, 0.02)
    return Tree(machine, seconds), Tree(machine, {row: taken * slower for row, taken in seconds.items()})


def rows(both, pairs=41, **plan):
    return list(compared(both, "layers/one", Plan(pairs, **plan)))


def test_a_tenth_more_time_is_found_in_noise_of_a_twentieth():
    for row in rows(pair(slower=1.1)):
        found = row.ratio("processor")
        assert not row.passes("processor")
        assert not row.passes("wall")
        assert found.low > 1.03
        assert found.low < 1.1 < found.high


@pytest.mark.parametrize("faster", [1.0, 0.9])
def test_equal_and_faster_trees_pass(faster):
    assert all(row.passes("processor") for row in rows(pair(slower=faster)))


def test_a_load_that_grows_makes_no_tree_slower():
    """5 % from call to call: if the old tree were always first, each pair would say that the new one is slower."""
    assert all(row.passes("processor") for row in rows(pair(growth=0.05, noise=0.0)))
    assert all(row.ratio("wall").low < 1 < row.ratio("wall").high for row in rows(pair(growth=0.05, noise=0.0)))


def test_an_interval_has_its_confidence():
    """Of 2,000 samples of a known median, as many as it says have it between the bounds."""
    samples = np.random.default_rng(0).lognormal(0.0, 0.5, (2000, 21))
    intervals = [median(list(sample)) for sample in samples]
    held = np.mean([found.low <= 1.0 <= found.high for found in intervals])
    assert 0.95 <= held < 0.985


def test_bounds_are_those_of_the_sign_test():
    """The ranks printed in tables: 6 of 20, 2 of 9, 1 of 6."""
    for pairs, rank in ((20, 6), (9, 2), (6, 1)):
        found = median([float(k) for k in range(1, pairs + 1)])
        assert (found.low, found.high) == (rank, pairs + 1 - rank)
    with pytest.raises(ValueError, match="5 pairs have no interval of 95%: at least 6"):
        median([1.0] * 5)


def test_an_interval_that_includes_the_limit_passes():
    assert passes(median([1.03, 1.2, 1.2, 1.2, 1.2, 1.2]))
    assert not passes(median([1.031, 1.2, 1.2, 1.2, 1.2, 1.2]))


def test_a_budget_ends_a_row_but_not_before_it_has_an_interval():
    both = pair(noise=0.0)
    found = rows(both, pairs=100, seconds=0.82, now=lambda: both[0].machine.now)
    assert [len(row.times["wall"]) for row in found] == [11, 10]  # 0.04 s a pair
    both = pair(noise=0.0)
    found = rows(both, pairs=100, seconds=0.0, now=lambda: both[0].machine.now)
    assert [len(row.times["wall"]) for row in found] == [6, 6]


def test_short_calls_are_repeated_alike_in_both():
    both = pair(slower=2.0)
    for each, factor in zip(both, (1, 2), strict=True):
        each.seconds = dict.fromkeys(ROWS, 0.001 * factor)
    rows(both, pairs=6)
    counts = [{request[2] for request in each.asked if request[0] == "time"} for each in both]
    assert counts == [{10}, {10}]


def test_what_one_tree_lacks_is_told_and_what_it_breaks_fails():
    old, new = pair()
    del new.seconds["train, torchcaps"]
    found = rows((old, new))
    assert found[0] == Apart("layers/one", "train, torchcaps", "only in the old tree")
    assert isinstance(found[1], Pairs)
    assert not failing(found, "processor")
    for broken, fault in (((False, True), True), ((True, False), False), ((True, True), False)):
        both = pair()
        for each, breaks in zip(both, broken, strict=True):
            each.error = "KeyError: 'em'" if breaks else None
        [told] = rows(both)
        assert told.fault is fault
        assert ("new tree: KeyError: 'em'" in told.why) is broken[1]
        assert bool(failing([told], "processor")) is fault


def test_workloads_of_one_tree_alone_are_told():
    names, alone = command.chosen(["a/x", "b/y"], ["a/x", "a/z"], ["a/*", "b/*"])
    assert names == ["a/x"]
    assert [(each.workload, each.why) for each in alone] == [
        ("a/z", "only in the new tree"),
        ("b/y", "only in the old tree"),
    ]
    with pytest.raises(ValueError, match=r"no workload matches c/\*"):
        command.chosen(["a/x"], ["a/x"], ["c/*"])


@pytest.fixture
def compare(monkeypatch, tmp_path):
    """The whole command on trees that are made up: by start of processes, how much slower the new one is."""

    def run(*slower, arguments=("--self",)):
        started = []

        def processes(self, *, new_first=False):
            both = pair(slower=slower[len(started)])
            started.append((new_first, both))
            return Both(both)

        monkeypatch.setattr(command.Setting, "processes", processes)
        argv = ["paired", *arguments, "--json", str(tmp_path / "found.json")]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as end:
            command.main()
        return end.value.code, started, json.loads((tmp_path / "found.json").read_text())

    return run


class Both:
    def __init__(self, both):
        self.both = both

    def __enter__(self):
        return self.both

    def __exit__(self, *error):
        return None


def test_the_command_ends_with_one_if_a_row_fails(compare, capsys):
    code, started, stored = compare(1.1, 1.1)
    assert code == 1
    assert [new_first for new_first, _ in started] == [False, True]
    assert [len(row["times"]["processor"]) for row in stored["rows"]] == [82] * 4
    assert not any(row["passes"] for row in stored["rows"])
    assert "4 rows compared by processor time, 0 not; 4 fail" in capsys.readouterr().out
    assert "/" not in stored["about"]["new"]["commit"]


def test_the_command_ends_with_zero_if_all_pass(compare, capsys):
    code, started, stored = compare(1.0)
    assert code == 0
    assert len(started) == 1
    assert all(row["passes"] for row in stored["rows"])
    assert "0 fail" in capsys.readouterr().out


def test_what_new_processes_do_not_show_again_passes(compare):
    code, started, _ = compare(1.1, 1.0)
    assert (code, len(started)) == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "one of --old and --self"),
        (("--self", "--old", "HEAD"), "one of --old and --self"),
        (("--self", "--pairs", "5"), "--pairs 5 is not allowed"),
        (("--self", "--minutes", "0"), "--minutes 0 is not allowed"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["paired", *arguments])
    with pytest.raises(SystemExit) as end:
        command.parsed()
    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_a_tree_is_a_folder_or_a_revision(tmp_path):
    with trees.tree("HEAD") as revision:
        assert (revision.folder / "torchcaps/__init__.py").exists()
        assert revision.folder != trees.HERE
    assert not revision.folder.exists()
    with trees.tree(str(trees.HERE)) as here:
        assert here.folder == trees.HERE
        assert here.name.removesuffix("+changes") == revision.name
    for given, said in ((str(tmp_path), "no package torchcaps"), ("no-such-revision", "neither a folder nor")):
        with pytest.raises(ValueError, match=said), trees.tree(given):
            pass


def write(folder, **files):
    for name, text in files.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()


def start(tree, definitions, **environment):
    command = [sys.executable, str(START), str(tree), str(definitions)]
    return subprocess.run(command, capture_output=True, text=True, env=environment or None)


def test_a_process_has_the_library_of_its_tree_and_the_workloads_of_the_other(tmp_path):
    worker = (
        "from torchcaps.version import VERSION\nfrom benchmarks.suite import ROWS\nmain = lambda: print(VERSION, ROWS)"
    )
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, version in ((old, "old"), (new, "new")):
        write(
            folder,
            torchcaps__version=f"VERSION = '{version} library'",
            benchmarks__suite=f"ROWS = '{version} rows'",
            benchmarks__paired__worker=worker,
        )
    assert start(old, new).stdout == "old library new rows\n"
    assert start(new, new).stdout == "new library new rows\n"
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = start(empty, new, PYTHONPATH=str(new))
    assert refused.returncode != 0
    assert "torchcaps came from" in refused.stderr


def test_a_worker_times_what_it_built_and_answers_errors():
    seen = []
    calls = {"torchcaps": partial(seen.append, "call")}
    workload = Workload("layers", "made up", lambda effort: [], lambda: iter([("train", calls)]))
    worker = Worker([workload])
    assert worker.answer(["names"]) == {"found": ["layers/made up"]}
    assert worker.answer(["build", "layers/made up"]) == {"found": ["train, torchcaps"]}
    seen.clear()
    taken = worker.answer(["time", "train, torchcaps", 7])["found"]
    assert len(seen) == 7
    assert taken.keys() == {"wall", "processor"}
    assert worker.answer(["warm", "inference"]) == {"error": "KeyError: 'inference'"}


def test_both_trees_build_the_same_numbers():
    """From the same seed, whatever was built before."""
    [workload] = [each for each in PARTS["scaling"](quick=True) if each.name == "batch 1"]
    found = []
    worker = Worker([workload._replace(calls=lambda: found.append(torch.rand(3)) or [])])
    for _ in range(2):
        worker.build("scaling/batch 1")
    assert found[0].tolist() == found[1].tolist()


SAMPLES = {
    "layers": "dynamic, FC 1152→10",
    "networks": "sabour2017/capsnet, bf16",
    "models": "chen2019/lenet",
    "scaling": "batch 1",
    "peak": "attend, FC 1152×8→10×16",
}


@pytest.mark.parametrize("part", PARTS)
def test_the_rows_are_those_of_the_suite(part, monkeypatch):
    """Every candidate of the suite that is the library's own, in every mode, and no other."""
    for module in (layers, networks, gemm):
        monkeypatch.setattr(module, "measure", lambda calls, effort: {name: Cost([1.0]) for name in calls})
    found = [each for each in PARTS[part](quick=True) if each.name == SAMPLES[part]]
    for workload in found:
        rows = workload.run(Effort())
        suite = {
            (row.mode, name) for row in rows for name in row.costs if name not in (TEXTBOOK, gemm.LIMIT, networks.FREE)
        }
        assert {(mode, name) for mode, calls in workload.calls() for name in calls} == suite
    assert found or part == "peak"  # without a compiler it has none
