import pytest
import torch

from torchcaps.layers import ConvDecoder, DenseDecoder
from torchcaps.types import CapsShape, Capsules, Parse

CLASSES, IMAGE = CapsShape((1, 1), 4, 6), (2, 9, 7)
DECODERS = [DenseDecoder, ConvDecoder]


def parse(batch=3):
    pose = torch.rand(batch, 1, 1, 4, 6)
    return Parse(pose.norm(dim=-1)[:, 0, 0], [Capsules(pose, pose.norm(dim=-1))], [], [])


@pytest.mark.parametrize("kind", DECODERS)
def test_only_the_labelled_capsule_is_seen(kind):
    decoder, seen = kind(CLASSES, IMAGE), parse()
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
