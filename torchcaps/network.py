"""The whole network: backbone, primary capsules, capsule layers, head."""

from collections.abc import Sequence

from torch import Tensor, nn

from torchcaps.layers import CapsuleLayer, Decoder, Head, PrimaryCapsules
from torchcaps.losses import CrossEntropy, MarginLoss
from torchcaps.model import Model
from torchcaps.schedule import Schedule, sequential
from torchcaps.types import Parse, Record, check_record


class CapsNet(Model):
    """A capsule network; its `Parse` is the record of what it did, so nothing is collected with hooks.

    >>> primary = PrimaryCapsules((1, 9, 9), n=4, d=8, kernel=5, stride=2)
    >>> layer = CapsuleLayer(primary.shape_out, n=3, d=6)
    >>> net = CapsNet(nn.Identity(), primary, [layer], ActivationHead(layer.shape_out))
    >>> parse = net(torch.rand(2, 1, 9, 9), record="last")
    >>> parse.scores.shape, [tuple(c.shape) for c in parse.couplings]
    (torch.Size([2, 3]), [(2, 1, 1, 36, 3)])

    Args:
        backbone: any module from images to the feature map that `primary` was built for.
        layers: capsule layers, each built for the shape the one before gives.
        decoder: draws images from the class capsules; it is asked beside the network, `net.decoder(parse, labels)`.
        loss: the margin loss if not given, or cross entropy under a linear head.
        schedule: `sequential`, or `concurrent` (with `functools.partial(concurrent, iters=2)` to set its sweeps).
    """

    def __init__(
        self,
        backbone: nn.Module,
        primary: PrimaryCapsules,
        layers: Sequence[CapsuleLayer],
        head: Head,
        *,
        decoder: Decoder | None = None,
        loss: nn.Module | None = None,
        schedule: Schedule = sequential,
    ) -> None:
        usual = MarginLoss() if head.reads_activation else CrossEntropy()
        super().__init__(loss=usual if loss is None else loss, decoder=decoder)
        if not layers:
            raise ValueError("layers=[] is not allowed: a capsule network needs at least one capsule layer")
        shapes = [primary.shape_out, *(layer.shape_out for layer in layers)]
        wanted = [*(layer.shape_in for layer in layers), head.classes]
        for k, (gives, takes) in enumerate(zip(shapes, wanted, strict=True)):
            if gives != takes:
                above = f"layer {k + 1}" if k < len(layers) else "the head"
                raise ValueError(f"{above} was built for {takes}, but below it stands {gives}")
        routing = layers[-1].routing
        if head.reads_activation and not routing.activates:
            raise ValueError(
                f"{type(head).__name__} scores a class by its capsule's activation, but {type(routing).__name__} gives "
                f"every capsule activation 1: use LinearHead, or InvertedAttention(activations=True)"
            )
        self.backbone, self.primary, self.head = backbone, primary, head
        self.layers = nn.ModuleList(layers)
        self.schedule = schedule

    def forward(self, x: Tensor, record: Record = "none") -> Parse:
        check_record(record)
        primary = self.primary(self.backbone(x))
        history = self.schedule(list(self.layers), primary, record)  # type: ignore[arg-type]
        tops = [states[-1] for states in history]
        scores = self.head(tops[-1].capsules)
        if record == "none":
            return Parse(scores, [tops[-1].capsules], [], [])
        couplings = [top.coupling for top in tops if top.coupling is not None]
        capsules = [primary, *(top.capsules for top in tops)]
        return Parse(scores, capsules, couplings, history if record == "all" else [])
