"""Every routing as everyone writes it: an explicit votes tensor, einsum and softmax. The yardstick of the benchmarks.

Each function takes the layer whose parameters it uses, the votes û of shape (b, h, w, i, j, d) and the children, and
returns the parents' poses and activations after `iters` iterations. Nothing is computed that no result needs: the
textbook is to lose by its votes tensor alone.
"""

import math
from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor
from torch.nn import functional as F

from torchcaps.functional import length
from torchcaps.layers import CapsuleLayer
from torchcaps.ops import plainly
from torchcaps.routing import ROUTINGS
from torchcaps.types import Capsules

Result = tuple[Tensor, Tensor]


def votes(layer: CapsuleLayer, below: Capsules) -> tuple[Tensor, Capsules]:
    """The whole votes tensor, and the children of every window."""
    if layer.windows.missing is not None or layer.competition != "window" or layer.compat != "none":
        raise ValueError("the textbook knows neither padding, nor competition over the grid, nor compat='apple'")
    children = Capsules(layer.windows.gather(below.pose), layer.windows.gather(below.act))
    u = rearrange(children.pose, "b h w i (a x) -> b h w i a x", a=layer.rows)
    w = rearrange(layer.maps(), "i x (j y) -> i x j y", j=layer.shape_out.n)
    v = rearrange(torch.einsum("bhwiax,ixjy->bhwijay", u, w), "b h w i j a y -> b h w i j (a y)")
    return (v if layer.bias is None else v + layer.bias), children


def uniform(layer: CapsuleLayer, v: Tensor, children: Capsules) -> Result:
    mean = v.mean(3) if layer.routing.over == "children" else v.sum(3) / layer.shape_out.n
    pose = layer.routing.squash(mean)
    return pose, length(pose)


def trainable(layer: CapsuleLayer, v: Tensor, children: Capsules) -> Result:
    pose = layer.routing.squash((layer.routing.coefficients() * v).sum(3))
    return pose, length(pose)


def dynamic(layer: CapsuleLayer, v: Tensor, children: Capsules) -> Result:
    routing = layer.routing
    logits = v.new_zeros(v.shape[:-1]) if routing.prior is None else routing.prior.expand(v.shape[:-1])
    for t in range(routing.iters):
        s = (logits.softmax(-1)[..., None] * v).sum(3)
        pose = routing.squash(s if routing.bias is None else s + routing.bias)
        if t < routing.iters - 1:
            logits = logits + (v * pose[:, :, :, None]).sum(-1)
    return pose, length(pose)


def inverted_attention(layer: CapsuleLayer, v: Tensor, children: Capsules) -> Result:
    pose = None
    for _ in range(layer.routing.iters):
        pose = inverted_step(layer, v, pose)
    assert pose is not None
    return pose, torch.ones_like(pose[..., 0])


def inverted_step(layer: CapsuleLayer, v: Tensor, pose: Tensor | None) -> Tensor:
    """One iteration, for schedules in which layers take turns; the first one shares children out alike."""
    if pose is None:
        r = v.new_zeros(v.shape[:-1]).softmax(-1)
    else:
        r = torch.einsum("bhwijd,bhwjd->bhwij", v, pose * layer.routing.scale).softmax(-1)
    normed: Tensor = layer.routing.norm(torch.einsum("bhwij,bhwijd->bhwjd", r, v))
    return normed


def self_routing(layer: CapsuleLayer, v: Tensor, children: Capsules) -> Result:
    u, act = children
    c = torch.einsum("bhwid,idj->bhwij", u, layer.routing.gate).softmax(-1) * act[..., None]
    pose = (c[..., None] * v).sum(3) / c.sum(3)[..., None]
    return pose, c.sum(3) / act.sum(3)[..., None]


def self_attention(layer: CapsuleLayer, v: Tensor, children: Capsules) -> Result:
    agreement = torch.einsum("bhwijd,bhwjd->bhwij", v, v.sum(3)) / v.shape[-1] ** 0.5
    c = agreement.softmax(-1) + layer.routing.prior[..., 0]
    pose = layer.routing.squash((c[..., None] * v).sum(3))
    return pose, length(pose)


