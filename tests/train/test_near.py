"""Images on a card, or on their way to one. The CPU stands for the card, and notes what is sent to it and how."""

from typing import NamedTuple

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from torchcaps import fit
from torchcaps.data import Batch, Dataset, load
from torchcaps.data.glyphs import load_glyphs
from torchcaps.models import create_model
from torchcaps.train.near import near, sent

CARD = torch.device("cuda")
TRAIN, JUDGE = 12, 6


class OnCard(Tensor):
    """A tensor that says that it is on the card; its numbers lie in the same memory."""

    is_cuda = True


class Pinned(Tensor):
    """A tensor in memory that a card can read by itself."""


class Sent(NamedTuple):
    """What went to the card."""

    kind: torch.dtype
    nbytes: int
    pinned: bool
    waited: bool


class Card:
    """A card with so many bytes left, and what was sent to it."""

    def __init__(self):
        self.free, self.sent, self.used = 0, list[Sent](), 0

    def moved(self, real, tensor, *where, **how):
        """`Tensor.to`: there, and back, which is where the CPU that stands for the card computes."""
        if where and where[0] == CARD:
            self.sent.append(
                Sent(tensor.dtype, tensor.nbytes, isinstance(tensor, Pinned), not how.get("non_blocking", False))
            )
            return tensor.as_subclass(OnCard)
        self.used += isinstance(tensor, OnCard)
        return real(tensor.as_subclass(Tensor), *where, **how)


@pytest.fixture
def card(monkeypatch):
    """Torch and Fabric believe that there is one."""
    card, to, setup = Card(), Tensor.to, Fabric.setup
    monkeypatch.setattr(Tensor, "to", lambda tensor, *where, **how: card.moved(to, tensor, *where, **how))
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: tensor.clone().as_subclass(Pinned))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (card.free, 2 * card.free))
    monkeypatch.setattr(Fabric, "device", property(lambda fabric: CARD))
    monkeypatch.setattr(Fabric, "setup", lambda *given, **how: setup(*given, **how, move_to_device=False))
    monkeypatch.setattr("torchcaps.ops.status", lambda device: "plain torch")
    return card


def pairs(part, count):
    """Images of two digits, each of which is there alone as well."""
    return load("multi_mnist", source=load_glyphs(part, count))


def trained(**chosen):
    torch.manual_seed(0)
    net = create_model("sabour2017/capsnet", width=0.04, image_size=36)
    judge = {"validation_data": pairs("test", JUDGE), "batch_size": 4, "epochs": 1, "quiet": True}
    return fit(net, pairs("train", TRAIN), **judge, **chosen)


@pytest.mark.usefixtures("no_shape_checks")
def test_images_live_on_the_card_where_they_fit(request):
    """As bytes, once; a step sends nothing. The training is the one at home."""
    home = trained()
    card = request.getfixturevalue("card")
    card.free = 1 << 30
    away = trained()
    large = [sent for sent in card.sent if sent.nbytes > 1000]
    assert [sent.kind for sent in large] == [torch.uint8] * 2
    assert [sent.nbytes for sent in large] == [TRAIN * 28 * 28, JUDGE * 28 * 28]
    assert card.used >= 3 * (TRAIN // 4)
    for one, other in zip(away.model.parameters(), home.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.usefixtures("no_shape_checks")
def test_images_that_do_not_fit_are_sent_batch_by_batch(request):
    """Images, labels and single digits of every batch, from pinned memory, and nobody waits for them."""
    home = trained()
    card = request.getfixturevalue("card")
    card.free = 3 * TRAIN * 28 * 28  # of which a quarter may be taken
    away = trained()
    steps = [sent for sent in card.sent if sent.pinned]
    assert [sent.kind for sent in steps] == [torch.float32, torch.int64, torch.float32] * (TRAIN // 4)
    assert not any(sent.waited for sent in steps)
    assert not any(sent.kind == torch.uint8 and sent.nbytes >= TRAIN * 28 * 28 for sent in card.sent)
    for one, other in zip(away.model.parameters(), home.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_bf16_lays_convolutions_out_for_the_card(precision, card, tmp_path):
    """Channels last, weights of capsules as they were; what is kept of the run can be read."""
    card.free = 1 << 30
    run = trained(precision=precision, out=tmp_path / "run")
    kernels = [p for p in run.model.parameters() if p.ndim == 4 and min(p.shape[1:]) > 1]
    assert kernels
    for kernel in kernels:
        assert kernel.is_contiguous(memory_format=torch.channels_last) == (precision == "bf16")
    assert all(p.is_contiguous() for p in run.model.parameters() if p.ndim < 4)
    assert (tmp_path / "run" / "run.json").exists()


@pytest.mark.usefixtures("no_shape_checks")
def test_at_home_images_stay_as_they_are(monkeypatch):
    """On the CPU the layout is torch's own, and nothing is pinned."""
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: pytest.fail("pinned for no card"))
    run = trained(precision="bf16", fast_dev_run=True)
    assert all(p.is_contiguous() for p in run.model.parameters())


class Held(Dataset):
    """A hundred bytes that say where they went."""

    where = "home"

    def __init__(self, nbytes=100):
        super().__init__(("a", "b"), (1, 1, 1))
        self.taken = nbytes

    nbytes = property(lambda self: self.taken)

    def to(self, device):
        away = Held(self.taken)
        away.where = device.type
        return away


@pytest.mark.parametrize(("free", "where"), [(400, "cuda"), (399, "home"), (0, "home")])
def test_a_quarter_of_the_free_memory_is_for_images(free, where, monkeypatch):
    assert near(Held(), CARD, free).where == where
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 10**9))
    assert near(Held(), CARD).where == where
    assert near(Held(0), CARD, free).where == "home", "one that holds nothing draws as well at home"
    assert near(Held(), torch.device("cpu"), free).where == "home"


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("singles", [True, False])
def test_a_batch_is_sent_once(card, singles):
    images, labels = torch.rand(2, 1, 3, 3), torch.tensor([[0], [1]])
    batch = Batch(images, labels, torch.rand(2, 1, 1, 3, 3) if singles else None)
    away = sent(batch, CARD)
    assert [None if part is None else type(part) for part in away] == [OnCard, OnCard, OnCard if singles else None]
    assert [sent.kind for sent in card.sent] == [torch.float32, torch.int64, torch.float32][: 2 + singles]
    assert all(sent.pinned and not sent.waited for sent in card.sent)
    assert sent(away, CARD) is away
    assert len(card.sent) == 2 + singles
