"""Models by name: what there is, what it costs, and how it is built."""

import difflib
import fnmatch
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from torchcaps._memory import memory
from torchcaps.losses import make_loss
from torchcaps.models._fitting import fitted, knows_photographs
from torchcaps.models._options import check_options, is_large
from torchcaps.network import Model
from torchcaps.windows import TooSmallError

Builder = Callable[..., Model]


class Card(NamedTuple):
    """What is known of a model before it is built.

    `parameters` and `multiply_adds` (of all convolutions and matrix products, for one image) are exact for the default
    options; the tests build every model and count again.
    """

    name: str
    paper: str
    section: str
    summary: str
    good_for: str
    image: tuple[int, int, int]
    classes: int
    routing: str | None
    parameters: int
    multiply_adds: int
    build: Builder


CARDS: dict[str, Card] = {}
SPEEDS = {"very fast": 1e7, "fast": 1e8, "medium": 3e8, "slow": 1e9, "very slow": float("inf")}
"""Words for how fast a model is, and the multiply-adds for one image up to which they hold."""


def register(
    name: str,
    build: Builder,
    section: str,
    summary: str,
    good_for: str,
    routing: str | None,
    image: tuple[int, int, int],
    parameters: int,
    multiply_adds: int,
    *,
    classes: int = 10,
) -> None:
    """Enter a model under the name `paper/model`."""
    paper = name.split("/")[0]
    facts = section, summary, good_for, image, classes, routing, parameters, multiply_adds
    CARDS[name] = Card(name, paper, *facts, build)


def list_models(pattern: str = "*") -> list[str]:
    """The names of all models, or of those that match a pattern.

    >>> list_models("tsai2020/inverted*")
    ['tsai2020/inverted_resnet', 'tsai2020/inverted_simple']
    """
    return sorted(name for name in CARDS if fnmatch.fnmatch(name, pattern))


def card(name: str) -> Card:
    """The card of a model; an unknown name is answered with the nearest ones.

    >>> card("tsai2020/inverted_simple").image
    (3, 32, 32)
    """
    if name in CARDS:
        return CARDS[name]
    near = difflib.get_close_matches(name, CARDS, n=3, cutoff=0.4)
    near += [known for known in CARDS if name.lower() in known and known not in near][:3]
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else "list_models() names them all"
    raise ValueError(f"there is no model {name!r}: {hint}")


def model_info(name: str) -> dict[str, Any]:
    """Paper, section, input, classes, routing, exact parameters and multiply-adds of a model with its default options.

    How fast it is goes by its multiply-adds for one image: very fast, fast, medium, slow or very slow.

    >>> info = model_info("sabour2017/capsnet")
    >>> info["parameters"], info["routing"], info["speed"]
    (8215568, 'dynamic', 'medium')
    """
    known = card(name)._asdict()
    del known["build"]
    return {**known, "speed": next(word for word, most in SPEEDS.items() if known["multiply_adds"] <= most)}


def create_model(name: str, /, *, pretrained: bool = False, **options: Any) -> Model:
    """Build a model of the papers, with its options or others.

    Every model takes `num_classes`, `in_chans` and `image_size`; `width`, a factor of everything in it, and
    `conv_width`, a factor of convolutions and types of primary capsules alone, which leaves hidden and class capsules
    and fully connected units as the paper has them; and `standardise`, whether it sees every image with mean 0 and
    deviation 1. Its `loss` is a name, or a dictionary of a name and options. Every capsule model also takes `routing`,
    a name or a factory, `routing_options` for it, `init_std`, the deviation of all capsule layers' first weights if it
    is not to be the routing's own (or the paper's), and `backbone`, a name or a module. The rest are the papers'
    ablations.

    Above a pretrained backbone (`torchcaps.backbones`) primary capsules are made by a 1×1 convolution, windows are as
    small as its map demands, and there is no decoder unless `reconstruction` is given. It normalises colours itself.

    >>> net = create_model("sabour2017/capsnet", num_classes=5, in_chans=3, image_size=48, width=0.1)
    >>> net(torch.rand(2, 3, 48, 48)).scores.shape
    torch.Size([2, 5])

    With `pretrained`, the small trained network that is shipped under the name; it has options of its own, which
    `recipe` tells, and takes no others. `list_pretrained()` names those there are.
    """
    build = card(name).build
    if pretrained:
        from torchcaps.models._pretrained import shipped  # which builds models itself

        return shipped(name, options)
    check_options(name, build, options)
    try:
        if is_large(options):
            _check_room(name, build, options)
        model = _built(build, options)
    except TooSmallError as error:
        raise ValueError(f"{name} is too large for such images: {error}. {_advice(build, options)}") from error
    model.recipe = {"name": name, "options": dict(options)}
    return model


def _built(build: Builder, given: Mapping[str, Any]) -> Model:
    """With the options of its builder, and with those that every model takes."""
    options, own = dict(given), inspect.signature(build).parameters
    standardise, loss = options.pop("standardise", False), options.pop("loss", {})
    loss = {"name": loss} if isinstance(loss, str) else loss
    options = fitted(own, options)
    if standardise and knows_photographs(options.get("backbone")):
        raise ValueError("standardise=True is not allowed: a pretrained backbone normalises images its own way")
    if loss.keys() == {"name"} and "loss" in own:
        model = build(**options, loss=loss["name"])  # which may know whether a score is a length
    else:
        model = build(**options)
        model.loss = make_loss(**loss) if loss else model.loss
    if standardise:
        model.standardise()
    return model


def _advice(build: Builder, options: Mapping[str, Any]) -> str:
    """Which options make a network fit small images."""
    own = inspect.signature(build).parameters
    now = options.get("kernel", own["kernel"].default if "kernel" in own else 1)
    smaller = f"kernel={max(1, now // 3)} (it is {now}), or " if now > 1 else ""
    return f"What helps is {smaller}a larger image_size"


def _check_room(name: str, build: Builder, options: Mapping[str, Any]) -> None:
    """Refuse a network that memory cannot hold before any of it is taken."""
    with torch.device("meta"):
        size = sum(p.numel() * p.element_size() for p in _built(build, options).parameters())
    if size > memory():
        shown = ", ".join(f"{option}={value!r}" for option, value in options.items())
        raise ValueError(
            f"{name} with {shown} has weights of {size / 1e9:,.0f} GB, and there are {memory() / 1e9:,.0f} GB of memory"
        )
