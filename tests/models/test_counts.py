"""Every model of the papers, counted to the last parameter: the project's own table of the settled figures."""

import inspect

import pytest
import torch

from torchcaps.models import card, count_parameters, create_model, list_models, model_info, multiply_adds
from torchcaps.models._assemble import image_shape

EXACT = [
    ("baselines/linear_head", {}, 3072 * 10 + 10),
    ("baselines/small_cnn", {}, 388_416 + 960 + 256 * 10 + 10),
    ("gu2021/capsnet", {"kernel": 3}, 16_111_424),
    ("gu2021/capsnet", {"kernel": 5}, 14_378_816),
    ("gu2021/capsnet", {"kernel": 7}, 13_500_224),
    ("gu2021/capsnet", {}, 13_475_648),
    ("gu2021/capsnet", {"kernel": 11}, 14_305_088),
    ("gu2021/capsnet", {"share": "position"}, 7_618_368),
    ("gu2021/capsnet_nor", {}, 13_475_648),
    ("gu2021/aff_capsnet", {}, 7_578_688),
    ("gu2021/aff_capsnet_dr", {}, 7_578_688),
    ("gu2021/convnet_fc", {"kernel": 3}, 49_486_610),
    ("gu2021/convnet_fc", {}, 35_445_522),
    ("gu2021/convnet_fc", {"kernel": 7}, 25_215_762),
    ("gu2021/convnet_fc", {"kernel": 9}, 18_797_330),
    ("gu2021/convnet_fc", {"kernel": 11}, 16_190_226),
    ("gu2021/convnet_avg", {"kernel": 3}, 595_210),
    ("gu2021/convnet_avg", {"kernel": 5}, 1_647_882),
    ("gu2021/convnet_avg", {"kernel": 7}, 3_226_890),
    ("gu2021/convnet_avg", {}, 5_332_234),
    ("gu2021/convnet_avg", {"kernel": 11}, 7_963_914),
    ("gu2021/convnet_cr", {}, 13_475_648),
    ("gu2021/convnet_cr", {"image_size": 28}, 8_215_568),
    ("gu2021/convnet_r", {}, 13_477_258),
    ("gu2021/convnet_r", {"image_size": 28}, 8_217_178),
    ("gu2021/convnet_cr_sf", {}, 13_475_648),
    ("sabour2017/capsnet", {}, 8_215_568),
    ("chen2019/fc_gcaps", {}, 8_227_088),
    ("chen2019/fc_gcaps", {"reconstruction": "none"}, 6_815_744),
    ("chen2019/conv_gcaps", {}, 6_895_888),
    ("chen2019/conv_gcaps", {"reconstruction": "none"}, 5_525_504),
    ("chen2019/fc_gcaps_cifar", {}, 2_674_176),
    ("chen2019/conv_gcaps_cifar", {}, 2_674_176),
    ("chen2019/capsnet_cifar", {}, 2_653_696),
    ("chen2019/multi_gcaps", {}, 716_992),
    ("chen2019/cnn", {}, 13_277_970),
    ("chen2019/cnn_cifar", {}, 9_737_226),
    ("peer2021/rba", {"depth": 2}, 6_804_224),
    ("peer2021/rba", {"depth": 3}, 7_129_856),
    ("peer2021/rba", {"depth": 4}, 7_166_720),
    ("peer2021/rba", {"depth": 5}, 7_203_584),
    ("peer2021/rba", {"depth": 2, "bias": True}, 6_804_224 + 160),
    ("peer2021/rba", {"depth": 5, "bias": True}, 7_203_584 + 160 + 3 * 192),
    ("tsai2020/inverted_simple", {}, 561_297),
    ("tsai2020/inverted_simple", {"num_classes": 100}, 1_462_989),
    ("tsai2020/inverted_resnet", {}, 1_828_817),
    ("tsai2020/inverted_resnet", {"num_classes": 100}, 2_799_629),
    ("tsai2020/dynamic_simple", {}, 7_992_576),
    ("tsai2020/dynamic_simple", {"num_classes": 100}, 31_585_536),
    ("tsai2020/em_simple", {}, 453_044),
    ("tsai2020/em_simple", {"num_classes": 100}, 499_304),
    ("tsai2020/em_resnet", {}, 1_710_580),
    ("tsai2020/em_resnet", {"num_classes": 100}, 1_756_840),
    ("tsai2020/dynamic_resnet", {}, 12_451_136),
    ("tsai2020/dynamic_resnet", {"num_classes": 100}, 36_044_096),
    ("tsai2020/cnn_simple", {}, 18_919_434),
    ("tsai2020/cnn_simple", {"num_classes": 100}, 19_011_684),
    ("tsai2020/diverse_matrix", {}, 9_963_969),
    ("tsai2020/diverse_vector", {}, 42_478_017),
    ("tsai2020/diverse_cnn", {}, 19_553_162),
    ("tsai2020/diverse_cnn", {"pool": False}, 42_490_762),
]
# Counts the papers round, or leave to us.
STATED = [
    ("chen2019/lenet", {}, 61_706),
    ("gu2021/convnet_fc_lk", {}, 11_359_467),
    ("mitterreiter2023/capsnet", {}, 2_426_720),
    ("peer2021/em", {"bias": True}, 7_203_700 + 160 + 3 * 192),
    ("peer2021/sign", {}, 60),
    ("tsai2020/resnet18", {}, 11_173_962),
    ("tsai2020/resnet18", {"num_classes": 100}, 11_220_132),
    ("tsai2020/diverse_matrix_42m", {}, 41_593_281),
    ("tsai2020/diverse_dynamic", {}, 42_477_568),
]


