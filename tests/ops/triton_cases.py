"""The Triton kernels in the interpreter: work that is cut up in every way, and every routing. `test_passes.py` runs it.

Blocks are made small, so that few numbers already need several of them.
"""

import pytest
import torch

from tests.ops.agreement import PASSES, agree, double, draw, gradients
from tests.ops.largest import Largest
from torchcaps import ops
from torchcaps.layers import CapsuleLayer
from torchcaps.ops.sizes import Sizes
from torchcaps.ops.triton import _launch, _plan
from torchcaps.ops.triton._plan import Limits, Target, launch
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules

each = pytest.mark.parametrize("name", PASSES)
HERE = Target("cpu", 0, 1)


@pytest.fixture(params=[False, True], ids=["in any order", "deterministic"])
def _order(request):
    torch.use_deterministic_algorithms(request.param)
    yield
    torch.use_deterministic_algorithms(False)


def how(kernel, sizes):
    plain = {"dtype": torch.float32, "prior": (True, True), "detach": False, "tf32": False, "atomic": True}
    return launch(kernel, Sizes(*sizes), HERE, **plain)


CUTS = {
    "children": (5, 3, 1, 3, 2, 3),
    "instances": (1, 3, 1, 70, 2, 3),
    "parents": (1, 3, 2, 5, 20, 3),
    "columns": (1, 37, 1, 3, 3, 2),
    "all": (2, 20, 2, 20, 20, 3),
}
PRIORS = [(True, True), (True, False), (False, True), (False, False)]


@pytest.fixture
def _small(monkeypatch):
    monkeypatch.setitem(_plan.LIMITS, "cpu", Limits(256, 16, 1))
    for name, value in {"WIDEST": 16, "WAVES": 64, "FEWEST": 1}.items():
        monkeypatch.setattr(_plan, name, value)


@each
@pytest.mark.usefixtures("_small", "_order")
@pytest.mark.parametrize(
    ("cut", "prior"), [(cut, prior) for cut in CUTS for prior in (PRIORS[:1] if cut == "all" else PRIORS)], ids=str
)
def test_work_that_is_cut_up(name, cut, prior):
    sizes = CUTS[cut]
    forward, children = how("forward", sizes), how("children", sizes)
    assert (forward.grid[2] > 1) == (cut in ("children", "all"))
    assert (children.grid[2] > 1) == (cut in ("instances", "all"))
    assert (forward.blocks > 1) == (cut in ("parents", "all"))
    assert (children.grid[1] > children.blocks) == (cut in ("columns", "all"))
    agree(name, draw(name, sizes, dtype=torch.float32, prior=prior, scale=0.3), sizes[4])


@pytest.fixture
def launched(monkeypatch):
    """Every kernel that ran, with its plan."""
    found, run = [], _launch._run
    monkeypatch.setattr(
        _launch,
        "_run",
        lambda kernel, how, *given: found.append((kernel.__name__, how.plan)) or run(kernel, how, *given),
    )
    return found


@each
@pytest.mark.usefixtures("_small")
def test_deterministic_mode_gives_the_same_bits(name, launched):
    """It also fills fresh memory with NaN: what a kernel forgets to write shows.

    The interpreter runs programs one after the other, so that atomics would not show: none may be planned.
    """
    sizes = CUTS["all"]
    inputs = draw(name, sizes, dtype=torch.float32)
    PASSES[name][0](*inputs, j=sizes[4])
    assert all(plan.atomic and plan.split for _, plan in launched)
    launched.clear()
    torch.use_deterministic_algorithms(True)
    try:
        runs = [PASSES[name][0](*inputs, j=sizes[4]) for _ in range(2)]
        mix = [torch.randn_like(out) for out in runs[0]]
        grads = [gradients(outs, inputs, mix) for outs in runs]
    finally:
        torch.use_deterministic_algorithms(False)
    assert {kernel for kernel, _ in launched} == {"scan", "forward", "pull_parents", "pull_children"}
    assert not any(plan.atomic for _, plan in launched)
    for pair in zip(*runs, strict=True), zip(*grads, strict=True):
        assert all(torch.isfinite(a).all() and torch.equal(a, b) for a, b in pair)


@pytest.mark.usefixtures("_small")
def test_a_block_of_forbidden_parents():
    """All parents of one block have a prior of minus infinity, and one child may go nowhere: NaN, as in plain torch."""
    inputs = [t.detach() for t in draw("attend", CUTS["parents"], dtype=torch.float32)]
    inputs[-2][:, 4:12] = -torch.inf
    inputs[-2][:, :, 2] = -torch.inf
    assert how("forward", CUTS["parents"]).plan.jb == 4
    found, expected = ops.attend(*inputs, j=20), ops.plain_attend(*inputs, j=20)
    torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-5, atol=1e-5)
    assert torch.isnan(found[0][..., 2]).all()
    assert torch.isfinite(found[0][..., 3]).all()


