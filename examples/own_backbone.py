"""Capsules on a backbone of one's own, in a ready-made network and put together by hand; both are trained."""

from torch import nn

from torchcaps import CapsNet, create_model, fit
from torchcaps.layers import ActivationHead, CapsuleLayer, PrimaryCapsules
from torchcaps.routing import EM


def backbone() -> nn.Sequential:
    """Any module from images to a feature map (batch, channels, height, width)."""
    return nn.Sequential(nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU())


def by_hand() -> CapsNet:
    """Primary capsules on the 32 × 12 × 12 features of 28 × 28 images, a layer of capsules, the class capsules."""
    primary = PrimaryCapsules((32, 12, 12), n=4, d=8, kernel=5, stride=2, activation="learned")
    hidden = CapsuleLayer(primary.shape_out, n=8, d=8, window=3, routing=EM)
    classes = CapsuleLayer(hidden.shape_out, n=10, d=8, routing=EM)
    return CapsNet(backbone(), primary, [hidden, classes], ActivationHead(classes.shape_out))


def main() -> None:
    """A step or two of training for each."""
    ready_made = create_model("sabour2017/capsnet", backbone=backbone(), width=0.25, reconstruction="none")
    for net in (ready_made, by_hand()):
        run = fit(net, "glyphs", fast_dev_run=True, quiet=True)
        size = sum(p.numel() for p in net.parameters())
        print(f"{size:,} parameters, loss {run.history[-1]['loss']:.3f}")


if __name__ == "__main__":
    main()
