"""Each routing against its textbook twin: time and peak memory as ratios in one interleaved run.

    python -m benchmarks.routing [NAME …] [--repeats 5] [--batch 128]

Workloads: fully connected, 1152 capsules of 8 to 10 of 16; convolutional, 3×3 stride 2 over 16×16×32 capsules of 4×4.
"""

import argparse
from collections.abc import Callable

import torch

from benchmarks import textbook
from benchmarks.measure import measure
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import ROUTINGS
from torchcaps.schedule import sequential
from torchcaps.types import CapsShape, Capsules


def connected(name: str, batch: int) -> tuple[CapsuleLayer, Capsules]:
    layer = CapsuleLayer(CapsShape((6, 6), 32, 8), 10, 16, init_std=0.1, routing=ROUTINGS[name])
    return layer, _children(layer, batch)


def convolutional(name: str, batch: int) -> tuple[CapsuleLayer, Capsules]:
    below = CapsShape((16, 16), 32, 16)
    layer = CapsuleLayer(below, 32, 16, rows=4, window=3, stride=2, routing=ROUTINGS[name])
    return layer, _children(layer, max(1, batch // 16))


def _children(layer: CapsuleLayer, batch: int) -> Capsules:
    shape = layer.shape_in
    pose = torch.randn(batch, *shape.grid, shape.n, shape.d) * 0.1
    return Capsules(pose.requires_grad_(), torch.rand(batch, *shape.grid, shape.n))


def compare(name: str, layer: CapsuleLayer, below: Capsules, repeats: int) -> str:
    """One line of the table: textbook ÷ torchcaps in training time, inference time and peak memory."""

    def ours() -> torch.Tensor:
        return sequential([layer], below)[-1][-1].pose

    def theirs() -> torch.Tensor:
        return textbook.run(name, layer, below)[0]

    grad = torch.randn_like(ours())

    def train(forward: Callable[[], torch.Tensor]) -> Callable[[], None]:
        def step() -> None:
            layer.zero_grad()
            below.pose.grad = None
            forward().backward(grad)

        return step

    with torch.no_grad():
        error = (ours() - theirs()).abs().max() / theirs().abs().max()
        infer = measure({"textbook": theirs, "torchcaps": ours}, repeats)
    trained = measure({"textbook": train(theirs), "torchcaps": train(ours)}, repeats)
    ratio = [costs["textbook"].seconds / costs["torchcaps"].seconds for costs in (trained, infer)]
    memory = trained["textbook"].megabytes / max(trained["torchcaps"].megabytes, 0.1)
    return (
        f"{name:20s} {ratio[0]:7.1f} {ratio[1]:7.1f} {memory:7.1f}   "
        f"{trained['textbook'].seconds * 1e3:9.1f} {trained['torchcaps'].seconds * 1e3:9.1f} ms   "
        f"{trained['textbook'].megabytes:7.0f} {trained['torchcaps'].megabytes:7.0f} MB   error {error:.0e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"routings, all if none is given: {', '.join(ROUTINGS)}"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--batch", type=int, default=128)
    options = parser.parse_args()
    torch.manual_seed(0)
    for title, build in (("fully connected", connected), ("convolutional", convolutional)):
        print(f"{title}: textbook ÷ torchcaps, {torch.get_num_threads()} threads")
        print(f"{'routing':20s} {'train':>7s} {'infer':>7s} {'memory':>7s}")
        for name in options.names or ROUTINGS:
            print(compare(name, *build(name, options.batch), options.repeats), flush=True)


if __name__ == "__main__":
    main()
