"""The yardsticks measure what they say: textbook twins equal the library, and a stored run becomes a page."""

import sys
from functools import partial

import pytest
import torch

from benchmarks import textbook
from benchmarks.measure import Cost, Effort, measure, memory_ratio, ratio
from benchmarks.speed import gemm, layers, networks, scaling
from benchmarks.speed.__main__ import PARTS, chosen, main
from benchmarks.speed.report import learned, write
from benchmarks.speed.result import OURS, TEXTBOOK, Row, Run, load, machine, save
from benchmarks.speed.tables import number, whole
from benchmarks.speed.targets import TARGETS, findings, slower, verdict
from benchmarks.twin import twin_of, without_routing
from torchcaps.models import card, create_model, list_models
from torchcaps.ops import native
from torchcaps.routing import ROUTINGS
from torchcaps.types import CapsShape, Capsules

pytestmark = pytest.mark.usefixtures("no_collection")
ONCE = Effort(least=1, most=1, seconds=0.0)
SMALL = CapsShape((5, 5), 2, 16)
BUILDERS = {
    "connected": lambda name: layers.connected(name, CapsShape((2, 2), 3, 4), 3, 5, 2),
    "convolutional": lambda name: layers.convolutional(name, SMALL, 2),
}


@pytest.fixture
def no_collection(monkeypatch):
    """Between rounds garbage is collected, which takes most of a test's time and tests nothing."""
    monkeypatch.setattr("benchmarks.measure.gc.collect", lambda: 0)


@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("name", ROUTINGS)
def test_a_layers_twin_has_its_values_and_gradients(name, kind):
    layer, below = BUILDERS[kind](name)
    layer = layer.double()
    below = Capsules(below.pose.detach().double().requires_grad_(), below.act.double())
    assert textbook.name_of(layer) == name
    inputs = [below.pose, *layer.parameters()]
    found = []
    for outputs in (layers.ours(layer, below), textbook.run(layer, below)):
        total = sum((out * torch.arange(out.numel()).reshape(out.shape).cos()).sum() for out in outputs)
        found.append([*outputs, *torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)])
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in list_models() if card(name).routing])
def test_a_networks_twin_has_its_scores(name):
    net = create_model(name, width=0.05).double().eval()
    images = torch.rand(2, *card(name).image, dtype=torch.double)
    mine, theirs = net(images), twin_of(net)(images)
    pairs = (mine.scores, theirs.scores), (mine.capsules[-1].pose, theirs.capsules[-1].pose)
    for found, expected in pairs:  # deep networks may begin with scores of 1e-18
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-8 * expected.abs().max().item())


def test_a_networks_twin_leaves_the_network_alone_and_shares_its_parameters():
    net = create_model("tsai2020/inverted_simple", width=0.05)
    schedule, twin = net.schedule, twin_of(net)
    assert net.schedule is schedule
    assert all(a is b for a, b in zip(net.parameters(), twin.parameters(), strict=True))


def test_a_network_without_routing_is_the_rest_of_it():
    """Its convolutions and decoder learn as before; no map has a gradient."""
    net = create_model("peer2021/rba", width=0.1)
    parse = without_routing(net)(torch.rand(2, 1, 28, 28))
    assert parse.scores.shape == net(torch.rand(2, 1, 28, 28)).scores.shape
    parse.scores.sum().backward()
    assert all(p.grad is None for p in net.layers.parameters())
    assert net.primary.conv.weight.grad.any()


def test_a_networks_twin_squashes_as_torch_does():
    net = create_model("sabour2017/capsnet", width=0.05)
    assert "Squash" in _names(net(torch.rand(2, 1, 28, 28)).scores.grad_fn)
    assert "Squash" not in _names(twin_of(net)(torch.rand(2, 1, 28, 28)).scores.grad_fn)


def _names(node):
    """All that a result came from."""
    seen, todo = set(), [node]
    while todo:
        if (node := todo.pop()) is not None and node not in seen:
            seen.add(node)
            todo += [above for above, _ in node.next_functions]
    return " ".join(node.name() for node in seen)


def test_a_networks_twin_convolves_directly(monkeypatch):
    net, seen = create_model("sabour2017/capsnet", width=0.05), []
    monkeypatch.setattr("torchcaps.ops.spectral.transform", lambda *arguments, **options: seen.append(arguments))
    images = torch.rand(1, 1, 28, 28)
    twin_of(net)(images)
    assert not seen
    net(images)
    assert seen


