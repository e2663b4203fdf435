"""Pretrained backbones by name: trunks that know photographs, how images come to them, and their features on disk."""

from torchcaps.backbones._trunk import Preprocessing, Trunk, check_tune, trunk_of
from torchcaps.backbones.by_name import architecture_only, is_pretrained, list_backbones, load_backbone, usual_size

__all__ = [
    "Preprocessing",
    "Trunk",
    "architecture_only",
    "check_tune",
    "is_pretrained",
    "list_backbones",
    "load_backbone",
    "trunk_of",
    "usual_size",
]
