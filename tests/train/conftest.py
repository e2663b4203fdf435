"""What the tests of training share."""

import pytest

from torchcaps.data.glyphs import load_glyphs


@pytest.fixture
def glyphs():
    """72 digits: 65 to learn from, in batches of 16 the last of which holds one, and 7 to judge by."""
    return load_glyphs("train", 72)
