"""What is shown of a contest, from lines and networks made up."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rich.console import Console
from scipy import stats

from tests.bench.made_up import line_of, share
from tests.full_disk import WHY, room_for
from torchcaps._atomic import NotWrittenError
from torchcaps.bench.compare import outcome as outcomes
from torchcaps.bench.compare import page as paging
from torchcaps.bench.compare.contest import Contest, Entrant
from torchcaps.bench.compare.outcome import Outcome, score
from torchcaps.bench.compare.page import caveats, sections, write
from torchcaps.bench.compare.printed import printed
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import gather
from torchcaps.data import Stored
from torchcaps.measures import wilson
from torchcaps.report import Curve, Differences

pytestmark = pytest.mark.usefixtures("no_shape_checks")
A = Entrant("dynamic", "sabour2017/capsnet", {"routing": "dynamic"})
B = Entrant("ConvNet", "gu2021/convnet_fc", {}, capsules=False)
DATA = Stored(torch.zeros(6, 1, 2, 2, dtype=torch.uint8), torch.arange(6) % 3, ("a", "b", "c"))
SHARES = {("dynamic", "clean"): (90, 92, 94), ("dynamic", "affine"): (50, 55, 60),
          ("convnet", "clean"): (70, 72, 74), ("convnet", "affine"): (1, 0, 2)}  # fmt: skip
HISTORY = {"dynamic": [{"loss": 0.5, "validation_accuracy": 0.8}, {"loss": 0.25, "validation_accuracy": 0.9}],
           "ConvNet": [{"loss": 0.75}]}  # fmt: skip


def contest(seeds):
    settings = {"data": "sign", "validation": 0.0, "steps": 40, "batch_size": 32, "lr": 0.005}
    tests = {"clean": "As they are.", "affine": "Moved."}
    return Contest("things", (A, B), settings, tests, seeds, first=5, rate="one rate")


def gathered(asked):
    artefact, lines = asked.artefact(), {}
    for job in artefact.judgings("cpu"):
        k = job.seed - 5
        numbers = {test: share(SHARES[job.row, test][k]) for test in asked.tests}
        seconds = {"dynamic": 10.0, "convnet": 3.0}[job.row] + k
        lines[job.name] = line_of(job, numbers, seconds=1000.0, training_seconds=seconds)
    return gather(artefact, "cpu", lines)


@pytest.fixture
def made(monkeypatch):
    """The outcome of so many seeds; networks are names, and measured by nobody."""

    def trained(training, place):
        name = "dynamic" if training.settings.model == A.model else "ConvNet"
        assert training.seed == 5, "the networks shown are the first seed's"
        return SimpleNamespace(model=name, history=HISTORY[name])

    monkeypatch.setattr(outcomes, "trained", trained)
    monkeypatch.setattr(outcomes, "inspect", lambda model, data, names: dict.fromkeys(names, model))
    monkeypatch.setattr(outcomes, "parameters", lambda model: {"dynamic": (1000, 50), "ConvNet": (1200, 0)}[model])
    monkeypatch.setattr(outcomes, "dead_of", lambda found: {"dynamic": (3, 210), "ConvNet": None}[found])
    monkeypatch.setattr(outcomes, "dynamics_of", lambda found: {"dynamic": 0.123, "ConvNet": None}[found])
    monkeypatch.setattr(Contest, "images", lambda self: DATA)

    def make(seeds=3):
        asked = contest(seeds)
        return outcomes.outcome(asked, gathered(asked), None)

    return make


def interval(percents):
    """Over seeds and a hundred images each, by the written formula."""
    at = np.arange(100)
    values = np.array(percents) / 100
    by_image = np.mean([at < percent for percent in percents], axis=0)
    error = np.sqrt(values.var(ddof=1) / len(values) + max(by_image.var(), 0.01) / 100)
    reach = stats.t.ppf(0.975, len(values) - 1) * error
    return values.mean() - reach, values.mean() + reach


def test_a_row_has_what_was_counted_timed_and_measured(made):
    capsules, plain = made().rows
    assert (capsules.name, capsules.detail) == ("dynamic", "sabour2017/capsnet, routing dynamic")
    assert (capsules.parameters, capsules.decoder, capsules.seconds) == (1000, 50, 11.0)
    assert (plain.parameters, plain.decoder, plain.seconds) == (1200, 0, 4.0)
    assert (capsules.dead, capsules.dynamics, plain.dead, plain.dynamics) == ((3, 210), 0.123, None, None)
    assert [made().curves[0].loss, made().curves[0].accuracy] == [[0.5, 0.25], [0.8, 0.9]]
    assert made().curves[1].loss == [0.75]
    assert np.isnan(made().curves[1].accuracy).all()


def test_shares_have_intervals_over_seeds_and_images_that_end_at_0_and_1():
    found = gathered(contest(3))
    affine = score(At("dynamic", "affine"), found)
    assert (affine.value, affine.count) == (pytest.approx(0.55), 100)
    low, high = interval((50, 55, 60))
    assert affine.interval == pytest.approx((low, high))
    assert score(At("convnet", "affine"), found).interval == pytest.approx((0.0, interval((1, 0, 2))[1]))
    assert interval((1, 0, 2))[0] < 0
    ends = [
        line_of(job, {"clean": share(p)})
        for job, p in zip(contest(2).artefact().judgings("cpu"), (100, 97), strict=False)
    ]
    high = score(At("dynamic", "clean"), gather(contest(2).artefact(), "cpu", {line["name"]: line for line in ends}))
    assert high.interval[1] == 1.0


def test_one_seed_has_the_interval_of_its_images():
    found = score(At("dynamic", "clean"), gathered(contest(1)))
    assert found.interval == pytest.approx(wilson(90, 100))
    two = score(At("dynamic", "clean"), gathered(contest(2)))
    assert two.interval == pytest.approx((interval((90, 92))[0], min(1.0, interval((90, 92))[1])))


@pytest.fixture
def plain_page(monkeypatch):
    """Without the sections that look into networks."""
    monkeypatch.setattr(paging, "about", lambda networks: [])
    monkeypatch.setattr(paging, "perturbations", lambda models, data: [])
    monkeypatch.setattr(paging, "_samples", lambda outcome: [])


@pytest.mark.usefixtures("plain_page")
def test_pairs_are_compared_where_there_are_seeds_to_compare(made):
    kinds = {seeds: [type(section) for section in sections(made(seeds))] for seeds in (1, 2, 3)}
    assert [Differences in kinds[seeds] for seeds in (1, 2, 3)] == [False, True, True]
    [compared] = [section for section in sections(made(3)) if isinstance(section, Differences)]
    (test, who, told, sure), (other, whose, _, _) = compared.lines
    assert (test, who, sure) == ("clean", "dynamic over ConvNet", "sure")
    assert told.startswith("20.0 points, ")
    assert (other, whose) == ("affine", "dynamic over ConvNet")


@pytest.mark.usefixtures("plain_page")
def test_what_is_unsure_says_why(made, monkeypatch):
    monkeypatch.setitem(SHARES, ("convnet", "clean"), (91, 70, 99))
    [compared] = [section for section in sections(made(3)) if isinstance(section, Differences)]
    assert compared.lines[0][-1].startswith("it could be chance; it would take about ")


def test_limits_are_told_with_the_number_of_seeds(made):
    beside = "a decoder of 50 parameters beside dynamic in training"
    assert caveats(made(1)) == (
        f"This shows how to look, not who wins: one seed, one rate, {beside}. Under each share its 95 % interval over "
        "test images; another seed would train another network."
    )
    for seeds in (2, 3):
        assert caveats(made(seeds)) == (
            f"Equal budgets, and these limits: {seeds} seeds, one rate, {beside}. Under each share its 95 % interval "
            "over seeds and test images."
        )


@pytest.mark.usefixtures("plain_page")
@pytest.mark.parametrize(("seeds", "last"), [(1, 5), (2, 6), (3, 7)])
def test_the_folder_has_the_page_and_all_numbers(made, tmp_path, seeds, last):
    outcome = made(seeds)
    page = write(tmp_path / "out", outcome, title="Title", lead="Lead.", command="torchcaps compare things")
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert stored["facts"]["Made by"] == stored["command"] == "torchcaps compare things"
    assert stored["facts"]["Data"] == "things: 3 classes, 6 images to test"
    assert stored["facts"]["Training"] == (
        f"40 steps, Adam, batches of 32, rate 0.005, constant schedule, seeds from 5 to {last}"
    )
    assert stored["facts"]["Time"].startswith({1: "33 min", 2: "67 min", 3: "1 h 40 min"}[seeds])
    capsules, plain = stored["rows"]
    assert capsules["history"] == {"loss": [0.5, 0.25], "validation_accuracy": [0.8, 0.9]}
    assert capsules["scores"]["clean"]["value"] == pytest.approx(np.mean(SHARES["dynamic", "clean"][:seeds]) / 100)
    assert plain["scores"]["affine"]["count"] == 100
    assert stored["answer"][0].startswith("Dynamic names ")
    assert [(one["test"], one["better"], one["worse"]) for one in stored["differences"]] == [
        ("clean", "dynamic", "ConvNet"),
        ("affine", "dynamic", "ConvNet"),
    ]
    assert "Lead. Dynamic names" in page.read_text()


def test_the_table_of_a_terminal_has_every_cell(made):
    table = printed(made(3))
    cells = {column.header: list(column.cells) for column in table.columns}
    ends = (interval((90, 92, 94)), interval((70, 72, 74)))
    percents = [f"{100 * low:.1f}–{100 * min(1.0, high):.1f}" for low, high in ends]
    assert cells["network"] == ["dynamic\n+ decoder", "ConvNet"]
    assert cells["clean"] == [f"92.0 %\n{percents[0]}", f"72.0 %\n{percents[1]}"]
    assert cells["affine"][0].startswith("55.0 %\n")
    assert cells["affine"][0].endswith(f"–{100 * interval((50, 55, 60))[1]:.1f}")
    assert cells["dead"] == ["3 of\n210", "–"]
    assert cells["dynamics"] == ["0.12", "–"]
    assert cells["parameters"] == ["1,000\n11 s", "1,200\n4 s"]
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    assert max(map(len, console.file.getvalue().splitlines())) <= 80


def test_curves_and_outcome_hold_what_they_are_given(made):
    outcome = made(1)
    assert isinstance(outcome, Outcome)
    assert outcome.curves[0] == Curve("dynamic", [0.5, 0.25], [0.8, 0.9])
    assert outcome.models == {"dynamic": "dynamic", "ConvNet": "ConvNet"}


@pytest.mark.usefixtures("plain_page")
@pytest.mark.parametrize("name", ["results.json", "report.html"])
def test_a_disk_that_is_full_halfway_leaves_both_files_as_they_were(made, tmp_path, name, monkeypatch):
    told = {"title": "Title", "lead": "Lead.", "command": "torchcaps compare things"}
    write(tmp_path, made(), **told)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    if name == "report.html":
        monkeypatch.setattr(paging, "NUMBERS", "../results.json")
        (tmp_path.parent / "results.json").symlink_to("/dev/null")
    with room_for(10), pytest.raises(NotWrittenError, match=f"{name} could not be written: {WHY}"):
        write(tmp_path, made(), **told)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
