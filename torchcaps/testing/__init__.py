"""Contracts to call on code of one's own. They need no pytest.

>>> from torchcaps.routing import Uniform
>>> check_routing(Uniform, CASES[:1])
"""

from torchcaps.testing._routing import RoutingError, check_routing
from torchcaps.testing._trial import CASES, Case, small_network

__all__ = ["CASES", "Case", "RoutingError", "check_routing", "small_network"]
