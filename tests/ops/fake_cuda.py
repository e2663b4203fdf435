"""Compile whole networks for a card that is not here, forward, on tensors without memory. `test_fake_cuda.py` runs it.

    python -m tests.ops.fake_cuda guard.so routing …

Prints as JSON, for each routing, the operators of ours in its graph, and the device of the scores. `guard.so` tells
torch that the current card need not be changed, which a torch without CUDA cannot do by itself.
"""

import ctypes
import json
import sys

import torch
from torch._dynamo.backends.registry import lookup_backend
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.contracts.networks import build, images
from torchcaps import ops


def compiled(routing):
    """The names of our operators in the graph of a network of capsule convolutions, and where its scores are."""
    net, x, found = build(routing, "matrix", "convolutional"), images(3), []

    def note_and_run(module, inputs):
        names = [str(node.target) for node in module.graph.nodes]
        found.extend(name.removeprefix("torchcaps.") for name in names if name.startswith("torchcaps."))
        return lookup_backend("aot_eager")(module, inputs)

    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        net._apply(lambda t: torch.empty_like(t, device="cuda"))
        parse = torch.compile(net, backend=note_and_run, fullgraph=True)(torch.empty_like(x, device="cuda"))
    return found, str(parse.scores.device), list(parse.scores.shape)


if __name__ == "__main__":
    guard, *routings = sys.argv[1:]
    ctypes.CDLL(guard)
    print(json.dumps({"passes": ops.status("cuda"), **{name: compiled(name) for name in routings}}))
