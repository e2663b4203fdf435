"""Dynamic Routing Between Capsules (Sabour, Frosst, Hinton 2017): the network that began it."""

from functools import partial

from torchcaps.models._registry import register
from torchcaps.models.gu2021 import capsnet

register(
    "sabour2017/capsnet",
    partial(capsnet, image_size=28),
    section="section 4, figure 1",
    summary="1152 primary capsules of 8, ten class capsules of 16, dynamic routing, decoder",
    image=(1, 28, 28),
    routing="dynamic",
    parameters=8_215_568,
    multiply_adds=203_821_056,
)
