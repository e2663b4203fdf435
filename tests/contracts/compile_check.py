"""Run as a process of its own, without the shape-checking hook that torch.compile cannot trace."""

import sys

import torch

from tests.contracts.networks import build, images


def gradients(scores, net):
    return torch.autograd.grad(scores.sum(), list(net.parameters()), allow_unused=True, materialize_grads=True)


def main(routing, backend, *connections):
    for connection in connections:
        torch.manual_seed(0)
        net = build(routing, "matrix", connection)
        for layer in net.layers:
            layer.routing.iters = min(2, layer.routing.iters)  # a second iteration is every further one
        x = images(2)
        expected = net(x).scores
        torch._dynamo.reset()
        found = torch.compile(net, fullgraph=True, backend=backend)(x).scores
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(gradients(found, net), gradients(expected, net), rtol=1e-4, atol=1e-5)
        exported = torch.export.export(net, (x,), dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}})
        larger = images(5)
        torch.testing.assert_close(exported.module()(larger).scores, net(larger).scores)
        print(f"{routing} {connection} {backend}: compiled and exported")


if __name__ == "__main__":
    main(*sys.argv[1:])
