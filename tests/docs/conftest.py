"""What pages and examples register is forgotten after them."""

import pytest

from torchcaps.bench.frozen import frozen
from torchcaps.routing import ROUTINGS


@pytest.fixture(autouse=True)
def _as_it_was():
    kept = [(names, dict(names)) for names in (ROUTINGS, frozen())]
    yield
    for names, before in kept:
        names.clear()
        names.update(before)