def test_what_the_textbook_does_not_know_is_refused():
    with pytest.raises(ValueError, match="nothing else"):
        twin_of(create_model("tsai2020/inverted_simple", width=0.05, routing="dynamic"))
    net = create_model("tsai2020/inverted_simple", width=0.05, compat="apple")
    with pytest.raises(ValueError, match="compat"):
        twin_of(net)(torch.rand(1, 3, 32, 32))


def test_two_that_differ_are_not_compared():
    with pytest.raises(RuntimeError, match="do not compute the same"):
        layers.difference(lambda: (torch.ones(2),), lambda: (torch.zeros(2),))


def test_a_training_call_leaves_gradients_and_the_plain_passes_give_the_same():
    layer, below = BUILDERS["connected"]("dynamic")
    call = layers.step("train", partial(layers.ours, layer, below), [*layer.parameters(), below.pose])
    call()
    native = layer.weight.grad
    further = layers._also(layer, 2, "train", call)
    further[layers.PLAIN]()
    assert layer.weight.grad is not native
    torch.testing.assert_close(layer.weight.grad, native)


def test_a_ratio_and_its_interval():
    found = ratio(Cost([2.0, 4.0, 6.0]), Cost([1.0, 2.0, 3.0]))
    assert found == (2.0, 2.0, 2.0)  # noise that hits a whole round hits no ratio
    noisy = ratio(Cost([2.0, 4.0, 6.0]), Cost([1.0, 1.0, 1.0]))
    assert noisy.value == 2.0
    assert noisy.low < 4.0 < noisy.high
    assert memory_ratio(Cost([1.0], 30.0), Cost([1.0], 0.2)) == 30.0  # less than a megabyte counts as one
    assert memory_ratio(Cost([1.0], None), Cost([1.0], 0.2)) is None


def test_candidates_take_turns():
    seen = []
    costs = measure({name: partial(seen.append, name) for name in "ab"}, Effort(2, 2, 0.0))
    assert len(costs["a"].times) == len(costs["b"].times) == 2
    assert seen.index("b") < len(seen) - 1 - seen[::-1].index("a")


def tiny():
    """Rows of every part, made by the parts themselves on small sizes."""
    rows = list(layers.compare(layers.PART, "dynamic, FC 1152→10", *BUILDERS["connected"]("dynamic"), ONCE))
    rows += layers.compare(layers.PART, "em, conv 3×3", *BUILDERS["convolutional"]("em"), ONCE)
    rows += networks._rows(
        networks.PART, "sabour2017/capsnet, bf16", "sabour2017/capsnet", 2, ONCE, width=0.05, bf16=True
    )
    rows += networks._rows(networks.MODELS, "chen2019/lenet", "chen2019/lenet", 2, ONCE, width=0.2, bf16=False)
    for axis in scaling.POINTS:
        cost = {name: Cost([0.2, 0.1, 0.3], 5.0) for name in (TEXTBOOK, OURS)}
        rows += [Row(scaling.PART, f"{axis} {k}", "train", cost, {"axis": axis, "value": k}) for k in (1, 2)]
        rows += [Row(scaling.PART, f"{axis} {k}", "inference", cost, {"axis": axis, "value": k}) for k in (1, 2)]
    if native.status() == "native":
        rows += gemm._rows("attend, small", gemm.Sizes(3, 2, 1, 2, 2, 2), 8, ONCE)
    return Run(machine(quick=False), rows)


def test_a_run_is_stored_and_becomes_a_page(tmp_path):
    run = tiny()
    save(run, tmp_path / "speed.json")
    again = load(tmp_path / "speed.json")
    assert [row[:3] for row in again.rows] == [row[:3] for row in run.rows]
    write(again, "speed.json", tmp_path)
    page = (tmp_path / "speed.md").read_text()
    assert (tmp_path / "speed.png").stat().st_size > 10_000
    for title in (
        "Goals",
        "Slower than the textbook",
        "One layer",
        "Whole networks",
        "Every paper's model",
        "How time grows",
        "Learning through the spectrum",
    ):
        assert f"{title}\n" in page
    assert ("Share of the GEMM peak\n" in page) == (native.status() == "native")
    assert "| dynamic, FC 1152→10 | train | ×" in page


def test_a_networks_memory_stands_beside_the_textbooks():
    costs = {TEXTBOOK: Cost([4.0], 480.0), OURS: Cost([2.0], 200.0), networks.BF16: Cost([1.0], 120.0)}
    rows = [Row(networks.PART, f"sabour2017/capsnet{more}", "train", costs, {"batch": 128}) for more in ("", ", bf16")]
    page = whole(Run({"bf16": True}, rows))
    assert "| sabour2017/capsnet | 128 | ×2 (2–2) | – | ÷2.4 (480 → 200 MB) |" in page
    assert "| sabour2017/capsnet, bf16 | 128 | ×4 (4–4) | – | ÷4 (480 → 120 MB) |" in page


