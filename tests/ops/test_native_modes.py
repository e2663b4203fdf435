"""The native passes in company: two processes, autocast, deterministic mode, and two builders at once."""

import shutil
import time
from datetime import timedelta
from pathlib import Path

import pytest
import torch
from torch import distributed, multiprocessing
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

from tests.contracts.networks import D, N, build, images
from torchcaps.layers import CapsuleLayer
from torchcaps.ops import native, stored
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules

OPS = {
    "dynamic": {"attend", "attend_backward", "query_backward", "votes_backward"},
    "em": {"moments", "moments_backward"},
}
COMMON = {"gathered", "ungathered", "turned", "squash"}
each = pytest.mark.parametrize("routing", OPS)


@pytest.fixture(autouse=True)
def _native(monkeypatch):
    if native.status() != "native":
        pytest.skip(f"here serves {native.status()}")
    monkeypatch.setattr(stored, "TINY", 0)  # these networks are so small that their votes would be stored


class Calls(TorchDispatchMode):
    """The names of the native operators that ran while this was on."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "torchcaps":
            self.names.add(function._opname)
        return function(*args, **(kwargs or {}))

    def were_of(self, routing):
        own = self.names - COMMON
        return len(own) > 1 and own <= OPS[routing]


def gradients(net, x, around=None):
    """Of the mean loss over x; `around` is what data-parallel training wraps the network in."""
    (net if around is None else around)(x).scores.square().sum(1).mean().backward()
    return {name: parameter.grad for name, parameter in net.named_parameters()}


def subject(routing):
    """The same network of capsule convolutions and the same six images, in every process."""
    torch.manual_seed(0)
    net = build(routing, "matrix", "convolutional").double()
    return net, images(6, dtype=torch.float64)


def train_on_half(rank, folder):
    """One of two processes: gradients of the half of the images that is its own, averaged with the other's."""
    torch.set_num_threads(1)
    stored.TINY = 0
    store = distributed.FileStore(str(folder / "store"), 2)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=60))
    for routing in OPS:
        net, x = subject(routing)
        with Calls() as calls:
            found = gradients(net, x.chunk(2)[rank], DistributedDataParallel(net))
        assert calls.were_of(routing)
        torch.save(found, folder / f"{routing}-{rank}.pt")
    distributed.destroy_process_group()


def test_two_processes_give_the_gradients_of_one(tmp_path):
    multiprocessing.spawn(train_on_half, (tmp_path,), nprocs=2)
    for routing in OPS:
        expected = gradients(*subject(routing))
        for rank in range(2):
            found = torch.load(tmp_path / f"{routing}-{rank}.pt")
            torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


@each
def test_autocast_does_not_change_the_routing(routing):
    layer = CapsuleLayer(CapsShape((3, 4), N, D), n=4, routing=ROUTINGS[routing])
    b = D + 1  # the votes of fewer would be stored
    below = Capsules(torch.randn(b, 3, 4, N, D, requires_grad=True), torch.rand(b, 3, 4, N, requires_grad=True))
    runs = []
    for enabled in (True, False):
        with Calls() as calls:
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                above = sequential([layer], below)[0][-1].capsules
            loss = above.pose.square().sum() + above.act.sum()
            grads = torch.autograd.grad(loss, [*below, *layer.parameters()], allow_unused=True, materialize_grads=True)
        assert calls.were_of(routing)
        runs.append((*above, *grads))
    assert all(t.dtype == torch.float32 for t in runs[0])
    assert all(torch.equal(*pair) for pair in zip(*runs, strict=True))


@pytest.fixture
def _deterministic():
    torch.use_deterministic_algorithms(True)  # it also fills fresh memory with NaN: what a pass forgets to write shows
    yield
    torch.use_deterministic_algorithms(False)


@each
@pytest.mark.usefixtures("_deterministic")
def test_deterministic_mode_gives_the_same_bits(routing):
    torch.set_num_threads(2)
    runs = []
    for _ in range(3):
        net, x = subject(routing)
        with Calls() as calls:
            runs.append(gradients(net.float(), x.float()))
        assert calls.were_of(routing)
    for name, grad in runs[0].items():
        assert torch.isfinite(grad).all()
        assert all(torch.equal(run[name], grad) for run in runs[1:])


def load_at_once(rank, barrier, folder, library):
    """One of two processes that find no library; what it does to build one is slow, and leaves a trace."""

    def build_slowly(into):
        (into / f"built-by-{rank}").touch()
        time.sleep(0.5)
        shutil.copy(library, into)
        torch.ops.load_library(str(into / library.name))

    native._build = build_slowly
    barrier.wait(timeout=100)
    native._load(folder)
    u, w = torch.randn(3, 2, 1, 5), torch.randn(3, 2, 8)
    assert torch.ops.torchcaps.attend(u, w, None, None, None, None, 4, False)[0].shape == (4, 2, 1, 5)


def test_of_two_processes_that_start_at_once_one_builds(tmp_path):
    library = next(Path(path) for path in torch.ops.loaded_libraries if path.endswith("torchcaps_native.so"))
    barrier = multiprocessing.get_context("spawn").Barrier(2)
    multiprocessing.spawn(load_at_once, (barrier, tmp_path / "cache", library), nprocs=2)
    assert len(list((tmp_path / "cache").glob("built-by-*"))) == 1


def test_the_lock_of_a_killed_build_is_not_waited_for(tmp_path, monkeypatch):
    locks = []

    def load(*arguments, build_directory, **options):
        locks.extend(Path(build_directory).glob("lock"))

    monkeypatch.setattr("torch.utils.cpp_extension.load", load)
    (tmp_path / "lock").touch()
    native._build(tmp_path)
    assert not locks
