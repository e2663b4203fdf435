"""What is said of cards that are not here: the compiled kernels, the model on paper, and the bench as a dry run."""

import json
import os
import subprocess
import sys
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import nn

pytest.importorskip("triton", reason="the extra gpu is not installed")

from benchmarks import textbook
from benchmarks.gpu import cases, check, kernels, model, page, parts, timing
from benchmarks.gpu.cards import ARCHS
from benchmarks.gpu.report import KERNELS
from benchmarks.measure import Effort
from benchmarks.speed import layers
from benchmarks.speed.__main__ import PARTS
from benchmarks.speed.result import Run
from tests.elsewhere import DEVICE, Elsewhere, SecondDevice
from torchcaps import ops, votes
from torchcaps.models import card, create_model, list_models
from torchcaps.ops.sizes import Sizes
from torchcaps.ops.triton._plan import launch
from torchcaps.routing import ROUTINGS
from torchcaps.types import CapsShape, Capsules

COMMON = {**cases.SHAPES, **cases.OWN}


def run(module, *arguments):
    """In a process of its own: the shape-checking hook of the tests has functions that Triton cannot read."""
    environment = {**os.environ, "TORCHCAPS_PASSES": ""}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_the_table_has_every_card_and_common_shapes_spill_nothing():
    found = kernels.read(KERNELS)
    every = dict(cases.keys(list(ARCHS)))
    assert found.keys() == every.keys()
    common = [key for key, case in every.items() if case.shape in COMMON]
    spilled = [(key, row["kernel"]) for key in common for row in found[key] if row["spilled"]]
    assert not spilled
    for key, rows in found.items():
        assert {"forward", "pull_children"} <= {row["kernel"] for row in rows}
        assert all(row["shared"] <= ARCHS[key[0]].shared for row in rows), key


