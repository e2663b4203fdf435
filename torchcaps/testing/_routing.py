"""What every routing promises, one check a promise."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from torchcaps.layers import CapsuleLayer
from torchcaps.routing import RoutingFactory
from torchcaps.testing._trial import CASES, CLASSES, SWEEPS, Case, Trial
from torchcaps.types import Capsules

INPUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "zero": lambda x: x * 0,
    "tiny": lambda x: x * 1e-6,
    "huge": lambda x: x * 1e4,
    "mixed": lambda x: (
        x * 10 ** (torch.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2]) % 11 - 6.0)[..., None, None]
    ),
}


class RoutingError(AssertionError):
    """A promise that a routing breaks, in a sentence."""


def check_routing(factory: RoutingFactory, cases: Iterable[Case] = CASES) -> None:
    """Try a routing in small networks; a promise of `Routing` that it breaks is named by a `RoutingError`.

    Tried are its record, finite values and gradients, couplings, batches, state dict and derivatives, with vector and
    matrix poses, in fully connected and padded convolutional layers, under both schedules and in three precisions.
    It takes a few seconds.

    >>> from torchcaps.routing import Dynamic
    >>> check_routing(Dynamic, CASES[:1])

    Args:
        factory: builds the routing for a shape, as `CapsuleLayer` takes it.
        cases: where it is tried; everywhere if not given.
    """
    for case in cases:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            trial = Trial(factory, case)
            name = type(trial.layers[0].routing).__name__
            for check in CHECKS:
                try:
                    check(trial)
                except RoutingError as fault:
                    raise RoutingError(f"{name}: {fault} ({case})") from None
                except Exception as error:
                    why = f"it fails with {type(error).__name__}: {error}"
                    raise RoutingError(f"{name} cannot keep a promise ({check.__doc__}): {why} ({case})") from error


def record(trial: Trial) -> None:
    """A record has the shapes and the precision of the layers, and asking for it changes nothing."""
    x = trial.images(2)
    none, last, whole = trial.run(x), trial.run(x, "last"), trial.run(x, "all")
    shapes = [trial.net.primary.shape_out, *(layer.shape_out for layer in trial.layers)]
    _same(
        [tuple(c.pose.shape) for c in last.capsules],
        [(2, *s.grid, s.n, s.d) for s in shapes],
        "the shapes of the poses",
    )
    seen = [(2, *layer.shape_out.grid, layer.windows.i, layer.shape_out.n) for layer in trial.layers]
    _same([tuple(c.shape) for c in last.couplings], seen, "the shapes of the couplings")
    steps = [layer.routing.iters if trial.case.schedule == "sequential" else SWEEPS for layer in trial.layers]
    _same([len(states) for states in whole.history], steps, "the numbers of states")
    kept = [len(none.capsules), len(none.couplings), len(none.history), len(last.history)]
    _same(kept, [1, 0, 0, 0], "the lengths of a record that was not asked for")
    for parse in (last, whole):
        _close(parse.scores, none.scores, trial.around, "the scores change when a record is asked for")
    for one, other in zip(last.couplings, whole.couplings, strict=True):
        _close(one, other, trial.inside, "the last couplings differ between two records")
    dtypes = [last.capsules[-1].pose.dtype, *(layer.weight.dtype for layer in trial.layers)]
    _same(dtypes, [trial.dtype] * 3, "the precisions of poses and weights")


def finite(trial: Trial) -> None:
    """Values and gradients are finite whatever the size of the input."""
    for size, scaled in INPUTS.items():
        x = scaled(trial.images(3)).to(trial.dtype).requires_grad_()
        parse = trial.run(x, "all")
        loss = parse.scores.float().sum() + sum(c.pose.float().sum() for c in parse.capsules)
        named = dict(trial.net.named_parameters())
        found = torch.autograd.grad(loss, [x, *named.values()], allow_unused=True, materialize_grads=True)
        values = {"poses": [c.pose for c in parse.capsules], "activations": [c.act for c in parse.capsules]}
        values |= {"couplings": parse.couplings, "gradient of the images": [found[0]]}
        values |= {f"gradient of {name}": [g] for name, g in zip(named, found[1:], strict=True)}
        for what, tensors in values.items():
            if not all(torch.isfinite(t).all() for t in tensors):
                raise RoutingError(f"at {size} input there is NaN or infinity in the {what}")


def shares(trial: Trial) -> None:
    """A child's couplings sum to one where the routing `competes`, and padding has none."""
    parse = trial.run(trial.images(2), "all")
    for layer, states in zip(trial.layers, parse.history, strict=True):
        for state in states:
            coupling = _coupling(state.coupling)
            here = torch.ones_like(coupling[..., 0])
            if layer.windows.missing is not None:
                here = here * (~layer.windows.missing).to(trial.dtype)
            if (coupling * (1 - here)[..., None]).any():
                raise RoutingError("a child of padding has couplings that are not zero")
            if layer.routing.competes:
                what = "it `competes`, but a child's couplings do not sum to one over its parents"
                _close(coupling.sum(-1), here, trial.inside, what)


