"""What can be measured of a network's capsule layers, and why not where it cannot."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from torchcaps.functional import identity
from torchcaps.layers import CapsuleLayer, PrimaryCapsules
from torchcaps.measures._moments import Moments
from torchcaps.network import CapsNet, Model


def why_no_capsules(model: Model) -> str:
    """Why a network has no capsules to look at; nothing if it has."""
    return "" if isinstance(model, CapsNet) else f"{type(model).__name__} has no capsule layers"


def layer_names(model: CapsNet) -> tuple[str, ...]:
    """The layers of capsules, from the primary ones to those of the classes."""
    return ("primary", *(f"hidden {k}" for k in range(1, len(model.layers))), "classes")


def capsule_layers(model: CapsNet) -> list[CapsuleLayer]:
    """The layers above the primary capsules; layer k leads from the capsules k to the capsules k + 1 of a parse."""
    return list(model.layers)  # type: ignore[arg-type]


def layer_sizes(model: CapsNet) -> list[int]:
    """How many capsules each layer has, a type at a position being one."""
    return [shape.children for shape in (model.primary.shape_out, *(la.shape_out for la in capsule_layers(model)))]


def why_no_activation(model: CapsNet) -> list[str]:
    """For each layer of capsules why its activations mean nothing; an empty word where they do.

    An activation is what the routing says (EM's a), or the length of a squashed pose. Layer norm gives every pose the
    same length, and without a squash a length is no probability.
    """
    return [_primary(model.primary), *(_layer(layer) for layer in capsule_layers(model))]


def _primary(primary: PrimaryCapsules) -> str:
    if primary.activation == "learned":
        return ""
    if primary.activation == "one":
        return "every primary capsule has activation 1"
    if isinstance(primary.norm, nn.LayerNorm):
        return "layer norm gives every pose the same length"
    return "the poses are not squashed, so that their length is no activation" if primary.squash is identity else ""


def _layer(layer: CapsuleLayer) -> str:
    routing = layer.routing
    if not routing.activates:
        return f"{type(routing).__name__} gives every capsule activation 1"
    unsquashed = getattr(routing, "squash", None) is identity
    return "the poses are not squashed, so that their length is no activation" if unsquashed else ""


def why_no_couplings(layer: CapsuleLayer) -> str:
    """Why a layer's couplings do not say where a child goes; nothing if they do."""
    if not layer.routing.competes:
        return f"the couplings of {type(layer.routing).__name__} do not sum to one over a child's parents"
    if layer.compat == "apple" and layer.shape_out.grid != (1, 1):
        return "compat='apple' mixes up positions, so that a coupling belongs to no child"
    return ""


def dead(activation: Moments, mean: float, std: float) -> Bool[Tensor, "h w n"]:
    """Capsules whose activation is low and never moves (mitterreiter2023, section 4.3)."""
    return (activation.mean <= mean) & (activation.std <= std)


def defined(values: Float[Tensor, " n"]) -> tuple[float | None, ...]:
    """Numbers as plain ones, None for those that are not."""
    return tuple(None if v != v else v for v in values.tolist())
