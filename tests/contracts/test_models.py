"""What every model promises: its paper's input and any other, any routing, and the way to disk."""

import copy
import inspect

import pytest
import torch
from einops import rearrange

from torchcaps.losses import ReconstructionLoss, multi_hot
from torchcaps.models import card, create_model, from_pretrained, list_models
from torchcaps.routing import ROUTINGS

SMALL = 0.1
CAPSULES = [name for name in list_models() if card(name).routing]
LAYOUTS = {
    "channels last": lambda x: rearrange(x.new_empty(rearrange(x, "b c h w -> b h w c").shape), "b h w c -> b c h w"),
    "every second column": lambda x: x.new_empty(*x.shape[:-1], 2 * x.shape[-1])[..., ::2],
    "every second row": lambda x: x.new_empty(*x.shape[:-2], 2 * x.shape[-2], x.shape[-1])[:, :, ::2],
    "rows as columns": lambda x: x.new_empty(x.mT.shape).mT,
}


def step(name, batch=2, **options):
    """One forward and backward pass with the model's own loss and decoder."""
    entry = card(name)
    net = create_model(name, **options)
    default = {k: p.default for k, p in inspect.signature(entry.build).parameters.items()}
    size = options.get("image_size", entry.image[1:])
    image = (options.get("in_chans", entry.image[0]), *((size, size) if isinstance(size, int) else size))
    classes = options.get("num_classes", default["num_classes"])
    x, labels = torch.rand(batch, *image), torch.randint(0, classes, (batch,))
    parse = net(x)
    assert parse.scores.shape == (batch, classes)
    loss = net.loss(parse.scores, multi_hot(labels, classes))
    if net.decoder is not None:
        loss = loss + ReconstructionLoss()(net.decoder, parse, labels[:, None], x[:, None])
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)
    assert any(p.grad.abs().max() > 0 for p in net.parameters() if p.grad is not None)
    return net


@pytest.mark.parametrize("name", list_models())
def test_the_papers_input(name):
    step(name, width=SMALL)


@pytest.mark.parametrize("name", list_models())
def test_images_however_they_lie_in_memory(name, monkeypatch):
    """Once in training, and twice in inference: spectra, forced upon small convolutions, are kept the second time."""
    monkeypatch.setenv("TORCHCAPS_SPECTRAL", "1")
    net = create_model(name, width=SMALL).double()
    x = torch.rand(1, *card(name).image, dtype=torch.float64).expand(2, -1, -1, -1)
    plain = x.contiguous()
    given = {"expanded": x} | {layout: make(x).copy_(x) for layout, make in LAYOUTS.items()}
    torch.testing.assert_close(gradients(net, given["channels last"]), gradients(net, plain))
    expected = net.eval()(plain).scores
    for layout, image in given.items():
        other = copy.deepcopy(net)  # without spectra
        with torch.no_grad():
            found = [other(image).scores for _ in range(2)]
        torch.testing.assert_close(found, [expected] * 2, msg=layout)


def gradients(net, x):
    """Scores in training, and what a parameter and the image get from them."""
    torch.manual_seed(0)  # drop-out
    x = x.detach().requires_grad_()
    scores = net.train()(x).scores
    wanted = [x, *(p for p in net.parameters() if p.requires_grad)]
    return [scores, *torch.autograd.grad(scores.sum(), wanted, allow_unused=True, materialize_grads=True)]


@pytest.mark.parametrize("name", list_models())
def test_other_images_and_classes(name):
    size = 2 if name == "peer2021/sign" else (44, 37)
    step(name, width=SMALL, conv_width=0.5, num_classes=3, in_chans=2, image_size=size)


@pytest.mark.parametrize(
    ("name", "routing"),
    [(n, r) for n in CAPSULES for r in ROUTINGS if (n, r) != ("peer2021/sign", "inverted_attention")],
)
def test_any_routing(name, routing):
    net = step(name, width=0.05, routing=routing)
    assert all(isinstance(layer.routing, ROUTINGS[routing]) for layer in net.layers)


def test_what_mathematics_forbids_is_explained():
    with pytest.raises(ValueError, match="the layer norm of a single number is constant"):
        create_model("peer2021/sign", routing="inverted_attention")


@pytest.mark.parametrize("name", CAPSULES)
def test_a_routing_factory_and_a_backbone_of_ones_own(name):
    backbone = torch.nn.Conv2d(card(name).image[0], 8, 1)
    net = step(name, width=0.05, routing=ROUTINGS["dynamic"], backbone=backbone)
    assert net.backbone is backbone or backbone in net.backbone


@pytest.mark.parametrize("name", list_models())
def test_round_trip_to_disk(name, tmp_path):
    net = create_model(name, width=SMALL).eval()
    x = torch.rand(2, *card(name).image)
    again = from_pretrained(net.save_pretrained(tmp_path)).eval()
    assert torch.equal(net(x).scores, again(x).scores)
    assert again.recipe == net.recipe
