"""What is drawn of images: the pixels of every picture, and what the words beside it say of scripted networks."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.report.reading import pixels, told
from torchcaps.data import Batch, Stored
from torchcaps.layers import Decoder
from torchcaps.losses import CrossEntropy
from torchcaps.network import Model
from torchcaps.report import (
    Drawing,
    Group,
    Guess,
    Perturbations,
    Sample,
    Samples,
    parameters,
    perturbations,
    predictions,
    sample_group,
)
from torchcaps.report._png import png, strip
from torchcaps.report.perturbations import ink
from torchcaps.types import CapsShape, Capsules, Parse

CLASSES = ("ant", "bee", "cat")


class Scripted(Model):
    """Its logits for an image are a row of a list that the image's first pixel counts off."""

    def __init__(self, rows, decoder=None):
        super().__init__(loss=CrossEntropy(), decoder=decoder)
        self.rows = nn.Parameter(torch.tensor(rows).float(), requires_grad=False)

    def forward(self, x, record="none"):
        scores = self.rows[(x[:, 0, 0, 0] * 255).round().long()]
        return Parse(scores, [Capsules(torch.ones(len(x), 1, 1, 3, 3), torch.ones(len(x), 1, 1, 3))], [], [])


class Weighted(Decoder):
    """One pixel, the brighter the larger a weighted sum of the capsules' numbers; the second weighs most."""

    def __init__(self):
        super().__init__(CapsShape((1, 1), 3, 3), (1, 1, 1))
        self.weight = nn.Parameter(torch.tensor([0.1, 0.3, 0.2]).repeat(3), requires_grad=False)

    def draw(self, code):
        return (code @ self.weight)[:, None, None, None]


def numbered(labels):
    """Images that count themselves off in their first pixel."""
    images = torch.zeros(len(labels), 1, 2, 2, dtype=torch.uint8)
    images[:, 0, 0, 0] = torch.arange(len(labels))
    return Stored(images, torch.tensor(labels), CLASSES)


def says(*classes):
    return [[3.0 if k == told else 0.0 for k in range(3)] for told in classes]


def test_a_picture_has_the_pixels_of_its_image():
    image = torch.zeros(1, 2, 3)
    image[0, 0, 2] = 1.0
    image[0, 1, 0] = 0.4
    found = pixels(png(image))
    assert found.shape == (2, 3, 3)
    assert np.array_equal(found[..., 0], [[0, 0, 255], [102, 0, 0]])
    colours = torch.tensor([[[1.0]], [[0.2]], [[0.0]]])
    assert pixels(png(colours)).tolist() == [[[255, 51, 0]]]
    beyond = torch.tensor([-0.5, 1.5, torch.nan]).reshape(1, 1, 3)
    assert pixels(png(beyond))[0, :, 0].tolist() == [0, 255, 0]


def test_a_strip_runs_from_left_to_right():
    images = torch.arange(3.0)[:, None, None, None].expand(3, 1, 2, 2)
    assert strip(images)[0, 0, [0, 1, 3, 4, 6, 7]].tolist() == [0, 0, 1, 1, 2, 2]


def drawing(**more):
    plain = torch.zeros(1, 12, 30)
    plain[0, 5:8, 20:22] = 0.4  # faint, and beside the middle of an image that is no square
    rows = torch.stack([torch.stack([plain, 0.5 * plain]), torch.stack([0 * plain, plain])])
    given = {"label": "cat", "image": 1 - plain, "plain": plain, "dims": [7, 3], "rows": rows, "deltas": (-0.5, 0.25)}
    return Drawing(**{**given, "length": 0.5, **more})