def test_trainings_both_ways_stand_side_by_side():
    def row(way, seed, accuracy):
        return {"convolutions": way, "seed": seed, "test_accuracy": accuracy, "seconds": 10.0}

    page = learned([row("direct", 1, 0.97), row("spectral", 0, 0.99), row("direct", 0, 0.98), row("spectral", 1, 0.99)])
    assert "| seed | spectral | direct |\n| --- | --- | --- |\n| 0 | 99.00% in 10 s | 98.00% in 10 s |" in page
    assert "| 1 | 99.00% in 10 s | 97.00% in 10 s |" in page
    assert "Mean difference: +1.50 points." in page


def test_as_many_digits_as_are_worth_reading():
    assert [number(value) for value in (0.154, 1.04, 7.38, 12, 1447.2)] == ["0.15", "1.04", "7.4", "12", "1447"]


def test_every_target_names_a_workload_of_the_suite():
    names = {(workload.part, workload.name) for workload in chosen(list(PARTS), ["*"], quick=False)}
    assert {(target.part, target.workload) for target in TARGETS} <= names


def test_targets_are_judged_by_the_processor_at_hand():
    able = {"avx512": True, "bf16": True, "quick": False}
    target = next(t for t in TARGETS if t.must.avx512 > t.must.avx2 and t.of == "time" and t.part == layers.PART)
    least, held, more = (target.must.avx512 - 0.1, target.must.avx512, target.aim)
    assert [verdict(target, value, able) for value in (least, held, more)] == [
        "not held",
        "held",
        "both targets met",
    ]
    assert verdict(target, least, {**able, "avx512": False}) == "held"
    assert verdict(target, target.must.avx2 - 0.1, {**able, "avx512": False}) == "not held"
    assert verdict(target, held, {**able, "quick": True}) == "quick run, no measurement"


def test_a_target_finds_its_figure():
    machine_ = {"avx512": True, "bf16": True, "quick": False}
    costs = {TEXTBOOK: Cost([24.0], 10.0), OURS: Cost([1.0], 1.0)}
    run = Run(machine_, [Row(layers.PART, "dynamic, FC 1152→10", "train", costs, {})])
    assert [(found.target.of, found.verdict) for found in findings(run)] == [("time", "held"), ("memory", "not held")]
    half = {gemm.LIMIT: Cost([2.0]), "attend": Cost([1.0])}
    notes = {"flops": 100, "limit_flops": 400}
    run = Run(machine_, [Row(gemm.PART, next(iter(gemm.SHAPES)), "train", half, notes)])
    assert [(found.found.value, found.must, found.verdict) for found in findings(run)] == [(0.5, 0.4, "held")]
    costs = {TEXTBOOK: Cost([2.0]), networks.BF16: Cost([1.0])}
    run = Run(machine_, [Row(networks.PART, "sabour2017/capsnet, bf16", "train", costs, {})])
    assert [found.verdict for found in findings(run)] == ["not held"]
    assert not list(findings(run._replace(machine={**machine_, "bf16": False})))
    costs = {TEXTBOOK: Cost([1.05]), OURS: Cost([1.0]), networks.FREE: Cost([0.98])}
    run = Run(machine_, [Row(networks.MODELS, "mitterreiter2023/capsnet", "inference", costs, {})])
    assert [found.verdict for found in findings(run)] == ["not held; ×1.07 if routing took no time"]


def test_slower_is_what_no_noise_explains():
    def row(*ours):
        return Row(layers.PART, "x", "train", {TEXTBOOK: Cost([1.0] * len(ours)), OURS: Cost(list(ours))}, {})

    run = Run({}, [row(1.1, 1.1, 1.1), row(1.02, 1.02, 1.02), row(0.9, 1.1, 1.3)])
    assert [found.value for _, found in slower(run)] == [1 / 1.1]


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["--only", "layer"], "invalid choice: 'layer'"),
        (["--only", "layers", "--match", "nothing"], "no workload matches nothing"),
        (["--threads", "0"], "at least one is needed"),
    ],
)
def test_a_wrong_option_is_explained(options, answer, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["speed", *options])
    with pytest.raises(SystemExit):
        main()
    assert answer in capsys.readouterr().err
