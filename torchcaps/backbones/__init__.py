"""Pretrained backbones by name: trunks that know photographs, how images come to them, and their features on disk."""

from torchcaps.backbones._trunk import Preprocessing, Trunk, check_tune, trunk_of
from torchcaps.backbones.by_name import architecture_only, is_pretrained, list_backbones, load_backbone, usual_size
from torchcaps.backbones.cache import FeatureCache, clear, shelves

__all__ = [
    "FeatureCache",
    "Preprocessing",
    "Trunk",
    "architecture_only",
    "check_tune",
    "clear",
    "is_pretrained",
    "list_backbones",
    "load_backbone",
    "shelves",
    "trunk_of",
    "usual_size",
]