def test_a_drawing_is_cut_to_its_ink_and_says_what_is_what():
    made = drawing()
    assert ink(made.plain) == (slice(1, 12), slice(15, 26))
    assert [(what, pixels(address).max()) for what, address in made.pictures] == [
        ("image", 255),
        ("reconstruction", 102),
    ]
    assert made.ends == ("−0.50", "0", "+0.25")
    strips = {dim: pixels(address)[..., 0] for dim, address in made.strips}
    assert list(strips) == [7, 3]
    for dim, (left, right) in {7: (102, 51), 3: (0, 102)}.items():
        assert strips[dim].shape == (11, 23)
        wanted = np.zeros((11, 11))
        wanted[4:7, 5:7] = 1  # the ink, where the window has it
        assert np.array_equal(strips[dim][:, :11], left * wanted)
        assert np.array_equal(strips[dim][:, 12:], right * wanted)
    page = told(Perturbations(network="net", drawings=[made]))
    assert page.texts["h3"] == ["net, class cat"]
    assert page.attributes("img", "alt")[:2] == ["Image of cat", "Reconstruction of cat"]
    assert page.attributes("img", "alt")[2].endswith("while −0.50 to +0.25 is added to dimension 7")


def test_a_pair_is_right_in_any_order():
    told_of = {"a": ("2", "1"), "b": ("2", "3"), "c": ("1",)}
    pair = Sample(torch.zeros(1, 2, 2), ("1", "2"), tuple(Guess(name, said, ()) for name, said in told_of.items()))
    assert [pair.right(guess) for guess in pair.guesses] == [True, False, False]
    assert pair.mistakes == 2
    page = told(Samples(groups=[Group("Pairs", "", [pair])]))
    assert [text for text in page.texts["span"] if text[-1:] in ("✓", "✗")] == ["2, 1 ✓", "2, 3 ✗", "1 ✗"]


def test_parameters_of_network_and_decoder_are_counted_apart():
    assert parameters(Scripted(says(0, 1), Weighted())) == (2 * 3, 9)
    assert parameters(Scripted(says(0, 1))) == (2 * 3, 0)


def test_predictions_are_probabilities_as_the_loss_reads_scores():
    logits = torch.tensor([[0.7, 0.1, 0.2], [0.1, 0.3, 0.6]]).log() + 5
    data = numbered([0, 1])
    found = predictions({"net": Scripted(logits.tolist())}, data.batch(torch.arange(2)), CLASSES)
    for sample, truth, ranked in zip(
        found, ("ant", "bee"), ([("ant", 0.7), ("cat", 0.2), ("bee", 0.1)], [("cat", 0.6), ("bee", 0.3), ("ant", 0.1)]),
        strict=True,
    ):  # fmt: skip
        [guess] = sample.guesses
        assert (sample.truth, guess.classes) == ((truth,), (ranked[0][0],))
        assert [name for name, _ in guess.probabilities] == [name for name, _ in ranked]
        assert [p for _, p in guess.probabilities] == pytest.approx([p for _, p in ranked])


def test_a_group_says_on_how_many_images_somebody_is_wrong():
    one, two = Scripted(says(0, 0, 0, 0)), Scripted(says(0, 0, 2, 0))
    group = sample_group({"one": one, "two": two}, numbered([0, 1, 2, 0]), "Clean", "As they are.")
    assert group.note == "As they are. Of the first 4, at least one network is wrong on 2."
    assert [sample.mistakes for sample in group.samples] == [2, 1, 0, 0]


def test_drawings_are_of_the_first_images_that_are_right_and_the_strongest_dimension_leads():
    net = Scripted(says(1, 0, 1, 1, 0), Weighted())
    [section] = perturbations({"plain": Scripted(says(0)), "net": net}, numbered([0, 0, 1, 2, 0]))
    assert section.title == "What the dimensions mean: net"
    images = [int((made.image[0, 0, 0] * 255).round()) for made in section.drawings]
    assert (images, [made.label for made in section.drawings]) == ([1, 2], ["ant", "bee"])
    for made in section.drawings:
        assert made.dims == [1, 2, 0]
        assert made.length == pytest.approx(3**0.5)
        moved = torch.tensor([0.3, 0.2, 0.1])[:, None] * torch.tensor(made.deltas)
        torch.testing.assert_close(made.rows.flatten(1), 0.6 + moved)


def test_truth_is_named_once_however_often_it_is_shown():
    batch = Batch(torch.zeros(1, 1, 2, 2), torch.tensor([[2, 2]]))
    [sample] = predictions({"net": Scripted(says(2))}, batch, CLASSES)
    assert (sample.truth, sample.guesses[0].classes) == (("cat",), ("cat",))
