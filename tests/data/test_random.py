"""The random numbers of samples, against SplitMix64 in Python's whole numbers."""

import torch

from torchcaps.data._random import bits, integers, permutation, uniform

ONES = 2**64 - 1


def following(state):
    """SplitMix64's next number, as its authors published it; the state has had 0x9E37… added already."""
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & ONES
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & ONES
    return state ^ (state >> 31)


def twin(seed, epoch, index, stream):
    """Each part is mixed into what came before it, so that none can stand for another."""
    state = seed
    for part in (epoch, index, stream):
        state = following((state * 0x9E3779B97F4A7C15 + part) & ONES)
    return following((state + 0x9E3779B97F4A7C15) & ONES)


def test_the_twin_is_splitmix64():
    """The first numbers from state 1234567, by which other programs check theirs."""
    states = [1234567 + k * 0x9E3779B97F4A7C15 & ONES for k in range(1, 4)]
    assert [following(state) for state in states] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_numbers_are_those_of_the_twin():
    index = torch.tensor([0, 1, 2, 3, 59_999, 2**40])
    for seed, epoch, stream in ((0, 0, 0), (3, 1, 7), (1, 3, 7), (2**31, 500, -1)):
        expected = [twin(seed, epoch, k, stream) for k in index.tolist()]
        assert [number % 2**64 for number in bits(seed, epoch, index, stream).tolist()] == expected
        assert integers(seed, epoch, index, stream, 7).tolist() == [(number >> 33) % 7 for number in expected]
        torch.testing.assert_close(
            uniform(seed, epoch, index, stream, -2.0, 3.0),
            torch.tensor([-2 + 5 * (number >> 40) / 2**24 for number in expected]),
        )


def test_the_order_of_an_epoch_has_a_stream_of_its_own():
    """Which every saved training counts on: it goes on in the order it began in."""

    def signed(k):
        number = twin(2, 5, k, -1)
        return number - 2**64 if number >= 2**63 else number

    assert permutation(2, 5, 100).tolist() == sorted(range(100), key=signed)


def test_no_seed_has_the_numbers_of_another():
    index = torch.arange(50)
    drawn = torch.stack([bits(seed, epoch, index, k) for seed in range(6) for epoch in range(6) for k in range(6)])
    assert len(drawn.unique()) == drawn.numel()