def em(layer: CapsuleLayer, v: Tensor, children: Capsules) -> Result:
    routing = layer.routing
    r = torch.full(v.shape[:-1], 1 / v.shape[-2], dtype=v.dtype, device=v.device)
    for t in range(routing.iters):
        mass, mu, var = _moments(r * children.act[..., None], v)
        log_sigma = 0.5 * (var + routing.variance_floor).log()
        cost = ((routing.beta_u[:, None] + log_sigma) * mass[..., None]).sum(-1)
        z = routing.inverse_temperature(t) * (routing.beta_a - cost)
        if t < routing.iters - 1:
            x = (v - mu[:, :, :, None]) ** 2 / (2 * (var + routing.variance_floor))[:, :, :, None]
            log_p = -(x + log_sigma[:, :, :, None] + 0.5 * math.log(2 * math.pi)).sum(-1)
            r = (log_p + F.logsigmoid(z)[:, :, :, None]).softmax(-1)
    act = torch.sigmoid(z)
    return (mu if routing.output == "mean" else act[..., None] * mu / (length(mu)[..., None] + routing.unit_eps)), act


def variational(layer: CapsuleLayer, v: Tensor, children: Capsules) -> Result:
    routing, d = layer.routing, v.shape[-1]
    r = torch.full(v.shape[:-1], 1 / v.shape[-2], dtype=v.dtype, device=v.device)
    for t in range(routing.iters):
        mass, mean, var = _moments(r * children.act[..., None], v)
        alpha, kappa, nu = routing.alpha0 + mass, routing.kappa0 + mass, routing.nu0 + mass
        mu = mean * (mass / kappa)[..., None]
        psi = 1 + var * mass[..., None] + (routing.kappa0 * mass / kappa)[..., None] * mean**2
        log_pi = torch.digamma(alpha) - torch.digamma(alpha.sum(-1, keepdim=True))
        log_det = (torch.digamma(0.5 * (nu[..., None] - torch.arange(d, device=v.device))) - psi.log()).sum(
            -1
        ) + d * math.log(2)
        if t < routing.iters - 1:
            maha = ((v - mu[:, :, :, None]) ** 2 / psi[:, :, :, None]).sum(-1) * nu[:, :, :, None]
            r = (log_pi[:, :, :, None] + 0.5 * (log_det - d / kappa)[:, :, :, None] - 0.5 * maha).softmax(-1)
    entropy = 0.5 * (d * math.log(2 * math.pi * math.e) - log_det)
    return mu, torch.sigmoid(routing.beta_a - (log_pi.exp() * entropy + routing.beta_u))


def _moments(r: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    mass = r.sum(3)
    mu = (r[..., None] * v).sum(3) / mass[..., None]
    var = (r[..., None] * (v - mu[:, :, :, None]) ** 2).sum(3) / mass[..., None]
    return mass, mu, var


TEXTBOOK: dict[str, Callable[..., Result]] = {
    "uniform": uniform,
    "trainable": trainable,
    "dynamic": dynamic,
    "em": em,
    "inverted_attention": inverted_attention,
    "self_routing": self_routing,
    "variational": variational,
    "self_attention": self_attention,
}


def name_of(layer: CapsuleLayer) -> str:
    """Under which name the layer's routing stands in the library."""
    for name, kind in ROUTINGS.items():
        if isinstance(layer.routing, kind):
            return name
    raise ValueError(f"the textbook has no {type(layer.routing).__name__}: it knows {', '.join(TEXTBOOK)}")


def run(layer: CapsuleLayer, below: Capsules) -> Result:
    """The textbook's parents for a layer and its children, whose squash is the textbook's too."""
    with plainly():
        v, children = votes(layer, below)
        return TEXTBOOK[name_of(layer)](layer, v, children)
