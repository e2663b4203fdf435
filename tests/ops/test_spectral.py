"""The convolution in the frequency domain is the direct one: values, gradients of both orders, every shape."""

import copy
import io
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from torchcaps.layers import Convolution
from torchcaps.models import create_model
from torchcaps.ops import native, spectral
from torchcaps.ops.spectral.cost import Shape, Uses, direct, transform
from torchcaps.ops.spectral.cost import spectral as price

pytestmark = pytest.mark.skipif(native.status() != "native", reason=f"here serves {native.status()}")
OP = torch.ops.torchcaps


@pytest.fixture
def forced(monkeypatch):
    monkeypatch.setenv("TORCHCAPS_SPECTRAL", "1")


@st.composite
def cases(draw):
    """Any convolution, and any way to cut it: tiles that fit or not, transforms of even and odd size."""
    number = lambda low, high: draw(st.integers(low, high))  # noqa: E731
    kernel, stride, padding = ((number(*limits), number(*limits)) for limits in ((1, 9), (1, 4), (0, 3)))
    image = tuple(number(max(1, k - 2 * p), k + 14) for k, p in zip(kernel, padding, strict=True))
    n = tuple(number(taps, taps + 11) for taps in (-(-k // s) for k, s in zip(kernel, stride, strict=True)))
    return (number(1, 3), number(1, 20), number(1, 20)), image, kernel, stride, padding, n


def drawn(channels, image, kernel, dtype=torch.float64, seed=0):
    torch.manual_seed(seed)
    b, c, o = channels
    x, w = torch.randn(b, c, *image, dtype=dtype), torch.randn(o, c, *kernel, dtype=dtype)
    return x.requires_grad_(), w.requires_grad_(), torch.randn(o, dtype=dtype, requires_grad=True)


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([(torch.float32, 3e-5), (torch.float64, 1e-12)]))
def test_values_and_gradients_are_those_of_the_direct_convolution(case, precision):
    channels, image, kernel, stride, padding, n = case
    dtype, tolerance = precision
    inputs = drawn(channels, image, kernel, dtype)
    found = OP.spectral(*inputs, None, stride, padding, n)
    kept = OP.spectral_kernel(inputs[0].detach(), inputs[1].detach(), stride, padding, n)
    again = OP.spectral(*(t.detach() for t in inputs), kept, stride, padding, n)
    exact = [t.detach().double().requires_grad_() for t in inputs]
    expected = F.conv2d(*exact, stride, padding)
    g = torch.randn_like(expected)
    pairs = [(found, expected), (again, expected)]
    pairs += zip(torch.autograd.grad(found, inputs, g.to(dtype)), torch.autograd.grad(expected, exact, g), strict=True)
    for mine, theirs in pairs:
        torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=tolerance * theirs.abs().max().item())


def test_gradcheck_of_both_orders():
    x, w, bias = drawn((2, 2, 3), (7, 8), (5, 6))
    call = lambda *inputs: OP.spectral(*inputs, None, (2, 1), (1, 0), (5, 8))  # noqa: E731
    assert torch.autograd.gradcheck(call, (x, w, bias))
    assert torch.autograd.gradgradcheck(call, (x, w, bias))


def test_it_is_an_operator_of_torchs():
    x, w, bias = drawn((2, 3, 4), (9, 9), (5, 5), torch.float32)
    torch.library.opcheck(OP.spectral.default, (x, w, bias, None, [2, 2], [1, 1], [6, 6]))
    grad = torch.ones(2, 4, 4, 4)
    given = (grad, x.detach(), w.detach(), [2, 2], [1, 1], [6, 6])
    torch.library.opcheck(OP.spectral_backward.default, (*given, True, True))
    for wanted in ((True, False), (False, True)):
        torch.library.opcheck(OP.spectral_backward.default, (*given, *wanted), test_utils="test_faketensor")


@pytest.mark.parametrize("only", ["x", "w", "bias"])
def test_only_the_gradients_wanted_are_found(only):
    inputs = dict(zip(("x", "w", "bias"), drawn((2, 3, 4), (9, 9), (5, 5)), strict=True))
    needed = {name: t.detach().requires_grad_(name == only) for name, t in inputs.items()}
    OP.spectral(*needed.values(), None, (1, 1), (0, 0), (9, 9)).sum().backward()
    F.conv2d(*inputs.values()).sum().backward()
    assert [name for name, t in needed.items() if t.grad is not None] == [only]
    torch.testing.assert_close(needed[only].grad, inputs[only].grad)


@pytest.mark.parametrize("only", ["x", "w", "both"])
def test_only_the_gradients_wanted_are_found_where_they_are_differentiated_again(only):
    x, w, bias = (t.detach() for t in drawn((2, 3, 4), (9, 9), (5, 5)))
    needed = [t.requires_grad_() for name, t in (("x", x), ("w", w)) if only in (name, "both")]
    found, expected = OP.spectral(x, w, bias, None, (1, 1), (0, 0), (9, 9)), F.conv2d(x, w, bias)
    seconds = []
    for y in (found, expected):
        firsts = torch.autograd.grad(y.square().sum(), needed, create_graph=True)
        seconds.append([*firsts, *torch.autograd.grad(sum(g.square().sum() for g in firsts), needed)])
    torch.testing.assert_close(*seconds)


def test_gradients_with_gaps_are_taken():
    """What comes back from a sum, a transposition or every second number is not as the native pass wants it."""
    x, w, bias = drawn((2, 3, 4), (9, 9), (5, 5))
    gaps = {
        "stretched": torch.ones(1, dtype=torch.double).expand(2, 4, 5, 5),
        "turned": torch.randn(2, 4, 5, 5, dtype=torch.double).transpose(2, 3),
        "every second": torch.randn(2, 4, 5, 10, dtype=torch.double)[..., ::2],
    }
    for g in gaps.values():
        found = torch.autograd.grad(OP.spectral(x, w, bias, None, (1, 1), (0, 0), (9, 9)), (x, w, bias), g)
        torch.testing.assert_close(found, torch.autograd.grad(F.conv2d(x, w, bias), (x, w, bias), g))


def test_any_change_of_any_weight_changes_the_digest():
    """Of each of the last sixteen words, of whatever size; and of two blocks of 64 kB that change places."""
    for count in (1, 5, 16, 33, 1000, 2**14 + 7, 2**15):
        t = torch.randn(count)
        before, bits = OP.digest(t), t.view(torch.int32)
        for k in range(max(0, count - 16), count):
            bits[k] ^= 1
            assert OP.digest(t) != before
            bits[k] ^= 1
        assert OP.digest(t) == before
    swapped = torch.cat([t[2**14 :], t[: 2**14]])
    assert OP.digest(swapped) != before
    assert OP.digest(torch.zeros(7)) != OP.digest(torch.zeros(8))


@pytest.mark.usefixtures("forced")
@torch.no_grad()
def test_kept_spectra_serve_images_of_one_size_only():
    layer = Convolution(16, 16, 9, 2)
    for size in (20, 20, 20, 31, 31, 20):
        x = torch.randn(2, 16, size, size)
        expected = F.conv2d(x, layer.weight, layer.bias, 2)
        torch.testing.assert_close(layer(x), expected, rtol=0, atol=1e-5)


def test_convolutions_that_grow_get_buffers_that_are_large_enough():
    """Each takes those that the smaller ones before have left."""
    for dtype, tolerance in ((torch.float32, 3e-5), (torch.float64, 1e-12)):
        for channels in (1, 2, 3, 5, 8, 12, 17, 23):
            x, w, bias = (t.detach() for t in drawn((2, channels, channels), (9 + channels, 11), (5, 5), dtype))
            expected = F.conv2d(x, w, bias)
            found = OP.spectral(x, w, bias, None, (1, 1), (0, 0), (9, 11))
            torch.testing.assert_close(found, expected, rtol=0, atol=tolerance * expected.abs().max().item())


def test_output_channels_in_blocks_give_the_same():
    """So many weights that their spectra are made block by block."""
    x, w, bias = drawn((1, 64, 33), (120, 120), (5, 5), torch.float32)
    found = OP.spectral(x, w, bias, None, (2, 2), (0, 0), (60, 60))
    expected = F.conv2d(x, w, bias, 2)
    g = torch.randn_like(expected)
    with torch.no_grad():
        kept = OP.spectral_kernel(x, w, (2, 2), (0, 0), (60, 60))
        again = OP.spectral(x, w, bias, kept, (2, 2), (0, 0), (60, 60))
    pairs = [(found, expected), (again, expected)]
    pairs += zip(torch.autograd.grad(found, (x, w), g), torch.autograd.grad(expected, (x, w), g), strict=True)
    for mine, theirs in pairs:
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-5 * theirs.abs().max().item())


