"""What examples register is forgotten after them."""

from tests.docs.conftest import _as_it_was  # noqa: F401
