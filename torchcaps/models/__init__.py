"""The networks of the papers, one paper per file, baselines included."""

from torchcaps.models import _catalogue, baselines, chen2019, gu2021, mitterreiter2023, peer2021, tsai2020
from torchcaps.models._cost import multiply_adds
from torchcaps.models._match import count_parameters, match_parameters
from torchcaps.models._options import MOST_PIXELS, options_of
from torchcaps.models._pretrained import BY_HAND, from_pretrained, list_pretrained, read_config, read_weights
from torchcaps.models._registry import Card, card, create_model, list_models, model_info

__all__ = [
    "BY_HAND",
    "MOST_PIXELS",
    "Card",
    "_catalogue",
    "baselines",
    "card",
    "chen2019",
    "count_parameters",
    "create_model",
    "from_pretrained",
    "gu2021",
    "list_models",
    "list_pretrained",
    "match_parameters",
    "mitterreiter2023",
    "model_info",
    "multiply_adds",
    "options_of",
    "peer2021",
    "read_config",
    "read_weights",
    "tsai2020",
]
