"""What is decided before a Triton kernel runs, without one: for which card, in which precision, in how many parts."""

import itertools
from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("triton", reason="the extra gpu is not installed")

from tests.ops.agreement import draw
from torchcaps.ops.operators import ATTEND
from torchcaps.ops.sizes import Sizes
from torchcaps.ops.triton import _launch, _operators, _plan
from torchcaps.ops.triton._plan import Limits, Target, fits, launch

HALF, SINGLE, DOUBLE = torch.float16, torch.float32, torch.float64
CARDS = {  # precision without and with TF32 allowed, whether bfloat16 is widened
    Target("cuda", 70, 80): ("ieee", "ieee", True),
    Target("cuda", 75, 40): ("ieee", "ieee", True),
    Target("cuda", 80, 108): ("tf32x3", "tf32", False),
    Target("cuda", 86, 28): ("ieee", "tf32", False),
    Target("cuda", 90, 132): ("tf32x3", "tf32", False),
    Target("cuda", 120, 84): ("ieee", "tf32", False),
    Target("hip", "gfx90a", 104): ("ieee", "ieee", False),
    Target("hip", "gfx942", 304): ("ieee", "tf32", False),
    Target("hip", "gfx1100", 48): ("ieee", "ieee", False),
    Target("cpu", 0, 1): ("ieee", "ieee", True),
}


@pytest.mark.parametrize("target", CARDS, ids=str)
def test_how_a_card_multiplies(target):
    found = target.precision(tf32=False), target.precision(tf32=True), target.widens(torch.bfloat16)
    assert found == CARDS[target]
    assert target.widens(HALF) == (target.backend == "cpu")


@pytest.mark.parametrize(
    ("backend", "properties", "expected"),
    [
        (None, {"major": 8, "minor": 6}, Target("cuda", 86, 28)),
        (None, {"major": 12, "minor": 0}, Target("cuda", 120, 28)),
        ("6.4", {"gcnArchName": "gfx942:sramecc+:xnack-"}, Target("hip", "gfx942", 28)),
    ],
    ids=str,
)
def test_which_card_it_is(backend, properties, expected, monkeypatch):
    monkeypatch.setattr(torch.version, "hip", backend)
    found = SimpleNamespace(multi_processor_count=28, **properties)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: found)
    assert _operators._target.__wrapped__(torch.device("cuda", 0)) == expected
    assert _operators._target.__wrapped__(torch.device("cpu")) == Target("cpu", 0, 1)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((1, 1, 4, 2**27, 2, 1), True),  # 2³⁰ numbers
        ((1, 1, 4, 2**28, 2, 1), False),  # 2³¹ of the parents' poses
        ((1, 2, 4, 2**28, 1, 1), False),  # of the children's
        ((1, 2**12, 1, 1, 2**12, 2**7), False),  # of a child's maps
        ((1, 2**12, 1, 1, 2**12, 2**6), True),
        ((2**20, 2, 2, 2**20, 2, 2), True),  # the children are counted in 64 bits
    ],
    ids=str,
)
def test_offsets_inside_a_tile_fit_32_bits(sizes, expected):
    assert fits(Sizes(*sizes)) == expected


@pytest.mark.parametrize(
    ("y", "a", "expected"), [(256, 1, True), (257, 1, False), (256, 16, True), (16, 256, True), (128, 33, False)]
)
def test_poses_too_large_for_a_tile_are_left_to_the_plain_pass(y, a, expected):
    assert fits(Sizes(3, 2, a, 5, 2, y)) == expected


def how(kernel, sizes, **options):
    usual = {"dtype": SINGLE, "prior": (True, True), "detach": False, "tf32": False, "atomic": True, **options}
    return launch(kernel, Sizes(*sizes), Target("cuda", 80, 108), **usual)


@pytest.mark.parametrize("target", CARDS, ids=str)
@pytest.mark.parametrize("sizes", [(512, 64, 1, 32, 10, 64), (30, 100, 1, 7, 3, 100), (9, 40, 4, 7, 30, 8)], ids=str)
def test_the_maps_of_a_child_fit_the_memory_that_a_program_has(sizes, target):
    """Sixteen kilobytes of single precision, of which a card holds two or three in flight."""
    for kernel in ("forward", "parents", "children"):
        options = {"dtype": SINGLE, "prior": (True, True), "detach": False, "tf32": False, "atomic": True}
        plan = launch(kernel, Sizes(*sizes), target, **options).plan
        assert plan.xb * plan.jb * plan.yp <= 4096
        assert plan.xb in (16, 32, 64)


REGISTERS = {70: 255, 75: 255, 80: None, 86: None, 90: None, 100: 255, 103: 255, 120: 255}


@pytest.mark.parametrize("arch", REGISTERS)
def test_a_program_may_have_all_registers_where_the_assembler_would_spill(arch):
    """255 is the most that the hardware gives to a thread; cards from Ampere to Hopper take what they need.

    The children's kernel with products in single precision does so on consumers' Blackwell too.
    """
    for kernel, tf32 in itertools.product(("forward", "parents", "children"), (False, True)):
        options = {"dtype": SINGLE, "prior": (True, True), "detach": False, "tf32": tf32, "atomic": True}
        found = launch(kernel, Sizes(9, 40, 4, 7, 30, 8), Target("cuda", arch, 84), **options).options
        by_itself = (arch, kernel, tf32) == (120, "children", False)
        assert found.get("maxnreg") == (None if by_itself else REGISTERS[arch])


