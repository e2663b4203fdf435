"""`narrow` changes convolutions and types of primary capsules, and nothing that a paper says about capsules."""

import pytest

from torchcaps.models import create_model, list_models
from torchcaps.network import CapsNet

SMALL = {"tsai2020/diverse_matrix_42m": {"types": 8}, "tsai2020/diverse_vector": {"types": 4}}
WHOLE = ("peer2021/sign",)  # it has no convolutions


def layers(model):
    return [(layer.shape_out.n, layer.shape_out.d, layer.shape_out.grid) for layer in model.layers]


@pytest.mark.parametrize("name", list_models())
def test_narrow_keeps_hidden_and_class_capsules(name):
    options = SMALL.get(name, {})
    full, narrow = create_model(name, **options), create_model(name, narrow=0.25, **options)
    count, fewer = (sum(p.numel() for p in model.parameters()) for model in (full, narrow))
    assert fewer < count or name in WHOLE
    if isinstance(full, CapsNet):
        assert layers(narrow) == layers(full)
        assert narrow.primary.shape_out.d == full.primary.shape_out.d


def test_primary_capsules_that_a_table_counts_stay():
    assert create_model("mitterreiter2023/capsnet", narrow=0.25).primary.shape_out.n == 16


def test_first_weights_can_be_chosen():
    layer = create_model("mitterreiter2023/capsnet", narrow=0.25, init_std=0.2).layers[0]
    assert layer.weight.std().item() == pytest.approx(0.2, rel=0.05)
