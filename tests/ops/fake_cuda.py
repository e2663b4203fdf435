"""Compile whole networks for a card that is not here, forward, on tensors without memory. `test_fake_cuda.py` runs it.

    python -m tests.ops.fake_cuda guard.so routing …

Prints as JSON, for each routing, the operators of ours in its graph, and the device of the scores. `guard.so` tells
torch that the current card need not be changed, which a torch without CUDA cannot do by itself.
"""

import ctypes
import json
import sys

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.contracts.networks import build, images
from torchcaps import ops


def compiled(routing):
    """The names of our operators in the graph of a network of capsule convolutions, and where its scores are."""
    net, x, found = build(routing, "matrix", "convolutional"), images(3), []

    def note(module, inputs):
        found.extend(node.target._opname for node in module.graph.nodes if "torchcaps." in str(node.target))
        return module

    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        net._apply(lambda t: torch.empty_like(t, device="cuda"))
        backend = aot_autograd(fw_compiler=note, inference_compiler=note)
        parse = torch.compile(net, backend=backend, fullgraph=True)(torch.empty_like(x, device="cuda"))
    return found, str(parse.scores.device), list(parse.scores.shape)


if __name__ == "__main__":
    guard, *routings = sys.argv[1:]
    ctypes.CDLL(guard)
    print(json.dumps({"passes": ops.status("cuda"), **{name: compiled(name) for name in routings}}))