def called(operator, tensors, j):
    """Of a call that a network made: the operator, the tensors that are there, and the tile on every card."""
    u, w, prior = tensors["u"], tensors["w"], tensors["prior"]
    there = {name: tensors.get(name) is not None for name in ("bias", "query", "precision", "weight")}
    of = None if prior is None else "i" * (prior.shape[0] > 1) + "m" * (prior.shape[2] > 1)
    return operator, cases.Options(**there, prior=of), tiles(Sizes(*u.shape, j, w.shape[2] // j))


def tiles(s):
    """For each card the tile of a pass in single precision, whether there are several, and of columns too."""
    how = {"dtype": torch.float32, "prior": (False, False), "detach": False, "tf32": False, "atomic": True}
    found = [launch("forward", s, arch.target, **how) for arch in ARCHS.values()]
    p = [each.plan for each in found]
    return [(q.jb, q.yp, q.ap, q.bm, q.xb, each.blocks > 1, q.x > q.xb) for q, each in zip(p, found, strict=True)]


@pytest.mark.usefixtures("no_shape_checks")
def test_every_call_of_the_models_is_in_the_table(monkeypatch):
    """Their passes at full size, on tensors without memory. A size stands for all that lie in its tile."""
    seen = []

    def attend(u, w, bias, query, prior, weight, *, j, detach=False):
        given = {"u": u, "w": w, "bias": bias, "query": query, "prior": prior, "weight": weight}
        seen.append(called("attend", given, j))
        return ops.plain_attend(u, w, bias, query, prior, weight, j=j, detach=detach)

    def moments(u, w, bias, centre, query, precision, prior, weight, *, j):
        given = {"u": u, "w": w, "bias": bias, "query": query, "precision": precision, "prior": prior, "weight": weight}
        seen.append(called("moments", given, j))
        return ops.plain_moments(u, w, bias, centre, query, precision, prior, weight, j=j)

    monkeypatch.setattr(votes.ops, "attend", attend)
    monkeypatch.setattr(votes.ops, "moments", moments)
    for name in list_models():
        if card(name).routing:
            with torch.device("meta"):
                create_model(name)(torch.rand(8, *card(name).image))
    single = [case for case in cases.cases() if case.kind == "float32"]
    listed = [(case.operator, case.options, tiles(cases.ALL[case.shape])) for case in single]
    assert len(seen) > 30
    assert not [call for call in seen if call not in listed]


def test_a_few_kernels_compile_to_what_the_table_says(tmp_path):
    done = run("benchmarks.gpu.kernels", "--few", "--json", str(tmp_path / "few.jsonl"))
    assert done.returncode == 0, done.stderr[-3000:]
    found, table = kernels.read(tmp_path / "few.jsonl"), kernels.read(KERNELS)
    assert found.keys() == {key for key, _ in cases.keys([], few=True)}
    assert found == {key: table[key] for key in found}


def test_the_page_has_the_figures_of_the_model():
    """A workload is computed again; the page is what `python -m benchmarks.gpu.report` would write."""
    page = Path("docs/gpu.md").read_text()
    assert "No time was measured on a GPU" in page
    [cells] = model.rows("inference", "dynamic, FC 1152*")
    assert f"| {' | '.join(cells)} |" in page.split(model.TITLES["inference"])[1]
    book, compiled, ours = (float(number) for number in cells[1].split(" / "))
    votes = 4 * 128 * 1152 * 10 * 16 / 1e6  # megabytes
    assert book > compiled > votes > ours


def test_a_card_is_found_right_or_wrong_whenever_it_is_asked():
    first, again = (list(islice(check.errors("cpu", quick=True), 4)) for _ in range(2))
    assert first == again
    assert all(0 < error < check.TOLERANCE for _, error in first)


ONE_OF_EACH = {
    "layers": "dynamic, FC 1152*",
    "networks": "sabour2017/capsnet, batch 128, bf16",
    "models": "peer2021/rba",
    "scaling": "batch 1",
    "peak": "attend, FC 1152*",
}


def test_the_bench_runs_dry(tmp_path):
    """Every part of it, from the check of all routings to the page."""
    quick = ("--device", "cpu", "--quick", "--match", *ONE_OF_EACH.values(), "chen2019/lenet", "--out", str(tmp_path))
    done = run("benchmarks.gpu", *quick)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("right") == 8 * 2 * 2
    assert "pull request" in done.stdout
    stored = json.loads((tmp_path / "gpu-cpu.json").read_text())
    assert stored["machine"]["quick"]
    assert [row["part"] for row in stored["rows"]] == [
        part for part in ONE_OF_EACH for _ in range(4 if part == "models" else 2)
    ]
    for row in stored["rows"]:
        alone, peak = row["workload"] == "chen2019/lenet", row["part"] == "peak"
        ways = {"attend", "gemm"} if peak else {"torchcaps"} if alone else {*page.WAYS}
        assert row["costs"].keys() == ways
        assert "lacking" not in row["notes"]
    text = (tmp_path / "gpu-cpu.md").read_text()
    assert "A dry run with small sizes: no measurement" in text
    for title, _ in page.TEXTS.values():
        assert f"## {title}" in text
    assert "## Share of the GEMM peak" in text


def test_the_bench_has_the_workloads_of_the_page_about_speed():
    """What `make bench-speed` measures on a processor; bf16 is there for every network, not for one."""
    speed = {(part, w.name) for part, made in PARTS.items() for w in made(quick=False)}
    here = {(w.part, w.name.partition(", batch")[0]) for w in parts.workloads(quick=False)}
    assert speed
    assert {(part, name.removesuffix(", bf16")) for part, name in speed} <= here


@pytest.mark.parametrize("name", ROUTINGS)
def test_the_textbook_runs_on_another_device(name):
    """A second device that refuses to meet the CPU's tensors stands for a card."""
    with SecondDevice():
        layer, below = layers.connected(name, CapsShape((2, 2), 3, 4), 3, 5, 2)
        layer.to(DEVICE)
        with torch.no_grad():
            found = textbook.run(layer, Capsules(*(t.to(DEVICE) for t in below)))
        assert all(isinstance(out, Elsewhere) for out in found)


class Sum(nn.Module):
    """Stands for a textbook."""

    def forward(self, x):
        return x.sum()


def test_the_textbook_is_compiled_whole_however_many_were_before(monkeypatch):
    """Torch compiles one piece of code eight times; then it would run it as it is."""
    seen, real = [], torch.compile

    def count(graph, inputs):
        seen.append(inputs[0].shape)
        return graph.forward

    monkeypatch.setattr(torch, "compile", lambda way, **options: real(way, **{**options, "backend": count}))
    for k in range(1, 11):
        parts.Where("cpu", quick=True).compiled(Sum())(torch.ones(k))
    assert seen == [(k,) for k in range(1, 11)]


def fail(error):
    raise error


@pytest.mark.parametrize(
    ("way", "error", "told"),
    [
        ("textbook", torch.OutOfMemoryError("2 TiB"), "out of memory"),
        (parts.COMPILED, RuntimeError("no compiler\nin a long story"), "RuntimeError: no compiler"),
        ("torchcaps", RuntimeError("a fault of ours"), None),
    ],
)
def test_a_way_that_a_card_cannot_go(way, error, told):
    """Too little memory is a finding, a compiler that fails is told of; what is wrong with ours ends the run."""
    ways = {name: lambda: list for name in page.WAYS} | {way: lambda: partial(fail, error)}
    workload = parts.Workload("layers", "made up", lambda where: iter([("train", ways, {"batch": 2})]))
    found = timing.measured(workload, parts.Where("cpu", quick=True), Effort(1, 1, 0.0))
    if told is None:
        with pytest.raises(RuntimeError, match="a fault of ours"):
            list(found)
        return
    [row] = found
    assert row.notes["lacking"] == {way: told}
    assert row.costs.keys() == page.WAYS.keys() - {way}
    facts = {"card": "none", "torch": "", "date": "", "passes": "", "quick": True}
    assert ("out of memory" if way == "textbook" else "not compiled") in page.page(Run(facts, [row]))


def test_a_card_that_is_wrong_is_not_measured(monkeypatch, tmp_path):
    import benchmarks.gpu.__main__ as bench

    monkeypatch.setattr(bench, "errors", lambda device, quick: iter([("fine", 1e-6), ("dynamic, of no use", 1e-2)]))
    monkeypatch.setattr(sys, "argv", ["gpu", "--device", "cpu", "--quick", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="Nothing was measured"):
        bench.main()
    assert not list(tmp_path.iterdir())