def reports(trial: Trial) -> None:
    """The couplings it reports are those its step used: with them, the votes give the poses again."""
    parse = trial.run(trial.images(2), "all")
    belows = [[parse.capsules[0]] * SWEEPS, *([state.capsules for state in states] for states in parse.history)]
    for layer, states, below in zip(trial.layers, parse.history, belows[:-1], strict=True):
        for t, state in enumerate(states):
            at = -1 if trial.case.schedule == "sequential" else max(t - 1, 0)
            found = _recombined(layer, below[at], _coupling(state.coupling), state.act)
            what = "the couplings it reports are not those its step used, or `finish` not what its step ends with"
            # A layer norm makes a rounding larger.
            _close(found, state.pose, 10 * trial.inside, f"{what}: the votes they give differ from the poses")


def batches(trial: Trial) -> None:
    """A batch may hold no image, or one."""
    for batch in (0, 1):
        parse = trial.run(trial.images(batch), "last")
        parse.scores.sum().backward()
        trial.net.zero_grad()
        _same(tuple(parse.scores.shape), (batch, CLASSES), "the sizes of the scores")
        _same([len(c.pose) for c in parse.capsules], [batch] * 3, "the numbers of images")


def items(trial: Trial) -> None:
    """Each image of a batch is understood by itself."""
    x = trial.images(3)
    with torch.no_grad():
        apart = torch.cat([trial.run(one[None]).scores for one in x])
        _close(trial.run(x).scores, apart, trial.around, "the scores of an image change with the others of its batch")


def state_dict(trial: Trial) -> None:
    """A state dict holds all it has learned."""
    other, x = Trial(trial.build.args[0], trial.case), trial.images(2)
    other.net.load_state_dict(trial.net.state_dict())
    with torch.no_grad():
        if not torch.equal(trial.run(x).scores, other.run(x).scores):
            raise RoutingError("a network with the same state dict gives other scores")


def derivatives(trial: Trial) -> None:
    """Gradients can be differentiated again, and taken by torch.func."""
    if trial.case not in TWICE:
        return
    x = trial.images(2).requires_grad_()
    energy = trial.run(x).scores.square().sum()
    (once,) = torch.autograd.grad(energy, x, retain_graph=True)
    (again,) = torch.autograd.grad(energy, x, create_graph=True)
    _close(again, once, 1e-7, "the gradient is another one when it is to be differentiated again")
    if not torch.isfinite(torch.autograd.grad(again.square().sum(), x)[0]).all():
        raise RoutingError("there is NaN or infinity in a second derivative")
    taken = torch.func.grad(lambda t: trial.run(t).scores.square().sum())(x.detach())
    _close(taken, once, 1e-7, "torch.func.grad gives another gradient than backward")


TWICE = (Case("vector", "connected", "sequential", "float64"), Case("matrix", "convolutional", "sequential", "float64"))
CHECKS = (record, finite, shares, items, reports, batches, state_dict, derivatives)


def _recombined(layer: CapsuleLayer, below: Capsules, coupling: Tensor, act: Tensor) -> Tensor:
    votes, routing = layer.votes(below), layer.routing
    weight = votes.weigh(coupling, weighted=routing.weighs)
    return routing.finish(votes.combine(weight), weight.sum(-2), act)


def _coupling(coupling: Tensor | None) -> Tensor:
    if coupling is None:
        raise RoutingError("a recorded state holds no coupling")
    return coupling


def _same(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise RoutingError(f"{what} are {found} and not {wanted}")


def _close(found: Tensor, wanted: Tensor, tolerance: float, what: str) -> None:
    if not torch.allclose(found, wanted, rtol=tolerance, atol=tolerance):
        raise RoutingError(f"{what}, by up to {(found - wanted).abs().max():.2g}")