def test_what_does_not_fit_is_refused():
    x, w, bias = (t.detach() for t in drawn((2, 3, 4), (9, 9), (5, 5)))
    with pytest.raises(ValueError, match="cannot be cut"):
        OP.spectral(x, w, bias, None, (1, 1), (0, 0), (4, 9))
    with pytest.raises(ValueError, match="of one type"):
        OP.spectral(x, w.float(), bias, None, (1, 1), (0, 0), (9, 9))
    kept = OP.spectral_kernel(x, w, (1, 1), (0, 0), (9, 9))
    for wrong in (x, kept.flatten(), kept[..., :-1].contiguous(), kept.transpose(0, 1), kept.float()):
        with pytest.raises(ValueError, match="spectra are"):
            OP.spectral(x, w, bias, wrong, (1, 1), (0, 0), (9, 9))


def runs(seed=0):
    torch.manual_seed(seed)
    layer, x = Convolution(16, 16, 9, 2), torch.randn(4, 16, 20, 20, requires_grad=True)
    y = layer(x)
    return y, *torch.autograd.grad(y.square().sum(), (x, *layer.parameters()))


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_the_same_to_the_last_bit(threads):
    first = runs()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    try:
        again = runs()
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(1)
    assert all(torch.equal(a, b) for a, b in zip(first[:-1], again[:-1], strict=True))