STAGES = {("cuda", 80): [3, 3, 1], ("cuda", 75): [3, 3, 1], ("cuda", 120): [3, 1, 1], ("hip", "gfx942"): [2, 2, 1],
          ("cpu", 0): [1, 1, 1]}  # fmt: skip


@pytest.mark.parametrize(("backend", "arch"), STAGES, ids=str)
def test_loads_in_flight_are_as_many_as_registers_allow(backend, arch):
    options = {"dtype": SINGLE, "prior": (False, False), "detach": False, "tf32": False, "atomic": True}
    found = [
        launch(kernel, Sizes(9, 8, 1, 7, 30, 8), Target(backend, arch, 84), **options).options["num_stages"]
        for kernel in ("forward", "parents", "children")
    ]
    assert found == STAGES[backend, arch]


CARDS_AND_WARPS = [(Target("cuda", 75, 40), 4, 8), (Target("hip", "gfx1100", 96), 8, 16)]


@pytest.mark.parametrize(("target", "usual", "more"), CARDS_AND_WARPS, ids=str)
def test_gradients_have_more_warps_where_a_child_has_a_prior_of_its_own(target, usual, more):
    sizes, given = Sizes(2048, 8, 1, 8, 10, 8), {"dtype": SINGLE, "detach": False, "tf32": False, "atomic": True}

    def warps(kernel, *, own):
        return launch(kernel, sizes, target, prior=(own, False), **given).options["num_warps"]

    assert [warps(kernel, own=False) for kernel in ("forward", "parents", "children")] == [usual] * 3
    assert [warps(kernel, own=True) for kernel in ("forward", "parents", "children")] == [usual, more, more]


@pytest.mark.parametrize("sizes", [(7, 3, 1, 37, 5, 3), (100, 16, 4, 1001, 33, 4), (1, 70, 1, 1, 300, 16)], ids=str)
def test_every_child_parent_and_instance_is_in_a_block(sizes):
    i, x, a, m, j, y = sizes
    for kernel in ("forward", "parents", "children"):
        found = how(kernel, sizes)
        plan, (first, second, third) = found.plan, found.grid
        assert plan.yp >= y
        assert plan.ap >= a
        assert found.blocks * plan.jb >= j
        instances, children = (third * found.span, first) if kernel == "children" else (first, third * found.span)
        assert instances * plan.bm >= m
        assert children >= i
        assert kernel != "children" or second // found.blocks * plan.xb >= x


def call(dtype=SINGLE, sizes=(2, 3, 2, 5, 20, 3), *, detach=False):
    tensors = [t.detach() for t in draw("attend", sizes, dtype=dtype)]
    return _operators._call(ATTEND, (*tensors, sizes[4], detach), grads=False)


def test_which_calls_the_kernels_take():
    """Double precision is left to the plain pass, and so is a call without children or instances."""
    assert call(DOUBLE) is None
    assert call(sizes=(0, 3, 2, 5, 4, 3)) is None
    assert call(sizes=(2, 3, 2, 0, 4, 3)) is None
    for dtype in (SINGLE, HALF, torch.bfloat16):
        for detach in (False, True):
            assert call(dtype, detach=detach).launch("parents").plan.detach == detach


def test_in_deterministic_mode_programs_do_not_add_in_any_order():
    assert call().launch("forward").plan.atomic
    torch.use_deterministic_algorithms(True)
    try:
        assert not call().launch("forward").plan.atomic
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("places", [1, 4])
def test_shares_of_a_sum_are_kept_in_single_precision(places, atomic):
    """Of 1 and twice 2⁻¹¹ only the 1 would be left, were the sum rounded to half precision at every step."""
    like = torch.zeros(1, dtype=HALF)
    shares = _launch.Shares(like, (1,), places, atomic=atomic)
    assert shares.room.dtype == (SINGLE if places > 1 or atomic else HALF)
    if places > 1 and not atomic:
        shares.room.copy_(torch.tensor([1.0, 2**-11, 2**-11, 0.0])[:, None])
        assert shares.sum().item() == 1 + 2**-10
    assert shares.sum().dtype == HALF


@pytest.mark.usefixtures("no_shape_checks")
def test_blocks_of_parents_are_joined_into_one_softmax(monkeypatch):
    """Logits of ±200, the largest in different blocks: what a kernel finds in each is made up here."""
    monkeypatch.setitem(_plan.LIMITS, "cpu", Limits(256, 16, 1))
    one = call()
    found_how = one.launch("forward")
    size = found_how.plan.jb
    assert found_how.blocks == 5
    logits, slopes = torch.empty(20, 2, 5).uniform_(-200, 200), torch.randn(20, 2, 5)

    def scan(kernel, how, call, *tensors):
        *_, tops, totals, sums = tensors
        for k in range(how.blocks):
            part = slice(k * size, (k + 1) * size)
            tops[k] = logits[part].amax(0)
            totals[k] = (logits[part] - tops[k]).exp().sum(0)
            sums[k] = ((logits[part] - tops[k]).exp() * slopes[part]).sum(0)

    monkeypatch.setattr(_launch, "_run", scan)
    top, total, mean = _launch._statistics(one, found_how, grads=_launch.GRADS)
    exact = logits.double()
    torch.testing.assert_close(top.double() + total.double().log(), exact.logsumexp(0), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(mean.double(), (exact.softmax(0) * slopes).sum(0), rtol=1e-4, atol=1e-5)