@pytest.mark.parametrize(("name", "options", "exact"), [*EXACT, *STATED])
def test_exact_parameters(name, options, exact):
    assert count_parameters(name, **options) == exact


def test_every_model_is_in_the_table():
    assert {name for name, options, _ in [*EXACT, *STATED]} == set(list_models())


@pytest.mark.parametrize("name", list_models())
def test_cards_tell_the_truth(name):
    entry = card(name)
    with torch.device("meta"):
        model = create_model(name)
    assert sum(p.numel() for p in model.parameters()) == entry.parameters
    assert multiply_adds(model, entry.image) == entry.multiply_adds
    assert entry.section
    assert entry.summary
    options = inspect.signature(entry.build).parameters
    assert entry.classes == options["num_classes"].default
    assert entry.image == image_shape(options["in_chans"].default, options["image_size"].default)
    assert {"num_classes", "in_chans", "image_size", "width", "conv_width"} <= options.keys()
    for option in ("routing", "routing_options", "init_std"):
        assert (entry.routing is not None) == (option in options)
    assert (entry.routing is not None or name == "baselines/linear_head") == ("backbone" in options)


def test_convnet_fc_lk_has_the_parameters_of_capsnet():
    wanted = count_parameters("gu2021/capsnet", image_size=36)
    assert count_parameters("gu2021/convnet_fc_lk") == pytest.approx(wanted, rel=0.02)


def test_the_rows_of_chen2019s_supplement():
    with torch.device("meta"):
        net = create_model("chen2019/multi_gcaps")
    convs = [net.backbone[0].weight.numel(), net.primary.conv.weight.numel()]
    layers = [n for layer in net.layers for n in (layer.weight.numel(), layer.routing.c.numel())]
    assert convs + layers == [9_408, 401_408, 131_072, 56_448, 4_608, 10_368, 92_160, 11_520]


def test_multiply_adds_of_a_known_network():
    """LeNet-5 by hand: two convolutions on 28×28 and 10×10, three linear layers."""
    by_hand = 28 * 28 * 6 * 25 + 10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10
    assert model_info("chen2019/lenet")["multiply_adds"] == by_hand