@pytest.mark.usefixtures("forced")
def test_several_threads_do_not_get_into_each_others_buffers():
    expected, found = {seed: runs(seed) for seed in range(4)}, {}
    lock = threading.Lock()

    def work(seed):
        with lock:  # torch's random numbers are everybody's
            torch.manual_seed(seed)
            layer, x = Convolution(16, 16, 9, 2), torch.randn(4, 16, 20, 20, requires_grad=True)
        for _ in range(5):
            y = layer(x)
            found[seed] = y, *torch.autograd.grad(y.square().sum(), (x, *layer.parameters()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, run in expected.items():
        assert all(torch.equal(a, b) for a, b in zip(run[:-1], found[seed][:-1], strict=True))


@pytest.mark.usefixtures("forced")
def test_memory_is_used_again():
    def resident():
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    layer, x = Convolution(64, 64, 9, 2), torch.randn(32, 64, 20, 20, requires_grad=True)
    sizes = []
    for _ in range(8):
        torch.autograd.grad(layer(x).sum(), (x, layer.weight))
        sizes.append(resident())
    assert sizes[-1] - sizes[2] < 8  # megabytes; the buffers of one step take more than twenty


def by_optimiser(layer):
    layer.weight.grad = torch.ones_like(layer.weight)
    torch.optim.SGD(layer.parameters(), lr=0.1).step()


def by_bit(layer):
    """One weight, and only its last bit."""
    layer.weight.data.view(torch.int32)[0, 0, 0, 0] += 1


ROADS = {
    "optimiser": by_optimiser,
    "load_state_dict": lambda layer: layer.load_state_dict(Convolution(16, 16, 9, 2).state_dict()),
    "assigned": lambda layer: layer.load_state_dict(Convolution(16, 16, 9, 2).state_dict(), assign=True),
    "data": lambda layer: layer.weight.data.mul_(2),
    "data replaced": lambda layer: setattr(layer.weight, "data", layer.weight.data * 2),
    "bit": by_bit,
    "flipped": lambda layer: layer.weight.data.copy_(layer.weight.data.flip(0)),
    "numpy": lambda layer: layer.weight.detach().numpy().__imul__(2),
    "double": lambda layer: layer.double(),
}


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("road", ROADS)
@torch.no_grad()
def test_kept_spectra_are_dropped_when_the_weights_change(road):
    layer, x = Convolution(16, 16, 9, 2), torch.randn(2, 16, 20, 20)
    outputs = [layer(x) for _ in range(3)]
    assert layer._kept._last[1] is not None
    assert all(torch.equal(y, outputs[0]) for y in outputs)
    ROADS[road](layer)
    x = x.to(layer.weight.dtype)
    for called in range(3):
        expected = F.conv2d(x.double(), layer.weight.double(), layer.bias.double(), 2)
        torch.testing.assert_close(layer(x).double(), expected, rtol=0, atol=1e-5)
        assert (layer._kept._last[1] is None) == (called == 0)  # the second look tells that nothing changes any more


@pytest.mark.usefixtures("forced")
def test_spectra_are_neither_copied_nor_saved_nor_kept_in_training():
    layer, x = Convolution(16, 16, 9, 2), torch.randn(2, 16, 20, 20)
    plain = nn.Conv2d(16, 16, 9, 2)
    with torch.no_grad():
        for _ in range(2):
            layer(x)
    assert layer._kept._last[1] is not None
    assert layer.state_dict().keys() == plain.state_dict().keys()
    file = io.BytesIO()
    torch.save(layer, file)
    assert file.tell() < 2 * 4 * layer.weight.numel()
    file.seek(0)
    for other in (copy.deepcopy(layer), torch.load(file, weights_only=False)):
        assert other._kept._last == (None, None)
        assert torch.equal(other(x), layer(x))
    layer(x)
    assert layer._kept._last == (None, None)


def test_it_can_be_turned_off(monkeypatch):
    x, layer = torch.randn(128, 64, 20, 20), Convolution(64, 64, 9, 2)
    name = lambda: layer(x).grad_fn.name()  # noqa: E731
    assert "spectral" in name()
    with spectral.directly():
        assert "spectral" not in name()
    with torch.autocast("cpu", torch.bfloat16):
        assert "spectral" not in name()
    assert "spectral" not in copy.deepcopy(layer).bfloat16()(x.bfloat16()).grad_fn.name()
    monkeypatch.setenv("TORCHCAPS_SPECTRAL", "1")
    assert "spectral" in name()
    with spectral.directly():
        assert "spectral" not in name(), "what is asked for in the code counts"
        with spectral.directly():
            pass
        assert "spectral" not in name(), "the inner block ended, not the outer one"
    monkeypatch.setenv("TORCHCAPS_SPECTRAL", "0")
    assert "spectral" not in name()
    monkeypatch.setenv("TORCHCAPS_SPECTRAL", "yes")
    with pytest.raises(ValueError, match="TORCHCAPS_SPECTRAL=yes is not allowed: choose one of 0, 1"):
        name()


@pytest.mark.usefixtures("forced")
def test_who_looks_inside_finds_the_direct_convolution():
    layer, x = Convolution(3, 4, 5).requires_grad_(False), torch.randn(2, 3, 9, 9)
    exported = torch.export.export(layer, (x,))
    assert "conv2d" in exported.graph_module.code
    assert "spectral" not in exported.graph_module.code
    torch.testing.assert_close(torch.func.vmap(layer)(x[:, None])[:, 0], layer(x))
    value, slope = torch.func.jvp(layer, (x,), (torch.ones_like(x),))
    torch.testing.assert_close(value, layer(x))
    torch.testing.assert_close(slope, layer.weight.sum((1, 2, 3))[:, None, None].expand(2, 4, 5, 5))
    assert layer.to("meta")(x.to("meta")).shape == (2, 4, 5, 5)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(
    "options", [{"padding": "same"}, {"groups": 2}, {"dilation": 2}, {"padding_mode": "circular", "padding": 2}]
)
def test_other_convolutions_stay_as_they_are(options):
    torch.manual_seed(0)
    layer = Convolution(4, 4, 5, **options)
    torch.manual_seed(0)
    plain = nn.Conv2d(4, 4, 5, **options)
    x = torch.randn(2, 4, 12, 12)
    assert torch.equal(layer(x), plain(x))
    assert torch.equal(layer(x[0]), plain(x[0]))


CAPSNET = Shape(128, 256, 256, (20, 20), (9, 9), (2, 2), (0, 0))
TRAIN, INFER, KEPT = (Uses(train, train, kept) for train, kept in ((True, False), (False, False), (False, True)))


def test_the_model_of_costs_takes_it_where_it_wins():
    """Shapes that were measured, on both sides of the border."""
    large = CAPSNET._replace(b=64, image=(32, 32))
    assert all(transform(shape, uses) for shape in (CAPSNET, large) for uses in (TRAIN, INFER, KEPT))
    assert transform(CAPSNET._replace(b=8), TRAIN) is None
    assert transform(CAPSNET._replace(c=1), TRAIN) is None
    assert transform(CAPSNET._replace(b=1), KEPT) is None
    assert transform(CAPSNET._replace(kernel=(3, 3)), TRAIN) is None
    assert price(CAPSNET, (10, 10), KEPT) < price(CAPSNET, (10, 10), INFER) < price(CAPSNET, (10, 10), TRAIN)


@pytest.mark.parametrize("kernel", [(1, 9), (9, 1), (2, 9), (9, 2)])
def test_a_kernel_that_is_short_along_either_axis_is_not_transformed(kernel):
    for uses in (TRAIN, INFER, KEPT):
        assert transform(CAPSNET._replace(kernel=kernel), uses) is None
        assert transform(CAPSNET._replace(kernel=kernel), uses, forced=True) is None


def test_spectra_of_twice_as_many_bytes_are_of_smaller_transforms():
    """256 to 256 channels at 10×10: 148 MB in single precision, 296 in double, of 256 that are allowed."""
    assert [transform(CAPSNET, TRAIN, bytes_) for bytes_ in (4, 8)] == [(10, 10), (7, 10)]
    assert transform(CAPSNET, TRAIN, 8, forced=True) == (10, 10)


def test_costs_are_told_of_the_output_that_torch_gives():
    for image, kernel, stride, padding in (((20, 31), (9, 5), (2, 3), (0, 2)), ((11, 12), (5, 7), (1, 2), (2, 3))):
        shape = Shape(2, 3, 4, image, kernel, stride, padding)
        given = torch.empty(2, 3, *image, device="meta"), torch.empty(4, 3, *kernel, device="meta")
        assert shape.out == tuple(F.conv2d(*given, None, stride, padding).shape[2:])
        products = 2 * 4 * shape.out[0] * shape.out[1] * 3 * kernel[0] * kernel[1]
        assert [direct(shape, uses) for uses in (INFER, TRAIN)] == [2 * products, 6 * products]


@pytest.mark.usefixtures("forced")
def test_a_network_learns_the_same():
    grads = []
    for around in (torch.enable_grad, spectral.directly):
        torch.manual_seed(0)
        net = create_model("sabour2017/capsnet", width=0.1).double()
        with around():
            net(torch.rand(2, 1, 28, 28, dtype=torch.double)).scores.square().sum().backward()
        grads.append([p.grad for p in net.parameters() if p.grad is not None])
    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)
