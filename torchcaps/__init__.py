"""torchcaps: capsule networks in PyTorch, every routing in every network, and a bench for every claim about them."""

from importlib import import_module
from typing import TYPE_CHECKING

from torchcaps import _moved
from torchcaps._version import __version__

if TYPE_CHECKING:
    from torchcaps.models import create_model, from_pretrained, list_models, model_info
    from torchcaps.network import CapsNet
    from torchcaps.schedule import Schedule, concurrent, sequential
    from torchcaps.sklearn import CapsNetClassifier
    from torchcaps.train import fit, load_run
    from torchcaps.types import CapsShape, Capsules, Parse, RoutingShape, State
    from torchcaps.votes import Votes

# Found on first use, so that `torchcaps --help` need not wait for torch.
_HOME = {
    "CapsNet": "network",
    "CapsNetClassifier": "sklearn",
    "CapsShape": "types",
    "Capsules": "types",
    "Parse": "types",
    "RoutingShape": "types",
    "Schedule": "schedule",
    "State": "types",
    "Votes": "votes",
    "concurrent": "schedule",
    "create_model": "models",
    "fit": "train",
    "from_pretrained": "models",
    "list_models": "models",
    "load_run": "train",
    "model_info": "models",
    "sequential": "schedule",
}

__all__ = [
    "CapsNet",
    "CapsNetClassifier",
    "CapsShape",
    "Capsules",
    "Parse",
    "RoutingShape",
    "Schedule",
    "State",
    "Votes",
    "__version__",
    "concurrent",
    "create_model",
    "fit",
    "from_pretrained",
    "list_models",
    "load_run",
    "model_info",
    "sequential",
]

_moved.install()


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'torchcaps' has no attribute {name!r}")
    return getattr(import_module(f"torchcaps.{_HOME[name]}"), name)