MATMUL = torch.backends.cuda.matmul
WAYS = {
    "before": lambda: setattr(MATMUL, "allow_tf32", True),
    "for all devices": lambda: torch.set_float32_matmul_precision("high"),
    "now": lambda: setattr(MATMUL, "fp32_precision", "tf32"),
    "everywhere": lambda: setattr(torch.backends, "fp32_precision", "tf32"),
}
EXACT = {75: "ieee", 80: "tf32x3", 90: "tf32x3", 120: "ieee", "gfx942": "ieee", "gfx1100": "ieee"}
ALLOWED = EXACT | {80: "tf32", 90: "tf32", 120: "tf32", "gfx942": "tf32"}


def precisions():
    """How products of single precision are made on each kind of card."""
    u = torch.empty(4, 8, 1, 3)
    given = {"u": u, "prior": None}
    targets = [Target("hip" if isinstance(arch, str) else "cuda", arch, 100) for arch in EXACT]
    calls = [_launch.Call(given, Sizes(4, 8, 1, 3, 10, 16), target) for target in targets]
    return {call.target.arch: call.launch("forward").plan.precision for call in calls}


@pytest.mark.parametrize("way", WAYS)
def test_tf32_is_what_torch_says(way):
    """In all the ways that torch has to say it; those that came later make an error of the older question."""
    assert precisions() == EXACT
    try:
        WAYS[way]()
        assert precisions() == ALLOWED
    finally:
        torch.set_float32_matmul_precision("highest")
        MATMUL.fp32_precision = torch.backends.fp32_precision = "none"
    assert precisions() == EXACT


def test_poses_that_no_tile_can_hold_are_left_to_the_plain_pass():
    inputs = draw("attend", (2, 3, 1, 2, 2, 4000), dtype=torch.float32, scale=0.02)
    agree("attend", inputs, 2)


FOLDED = ("uniform", "trainable")  # one matrix product, for which torch has a kernel


def layer_of(routing, connection, rows):
    """Poses of four numbers, two types of parents, windows of 2×2 or the whole grid of 2×3."""
    options = {"window": 2, "stride": 1, "padding": 1} if connection == "convolutional" else {}
    layer = CapsuleLayer(CapsShape((2, 3), 1, 4), 2, 4, rows=rows, routing=ROUTINGS[routing], **options)
    layer.routing.iters = min(2, layer.routing.iters)
    return layer


def parents(layer, below):
    [[state]] = sequential([layer], below)
    return state.pose, state.act


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("connection", ["connected", "convolutional"])
@pytest.mark.parametrize("rows", [1, 2], ids=["vector", "matrix"])
def test_every_routing_equals_the_plain_pass(routing, connection, rows, launched):
    layer = layer_of(routing, connection, rows)
    below = Capsules(torch.randn(2, 2, 3, 1, 4).requires_grad_(), torch.rand(2, 2, 3, 1).requires_grad_())
    found = parents(layer, below)
    leaves = [*below, *layer.parameters()]
    grads = gradients(found, leaves, [torch.ones_like(out) for out in found])
    assert ({"forward", "pull_children"} <= {kernel for kernel, _ in launched}) == (routing not in FOLDED)
    exact, double_below = layer.double(), Capsules(*double(below))
    with ops.plainly():
        expected = parents(exact, double_below)
    again = gradients(expected, [*double_below, *exact.parameters()], [torch.ones_like(out) for out in expected])
    for one, other in zip([*found, *grads], [*expected, *again], strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5 * max(1.0, other.abs().max().item()))


@pytest.mark.parametrize("routing", [name for name in ROUTINGS if name not in FOLDED])
def test_windows_without_a_votes_tensor(routing):
    """Nor is there one in what the kernels are given room for."""
    shape = CapsShape((2, 2), 4, 4)
    layer = CapsuleLayer(shape, 4, 16, routing=ROUTINGS[routing], window=2, stride=1, padding=1)
    layer.routing.iters = min(2, layer.routing.iters)
    below = Capsules(torch.randn(4, 2, 2, 4, 4).requires_grad_(), torch.rand(4, 2, 2, 4))
    with Largest() as largest:
        (sum(out.sum() for out in parents(layer, below))).backward()
    assert largest.numbers < (4 * 3 * 3 * 16 * 4 * 16) / 4
