"""What a network is: a `Parse` of images, a loss, perhaps a decoder, a way to disk; with capsules or without."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor, nn

from torchcaps._atomic import replaced, write_text
from torchcaps._seal import sealed
from torchcaps._version import __version__
from torchcaps.layers import CapsuleLayer, Decoder, Head, PrimaryCapsules
from torchcaps.layers.standardise import standardise
from torchcaps.losses import CrossEntropy, Loss, MarginLoss
from torchcaps.schedule import Schedule, sequential
from torchcaps.types import Parse, Record, check_record

CONFIG, WEIGHTS, FORMAT = "config.json", "model.safetensors", 2


class Model(nn.Module):
    """A network that returns a `Parse`.

    >>> class Brightness(Model):
    ...     def forward(self, x, record="none"):
    ...         bright = x.mean((1, 2, 3))
    ...         return Parse(torch.stack([-bright, bright], 1), [], [], [])
    >>> Brightness(loss=CrossEntropy())(torch.ones(1, 1, 2, 2)).scores
    tensor([[-1.,  1.]])

    Attributes:
        loss: from class scores and multi-hot targets to a number; what the paper trains with, unless chosen otherwise.
        decoder: from a parse and labels to images, or None.
        recipe: the name and options that `create_model` built it from; empty for a network put together by hand.
        standardises: whether it sees every image with mean 0 and deviation 1.
    """

    loss: nn.Module
    decoder: nn.Module | None

    def __init__(self, *, loss: nn.Module, decoder: nn.Module | None = None) -> None:
        super().__init__()
        self.loss, self.decoder = loss, decoder
        self.recipe: dict[str, Any] = {}
        self.standardises = False

    def standardise(self) -> None:
        """From now on see every image with mean 0 and deviation 1, in training and wherever it is asked afterwards.

        It stands before `forward`, so that it holds for every kind of network, and images stay numbers from 0 to 1.
        """
        if not self.standardises:
            self.standardises = True
            self.register_forward_pre_hook(_standardised)

    def forward(self, x: Tensor, record: Record = "none") -> Parse:
        """How the network understands the images; `record` says how much of it is kept."""
        raise TypeError(f"{type(self).__name__} must define forward(x, record)")

    def probabilities(self, scores: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        """A probability for each class, as the loss the network was trained with reads its scores.

        They sum to one and rank the classes as the scores do; they are not calibrated. A loss that does not say how it
        reads scores is taken to read logits.

        >>> ConvNet(nn.Identity(), loss=MarginLoss()).probabilities(torch.tensor([[0.6, 0.2, 0.0]]))
        tensor([[0.7500, 0.2500, 0.0000]])
        """
        return self.loss.probabilities(scores) if isinstance(self.loss, Loss) else scores.softmax(-1)

    def save_pretrained(self, directory: str | Path) -> Path:
        """Write weights (safetensors) and recipe (JSON) into a directory for `from_pretrained`. Nothing is pickled."""
        if not self.recipe:
            raise ValueError(
                "only a network built by create_model knows its recipe; for one put together by hand save its "
                "state_dict with safetensors.torch.save_file"
            )
        for name, value in self.recipe["options"].items():
            if not _is_plain(value):
                raise ValueError(
                    f"option {name}={value!r} is an object that JSON cannot hold: build the model from names "
                    f"(register_routing gives a routing of yours one), or save its state_dict with "
                    f"safetensors.torch.save_file"
                )
        return write_weights(self, directory, self.recipe)


def write_weights(model: Model, directory: str | Path, facts: dict[str, Any]) -> Path:
    """Write a network's weights, and beside them the name and options to build it with; both are covered by checksums.

    Without the second file, which is written last, the first counts for nothing.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = write_weights(ConvNet(nn.Linear(2, 2)), folder, {"name": "custom", "options": {}})
    ...     sorted(path.name for path in target.iterdir())
    ['config.json', 'model.safetensors']
    """
    target = Path(directory)
    with replaced(target / WEIGHTS) as part:
        save_file({name: t.contiguous() for name, t in model.state_dict().items()}, part)
        digest = hashlib.sha256(part.read_bytes()).hexdigest()
        (target / CONFIG).unlink(missing_ok=True)
    config = sealed({"format": FORMAT, "torchcaps": __version__, **facts, "sha256": digest})
    write_text(target / CONFIG, json.dumps(config, indent=2) + "\n")
    return target


def has_plain_recipe(model: Model) -> bool:
    """Whether a network can be built again from names and numbers alone.

    >>> has_plain_recipe(ConvNet(nn.Linear(2, 2)))
    False
    """
    return bool(model.recipe) and all(map(_is_plain, model.recipe["options"].values()))


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _standardised(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return standardise(inputs[0]), *inputs[1:]


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


class ConvNet(Model):
    """A plain network from images to class logits; its parse holds scores and nothing else.

    >>> ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(9, 3)))(torch.rand(2, 1, 3, 3)).capsules
    []
    """

    def __init__(self, body: nn.Module, *, loss: nn.Module | None = None) -> None:
        super().__init__(loss=CrossEntropy() if loss is None else loss)
        self.body = body

    def forward(self, x: Tensor, record: Record = "none") -> Parse:
        """Class logits; there is nothing to record."""
        check_record(record)
        return Parse(self.body(x), [], [], [])
