import pytest
import torch

from torchcaps.layers import ConvDecoder, DenseDecoder
from torchcaps.types import CapsShape, Capsules, Parse

CLASSES, IMAGE = CapsShape((1, 1), 4, 6), (2, 9, 7)
DECODERS = [DenseDecoder, ConvDecoder]


def parse(batch=3):
    pose = torch.rand(batch, 1, 1, 4, 6)
    return Parse(pose.norm(dim=-1)[:, 0, 0], [Capsules(pose, pose.norm(dim=-1))], [], [])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", DECODERS)
def test_only_the_labelled_capsule_is_seen(kind, training):
    decoder, seen = kind(CLASSES, IMAGE).train(training), parse()
    labels = torch.tensor([0, 1, 3])
    drawn = decoder(seen, labels)
    assert drawn.shape == (3, *IMAGE)
    pose = seen.capsules[0].pose.clone()
    pose[0, 0, 0, 2] = 9.0
    assert torch.equal(decoder(seen._replace(capsules=[Capsules(pose, seen.capsules[0].act)]), labels), drawn)
    pose[0, 0, 0, 0] = 9.0
    assert not torch.equal(decoder(seen._replace(capsules=[Capsules(pose, seen.capsules[0].act)]), labels), drawn)


@pytest.mark.parametrize("kind", DECODERS)
def test_plain_reconstruction_sees_all_and_needs_no_label(kind):
    decoder, seen = kind(CLASSES, IMAGE, conditional=False), parse()
    assert torch.equal(decoder(seen), decoder(seen, torch.tensor([0, 1, 3])))


def test_without_labels_the_highest_score_is_drawn():
    decoder, seen = DenseDecoder(CLASSES, IMAGE), parse()
    assert torch.equal(decoder(seen), decoder(seen, seen.scores.argmax(-1)))


@pytest.mark.parametrize("kind", DECODERS)
def test_perturbing_one_dimension(kind):
    decoder, seen, labels = kind(CLASSES, IMAGE), parse(), torch.tensor([0, 1, 3])
    moved = decoder.perturb(seen, labels, 2, torch.tensor([-0.2, 0.0, 0.2]))
    assert moved.shape == (3, 3, *IMAGE)
    assert torch.equal(moved[1], decoder(seen, labels))
    pose = seen.capsules[0].pose.clone()
    pose[torch.arange(3), 0, 0, labels, 2] += 0.2
    by_hand = decoder(seen._replace(capsules=[Capsules(pose, seen.capsules[0].act)]), labels)
    torch.testing.assert_close(moved[2], by_hand)
    with pytest.raises(ValueError, match="dim=6 is not allowed: a class capsule has dimensions 0 to 5"):
        decoder.perturb(seen, labels, 6, torch.tensor([0.1]))


def test_pixels_lie_channel_by_channel_row_by_row_and_between_0_and_1():
    """As in the weights that are shipped: number k is of channel k // 63, row k // 7 % 9, column k % 7."""
    decoder = DenseDecoder(CLASSES, IMAGE)
    last = decoder.net[4]
    last.weight.data.zero_()
    last.bias.data = torch.linspace(-200, 200, 2 * 9 * 7)
    drawn = decoder(parse(1))[0]
    for k, value in enumerate(last.bias.tolist()):
        expected = torch.tensor(value).sigmoid()
        torch.testing.assert_close(drawn[k // 63, k // 7 % 9, k % 7], expected)
    assert drawn.min() >= 0
    assert drawn.max() <= 1


def test_a_class_is_drawn_by_its_score_and_not_by_its_length():
    decoder, seen = DenseDecoder(CLASSES, IMAGE), parse()
    seen = seen._replace(scores=-seen.scores)
    shortest = seen.capsules[0].act[:, 0, 0].argmin(-1)
    assert torch.equal(decoder(seen), decoder(seen, shortest))


def test_an_image_that_four_does_not_divide_is_cut_on_the_right_and_below():
    """9×7 from a map of 12×8."""
    decoder = ConvDecoder(CLASSES, IMAGE)
    decoder.net = Numbered()
    drawn = decoder(parse(1))[0, 0]
    assert torch.equal(drawn, torch.arange(12 * 8.0).reshape(12, 8)[:9, :7])


class Numbered(torch.nn.Module):
    """Pixels of an image four times as large as the map, counted row by row."""

    def forward(self, small):
        h, w = 4 * small.shape[2], 4 * small.shape[3]
        return torch.arange(float(h * w)).reshape(1, 1, h, w).expand(len(small), 2, h, w)
