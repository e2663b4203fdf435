"""A network that has learned: an untrained one names one class whatever it is shown, and a wrong image goes unseen."""

from torch import nn

from torchcaps.models import create_model
from torchcaps.network import ConvNet


def reader(size=28):
    """The LeNet-5 that ships, for images of any size, of which it reads the middle."""
    lenet = create_model("chen2019/lenet", pretrained=True)
    net = ConvNet(nn.Sequential(nn.ZeroPad2d((28 - size) // 2), lenet.body)).eval()
    net.recipe = {"name": "chen2019/lenet", "options": {"image_size": size}}
    return net
