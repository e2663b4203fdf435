"""Models by name: what there is, what it costs, and how it is built."""

import difflib
import fnmatch
import inspect
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from torchcaps.losses import make_loss
from torchcaps.network import Model
from torchcaps.windows import pair

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
    image: tuple[int, int, int]
    classes: int
    routing: str | None
    parameters: int
    multiply_adds: int
    build: Builder


CARDS: dict[str, Card] = {}


def register(
    name: str,
    build: Builder,
    section: str,
    summary: str,
    routing: str | None,
    image: tuple[int, int, int],
    parameters: int,
    multiply_adds: int,
    *,
    classes: int = 10,
) -> None:
    """Enter a model under the name `paper/model`."""
    paper = name.split("/")[0]
    CARDS[name] = Card(name, paper, section, summary, image, classes, routing, parameters, multiply_adds, build)


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

    >>> info = model_info("sabour2017/capsnet")
    >>> info["parameters"], info["routing"]
    (8215568, 'dynamic')
    """
    known = card(name)._asdict()
    del known["build"]
    return known


def create_model(name: str, *, pretrained: bool = False, **options: Any) -> Model:
    """Build a model of the papers, with its options or others.

    Every model takes `num_classes`, `in_chans` and `image_size`; `width`, a factor of everything in it, and
    `conv_width`, a factor of convolutions and types of primary capsules alone, which leaves hidden and class capsules
    and fully connected units as the paper has them; and `standardise`, whether it sees every image with mean 0 and
    deviation 1. Its `loss` is a name, or a dictionary of a name and options. Every capsule model also takes `routing`,
    a name or a factory, `routing_options` for it, `init_std`, the deviation of all capsule layers' first weights if it
    is not to be the routing's own (or the paper's), and `backbone`, a name or a module. The rest are the papers'
    ablations.

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
    own = inspect.signature(build).parameters
    allowed = dict.fromkeys([*own, "standardise", "loss"])
    for option in options:
        if option not in allowed:
            near = difflib.get_close_matches(option, allowed, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"{name} has no option {option!r}: {hint}it takes {', '.join(allowed)}")
    _check(options)
    model = _built(build, own, dict(options))
    model.recipe = {"name": name, "options": dict(options)}
    return model


def _built(build: Builder, own: Collection[str], options: dict[str, Any]) -> Model:
    """With the options of its builder, and with those that every model takes."""
    standardise, loss = options.pop("standardise", False), options.pop("loss", {})
    loss = {"name": loss} if isinstance(loss, str) else loss
    if loss.keys() == {"name"} and "loss" in own:
        model = build(**options, loss=loss["name"])  # which may know whether a score is a length
    else:
        model = build(**options)
        model.loss = make_loss(**loss) if loss else model.loss
    if standardise:
        model.standardise()
    return model


def _check(options: dict[str, Any]) -> None:
    """The options every model takes, each with a value that makes sense."""
    for name in ("num_classes", "in_chans"):
        value = options.get(name, 1)
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name}={value!r} is not allowed: a whole number of at least 1 is needed")
    standardise, loss = options.get("standardise", False), options.get("loss", {"name": ""})
    if not isinstance(standardise, bool):
        raise ValueError(f"standardise={standardise!r} is not allowed: it must be True or False")
    if not isinstance(loss, str) and not (isinstance(loss, dict) and isinstance(loss.get("name"), str)):
        raise ValueError(f"loss={loss!r} is not allowed: a name, or a dictionary with one, is needed")
    for name in ("width", "conv_width", "init_std"):
        value = options.get(name, 1.0)
        none = value is None and name == "init_std"
        if not none and (not isinstance(value, int | float) or not 0 < value < float("inf")):
            raise ValueError(f"{name}={value!r} is not allowed: it must be a positive number")
    if min(pair(options.get("image_size", 1), "image_size")) < 1:
        raise ValueError(f"image_size={options['image_size']!r} is not allowed: it must be at least 1")
