"""The layers of a capsule network, from the features up."""

from torchcaps.layers.capsule import CapsuleLayer
from torchcaps.layers.convolution import Convolution
from torchcaps.layers.decoder import ConvDecoder, Decoder, DenseDecoder
from torchcaps.layers.head import ActivationHead, Head, LinearHead
from torchcaps.layers.primary import PrimaryCapsules

__all__ = [
    "ActivationHead",
    "CapsuleLayer",
    "ConvDecoder",
    "Convolution",
    "Decoder",
    "DenseDecoder",
    "Head",
    "LinearHead",
    "PrimaryCapsules",
]
