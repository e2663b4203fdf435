"""What all data sets share: bytes as numbers, the order of an epoch, parts that are the same data still."""

import torch

from torchcaps.data import Stored


def every_byte(**options):
    """An image of one pixel for each byte."""
    images = torch.arange(256, dtype=torch.uint8).reshape(256, 1, 1, 1)
    return Stored(images, torch.arange(256) % 4, tuple("abcd"), **options)


def seen(data, **options):
    return [round(255 * x) for batch in data.batches(50, **options) for x in batch.images.flatten().tolist()]


def test_white_is_one_and_every_byte_its_share():
    numbers = every_byte().batch(torch.arange(256)).images.flatten().tolist()
    assert numbers == [torch.tensor(k / 255).item() for k in range(256)]


def test_every_epoch_has_an_order_of_its_own():
    data = every_byte(seed=3)
    orders = [seen(data, epoch=epoch, shuffle=True) for epoch in range(3)]
    assert all(sorted(order) == list(range(256)) for order in orders)
    assert all(orders[k] != orders[n] for k in range(3) for n in range(k))
    assert orders[1] == seen(every_byte(seed=3), epoch=1, shuffle=True)
    assert seen(data, epoch=1) == list(range(256))


def test_a_part_keeps_images_labels_classes_and_seed():
    some = every_byte(seed=3).select(torch.tensor([7, 200, 41]))
    assert some.images.flatten().tolist() == [7, 200, 41]
    assert (some.labels.tolist(), some.classes, some.seed) == ([3, 0, 1], tuple("abcd"), 3)
    assert [part.seed for part in every_byte(seed=3).split(10)] == [3, 3]


def test_the_seed_decides_what_is_held_out():
    parts = [[part.images.flatten().tolist() for part in every_byte().split(40, seed=seed)] for seed in (0, 0, 1)]
    assert parts[0] == parts[1]
    assert set(parts[0][1]) != set(parts[2][1])
    assert all(sorted(rest + held) == list(range(256)) for rest, held in parts)


def test_copies_of_what_is_held_out_are_held_out():
    twice = Stored(every_byte().images.repeat(2, 1, 1, 1), torch.zeros(512).long(), ("a",))
    rest, held = ({*part.images.flatten().tolist()} for part in twice.split(60))
    assert rest | held == set(range(256))
    assert not rest & held


def test_a_copy_for_a_card_leaves_the_data_where_it_is():
    data = every_byte()
    assert data.to("meta").device == torch.device("meta")
    assert data.device == data.labels.device == torch.device("cpu")
