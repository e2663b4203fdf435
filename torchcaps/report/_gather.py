"""From trained networks to the plain data of the sections."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from torchcaps.data import Batch, Dataset
from torchcaps.functional import length
from torchcaps.infer import evaluating, infer
from torchcaps.layers import Decoder
from torchcaps.network import Model
from torchcaps.report.perturbations import Drawing, Perturbations
from torchcaps.report.samples import Group, Guess, Sample

SHOWN, LOOKED_AT = 9, 400  # samples of a test on the page, chosen from so many
DRAWN = 2  # images whose capsules are moved
DELTAS = tuple(round(-0.25 + 0.05 * k, 2) for k in range(11))
TOP = 3


def perturbed(
    model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"], classes: Sequence[str]
) -> list[Drawing]:
    """For each image the reconstructions while each dimension of its class's capsule moves, the strongest first."""
    decoder = model.decoder
    if not isinstance(decoder, Decoder):
        raise ValueError(f"{type(model).__name__} has no decoder: there is nothing to draw")
    parse = infer(model, images)
    with evaluating(model):
        labels, deltas = labels.to(parse.scores.device), torch.tensor(DELTAS)
        plain = decoder(parse, labels)
        moved = torch.stack([decoder.perturb(parse, labels, dim, deltas) for dim in range(decoder.classes.d)])
    drawings = []
    sizes = length(parse.capsules[-1].pose)[:, 0, 0]
    for b, label in enumerate(labels.tolist()):
        rows = moved[:, :, b]
        order = (rows - plain[b]).abs().sum((1, 2, 3, 4)).argsort(descending=True)
        size = float(sizes[b, label])
        drawings.append(Drawing(classes[label], images[b], plain[b], order.tolist(), rows[order], DELTAS, size))
    return drawings


def predictions(models: Mapping[str, Model], batch: Batch, classes: Sequence[str]) -> list[Sample]:
    """What every network says to each image of a batch."""
    said = {name: model.probabilities(infer(model, batch.images).scores) for name, model in models.items()}
    samples = []
    for b, image in enumerate(batch.images):
        truth = sorted(set(batch.labels[b].tolist()))
        guesses = []
        for name, p in said.items():
            best = p[b].topk(min(max(TOP, len(truth)), p.shape[1]))
            ranked = [(classes[k], v) for k, v in zip(best.indices.tolist(), best.values.tolist(), strict=True)]
            guesses.append(Guess(name, tuple(name for name, _ in ranked[: len(truth)]), tuple(ranked)))
        samples.append(Sample(image, tuple(classes[k] for k in truth), tuple(guesses)))
    return samples


def choose(samples: Sequence[Sample], count: int) -> list[Sample]:
    """At most two thirds mistakes, those of most networks before all, and the first samples that all got right."""
    wrong = sorted((sample for sample in samples if sample.mistakes), key=lambda sample: -sample.mistakes)
    right = [sample for sample in samples if not sample.mistakes]
    shown = wrong[: max(count * 2 // 3, count - len(right))]
    return shown + right[: count - len(shown)]


def sample_group(models: Mapping[str, Model], data: Dataset, title: str, note: str) -> Group:
    """From a test a few of its first images, the same that the networks were judged by."""
    batch = data.batch(torch.arange(min(LOOKED_AT, len(data))))
    samples = predictions(models, batch, data.classes)
    wrong = sum(sample.mistakes > 0 for sample in samples)
    said = f"{note} Of the first {len(samples)}, at least one network is wrong on {wrong}."
    return Group(title, said, choose(samples, SHOWN))


def perturbations(models: Mapping[str, Model], data: Dataset) -> list[Perturbations]:
    """For each network with a decoder, what the dimensions of a few class capsules do; images it gets right first."""
    batch = data.batch(torch.arange(min(LOOKED_AT, len(data))))
    labels = batch.labels[:, 0]
    found = []
    for name, model in models.items():
        if not isinstance(model.decoder, Decoder):
            continue
        right = (infer(model, batch.images).scores.argmax(-1).cpu() == labels).tolist()
        firsts = {label: k for k, label in reversed(list(enumerate(labels.tolist()))) if right[k]}
        chosen = torch.tensor((sorted(firsts.values()) or list(range(DRAWN)))[:DRAWN])
        drawings = perturbed(model, batch.images[chosen], labels[chosen], data.classes)
        found.append(Perturbations(title=f"What the dimensions mean: {name}", network=name, drawings=drawings))
    return found


def parameters(model: Model) -> tuple[int, int]:
    """Parameters that a prediction needs, and those of the decoder."""
    decoder = 0 if model.decoder is None else sum(p.numel() for p in model.decoder.parameters())
    return sum(p.numel() for p in model.parameters()) - decoder, decoder
