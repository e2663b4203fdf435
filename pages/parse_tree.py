"""The picture of the README: how a small trained network understands a digit."""

from pathlib import Path

TARGET = Path(__file__).parents[1] / "docs/parse-tree.png"


def draw(target: Path = TARGET) -> None:
    """The tree of one digit: couplings, lengths of capsules, and the digit itself."""
    import torch

    from torchcaps import create_model
    from torchcaps.data import load
    from torchcaps.explain import figure_of_trees, parse_trees

    net = create_model("mitterreiter2023/capsnet", pretrained=True)
    digits = load("glyphs", "test", count=400)
    images = digits.batch(torch.arange(40)).images
    scores = net.eval()(images).scores
    chosen = int(scores.max(-1).values.argmax())
    image = images[chosen : chosen + 1]
    figure_of_trees(parse_trees(net, image), image).savefig(target, dpi=80)


if __name__ == "__main__":
    draw()
