"""A loss of one's own: it judges scores, says how they are read, and may change while training goes on."""

from torch import Tensor

from torchcaps import create_model, fit
from torchcaps.losses import Loss


class Hinge(Loss):
    """Σ over absent classes k of max(0, margin − (score of the present class − score of k)), averaged over images.

    The margin grows from 0.2 to 0.9 while training goes on.
    """

    margin = 0.2

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        present = (scores * targets).sum(-1, keepdim=True)
        return ((self.margin - (present - scores)).clamp_min(0) * (1 - targets)).sum(-1).mean()

    def probabilities(self, scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    def anneal(self, share: float) -> None:
        self.margin = 0.2 + 0.7 * share


def main() -> None:
    """A network that is trained with it."""
    net = create_model("mitterreiter2023/capsnet", image_size=28, width=0.25)
    net.loss = Hinge()
    run = fit(net, "glyphs", images=512, epochs=1, reconstruction_weight=0.0, quiet=True)
    print(f"loss {run.history[-1]['loss']:.3f}, margin now {net.loss.margin:.2f}")


if __name__ == "__main__":
    main()
