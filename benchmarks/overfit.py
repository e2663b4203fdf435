"""Can every model learn 32 images by heart? Real gradients through every part, to 100 % training accuracy.

    python -m benchmarks.overfit [PATTERN …] [--widths 0.1 0.25] [--steps 1500] [--json FILE]

Images are noise with random labels, so nothing but memory helps. Each model trains with its own loss and decoder, at
the smallest of the widths that suffices. The sign network, which sees a single number, learns the sign of 32 numbers.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from torchcaps._atomic import write_text
from torchcaps.losses import ReconstructionLoss, multi_hot
from torchcaps.models import card, create_model, list_models
from torchcaps.network import Model


def overfit(name: str, width: float, steps: int, *, lr: float = 1e-3) -> tuple[float, int]:
    """The training accuracy reached, and after how many steps; a step past 100 % is not taken."""
    torch.manual_seed(0)
    entry = card(name)
    net = create_model(name, width=width, **({"bias": True} if entry.paper == "peer2021" else {}))
    x, labels = torch.rand(32, *entry.image), torch.randint(0, entry.classes, (32,))
    if name == "peer2021/sign":
        x = torch.linspace(-1, 1, 32).reshape(-1, 1, 1, 1)
        labels, lr = (x.flatten() > 0).long(), 5e-3
    adam = torch.optim.Adam(net.parameters(), lr=lr)
    accuracy = 0.0
    for step in range(steps):
        accuracy = _accuracy(net, x, labels)
        if accuracy == 1.0:
            return accuracy, step
        adam.zero_grad()
        parse = net(x)
        loss = net.loss(parse.scores, multi_hot(labels, entry.classes))
        if net.decoder is not None:
            loss = loss + ReconstructionLoss()(net.decoder, parse, labels[:, None], x[:, None])
        loss.backward()
        adam.step()
    return accuracy, steps


def _accuracy(net: Model, x: torch.Tensor, labels: torch.Tensor) -> float:
    with torch.no_grad():
        return (net(x).scores.argmax(-1) == labels).float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"], metavar="PATTERN")
    parser.add_argument("--widths", type=float, nargs="+", default=[0.1, 0.25])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    rows = []
    for name in dict.fromkeys(n for pattern in options.patterns for n in list_models(pattern)):
        begin = time.perf_counter()
        for width in options.widths:
            accuracy, steps = overfit(name, width, options.steps)
            if accuracy == 1.0:
                break
        row = {"model": name, "width": width, "accuracy": accuracy, "steps": steps}
        rows.append({**row, "seconds": round(time.perf_counter() - begin, 1)})
        print(
            f"{name:32s} width {width:4.2f} {accuracy:6.1%} after {steps:4d} steps  {rows[-1]['seconds']:6.1f} s",
            flush=True,
        )
    if options.json:
        write_text(options.json, json.dumps(rows, indent=2) + "\n")
    raise SystemExit(sum(row["accuracy"] < 1 for row in rows))


if __name__ == "__main__":
    main()
