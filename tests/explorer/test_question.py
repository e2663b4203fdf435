"""What a page may ask, and what its sliders do to an image, pixel by pixel."""

import base64

import pytest
import torch
from pydantic import ValidationError

from torchcaps.explorer.numbers import numbers
from torchcaps.explorer.question import Changes, Look, changed, decoded, fitted


def encoded(image):
    return base64.b64encode(image).decode()


def test_numbers_keep_their_sign_and_five_digits():
    given = torch.tensor([float("inf"), -float("inf"), float("nan"), -1.0, 0.123456], dtype=torch.double)
    assert numbers(given) == [0.0, 0.0, 0.0, -1.0, 0.12346]


def test_a_question_has_no_other_fields():
    asked = {"model": "small", "pixels": "AAAA", "shape": [1, 1, 3]}
    Look(**asked)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Look(**asked, x=1)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Look(**asked, changes={"rotatoin": 3})


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"rotation": 90.0}, (6, 4)),  # as the hands of a clock go
        ({"scale": 2.0}, (4, 8)),
        ({"shift_x": 1.0}, (4, 7)),
        ({"shift_y": 1.0}, (5, 6)),
    ],
)
def test_a_dot_moves_as_the_slider_says(change, at):
    image = torch.zeros(1, 9, 9)
    image[0, 4, 6] = 1
    moved = changed(image, [Changes(**change)])[0, 0]
    assert moved[at] > 0.99
    assert moved.argmax() == 9 * at[0] + at[1]


def test_noise_is_the_same_for_all_questions():
    image = torch.full((1, 9, 9), 0.5)
    [one], [two] = (changed(image, [Changes(noise=0.1)]) for _ in range(2))
    assert torch.equal(one, two)
    assert 0.05 < (one - image).std() < 0.15


def test_a_smaller_image_stands_in_the_middle_and_colours_become_grey():
    inside = fitted(torch.ones(1, 2, 3), (1, 6, 5))[0]
    assert inside.nonzero().tolist() == [[row, column] for row in (2, 3) for column in (1, 2, 3)]
    for channel in range(3):
        coloured = torch.zeros(3, 2, 2)
        coloured[channel] = 0.9
        torch.testing.assert_close(fitted(coloured, (1, 2, 2)), torch.full((1, 2, 2), 0.3))


def test_an_image_of_256_by_256_in_colour_is_the_largest_that_may_be_asked_about():
    largest = encoded(bytes(3 * 256 * 256))
    assert Look(model="small", pixels=largest, second=largest, shape=(3, 256, 256)).pixels == largest
    for wrong in ({"pixels": encoded(bytes(3 * 256 * 256 + 4))}, {"shape": [3, 257, 256]}, {"shape": [3, 256, 257]}):
        with pytest.raises(ValidationError):
            Look(**{"model": "small", "pixels": largest, "shape": [3, 256, 256], **wrong})


def test_more_bytes_than_an_image_has_are_refused():
    with pytest.raises(ValueError, match="has 1 bytes, and 3 were sent"):
        decoded("AAAA", (1, 1, 1))
