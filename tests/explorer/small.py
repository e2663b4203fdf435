"""Networks on show that are small enough to be followed by hand."""

import torch
from torch import nn

from tests.explain.networks import IMAGE, convolutional
from torchcaps.data import Reading, Stored
from torchcaps.explain import Structure
from torchcaps.explorer.gallery import Exhibit
from torchcaps.explorer.question import Changes, changed
from torchcaps.layers import Decoder
from torchcaps.network import ConvNet

CLASSES = ("ant", "bee", "cat")


class Linear(Decoder):
    """Draws the same weighted sum of all class capsules' numbers wherever it looks; see `weight`."""

    def __init__(self, classes):
        super().__init__(classes, IMAGE)
        self.weight = nn.Parameter(torch.rand(classes.n * classes.d, 12))

    def draw(self, code):
        return (code @ self.weight).sigmoid().unflatten(1, IMAGE)


def shown(model, name="small", classes=CLASSES, count=4):
    """An exhibit of a few random images."""
    images = torch.randint(0, 256, (count, *IMAGE), dtype=torch.uint8)
    samples = Stored(images, torch.arange(count) % len(classes), classes)
    return Exhibit(name, name, model, tuple(classes), samples, Structure.of(model, classes), Reading(IMAGE))


def capsules(name="small", seed=0, **options):
    """Capsules on 4×3, on 2×2 and three classes, whose routing takes sides; it draws from them."""
    torch.manual_seed(seed)
    net = convolutional(**options)
    for layer in net.layers:
        layer.weight.data.mul_(9)
    net.decoder = Linear(net.head.classes)
    return shown(net.eval(), name)


def plain(name="plain"):
    """The first class where the left column is brighter than the others, the second where it is not."""
    body = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))
    weight = torch.zeros(3, 4, 3)
    weight[0, :, 0], weight[1, :, 0] = 1.0, -1.0
    body[1].weight.data, body[1].bias.data = weight.flatten(1), torch.tensor([-1.0, 1.0, -9.0])
    return shown(ConvNet(body), name)


def seen(exhibit, changes=None, sample=0):
    """The image as the network is to see it."""
    image = exhibit.samples.images[sample].float() / 255
    return changed(image, [Changes(**(changes or {}))])
