"""Whoever writes a part of their own and forgets a method is told which, with the arguments that it is called with."""

import inspect
import re

import pytest

from torchcaps.attacks import Attack
from torchcaps.data import Dataset
from torchcaps.data.own import OwnImages
from torchcaps.layers import Decoder
from torchcaps.losses import Loss
from torchcaps.measures import Result
from torchcaps.network import Model
from torchcaps.routing import Routing

FORGOTTEN = [
    (Attack, "search"),
    (Dataset, "__len__"),
    (Dataset, "batch"),
    (Decoder, "draw"),
    (Loss, "forward"),
    (Model, "forward"),
    (OwnImages, "place"),
    (OwnImages, "read"),
    (Result, "draw"),
    (Result, "table"),
    (Routing, "couplings"),
    (Routing, "step"),
]


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize(("part", "method"), FORGOTTEN, ids=lambda value: getattr(value, "__name__", value))
def test_a_forgotten_method_is_named(part, method):
    own = type("Own", (part,), {}) if part is not Result else part  # results are listed by the names of their classes
    forgotten = getattr(part, method)
    _, *arguments = inspect.signature(forgotten).parameters
    said = f"{own.__name__} must define {method}({', '.join(arguments)})"
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        forgotten(object.__new__(own), *arguments)
