"""What is said of cards that are not here: the compiled kernels, the model on paper, and the bench as a dry run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the extra gpu is not installed")

from benchmarks.gpu import kernels, model
from benchmarks.gpu.cards import ARCHS
from benchmarks.gpu.report import KERNELS

COMMON = [*kernels.SHAPES]


def run(module, *arguments):
    """In a process of its own: the shape-checking hook of the tests has functions that Triton cannot read."""
    environment = {**os.environ, "TORCHCAPS_PASSES": ""}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def usual(case):
    return case.shape in COMMON and case.kind == "float32" and case.options == kernels.USUAL[case.operator]


def test_the_table_has_every_card_and_common_shapes_spill_nothing():
    found = kernels.read(KERNELS)
    wanted = {key: case for key, case in kernels.keys(list(ARCHS)) if usual(case)}
    assert wanted.keys() <= found.keys()
    assert found.keys() <= {key for key, _ in kernels.keys(list(ARCHS))}
    spilled = [(key, row["kernel"]) for key in wanted for row in found[key] if row["spilled"]]
    assert not spilled
    for key, rows in found.items():
        assert {"forward", "pull_children"} <= {row["kernel"] for row in rows}
        assert all(row["shared"] <= ARCHS[key[0]].shared for row in rows), key


def test_a_few_kernels_compile_to_what_the_table_says(tmp_path):
    done = run("benchmarks.gpu.kernels", "--few", "--json", str(tmp_path / "few.jsonl"))
    assert done.returncode == 0, done.stderr[-3000:]
    found, table = kernels.read(tmp_path / "few.jsonl"), kernels.read(KERNELS)
    assert found.keys() == {key for key, _ in kernels.keys([], few=True)}
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


def test_the_bench_runs_dry(tmp_path):
    quick = ("--device", "cpu", "--quick", "--match", "dynamic, FC 1152*", "*capsnet*", "--out", str(tmp_path))
    done = run("benchmarks.gpu", *quick)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("right") == 8 * 2 * 2
    assert "pull request" in done.stdout
    stored = json.loads((tmp_path / "gpu-cpu.json").read_text())
    assert stored["machine"]["quick"]
    assert len(stored["rows"]) == 2 * 2
    for row in stored["rows"]:
        assert row["costs"].keys() == {"textbook", "textbook, compiled", "plain torch", "torchcaps"}
    assert "A dry run with small sizes: no measurement" in (tmp_path / "gpu-cpu.md").read_text()


def test_a_card_that_is_wrong_is_not_measured(monkeypatch, tmp_path):
    import benchmarks.gpu.__main__ as bench

    monkeypatch.setattr(bench, "errors", lambda device, quick: iter([("fine", 1e-6), ("dynamic, of no use", 1e-2)]))
    monkeypatch.setattr(sys, "argv", ["gpu", "--device", "cpu", "--quick", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="Nothing was measured"):
        bench.main()
    assert not list(tmp_path.iterdir())
