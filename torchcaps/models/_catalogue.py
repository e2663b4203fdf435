"""The catalogue: a row for every model. A new model is a builder in its paper's file and a row here."""

from functools import partial

from torchcaps.models import baselines, chen2019, gu2021, mitterreiter2023, peer2021, tsai2020
from torchcaps.models._registry import register

CIFAR_GCAPS = partial(chen2019.gcaps, in_chans=3, image_size=32, channels=64, d=8, reconstruction="none")
SMALL, MNIST, PAIRS, PLACED, CIFAR = (1, 1, 1), (1, 28, 28), (1, 36, 36), (1, 40, 40), (3, 32, 32)

# fmt: off
# name and builder; section and summary; what it is good for; routing, input; parameters and multiply-adds
register("baselines/linear_head", baselines.linear_head,
         "ours", "a linear function of the pixels, or of a backbone's features",
         "what every network must beat; photographs, with a pretrained backbone",
         None, CIFAR, 30_730, 30_720)
register("baselines/small_cnn", baselines.small_cnn,
         "ours", "four convolutions with batch norm and pooling, a global average",
         "own photographs without a pretrained backbone",
         None, CIFAR, 391_946, 15_043_072)
register("gu2021/capsnet", gu2021.capsnet,
         "section 2, figure 1", "CapsNet with dynamic routing",
         "moved digits, and how robust dynamic routing is to warps",
         "dynamic", PLACED, 13_475_648, 803_340_288)
register("gu2021/capsnet_nor", partial(gu2021.capsnet, routing="uniform"),
         "table 1", "CapsNet without routing",
         "asking what routing adds to CapsNet",
         "uniform", PLACED, 13_475_648, 791_543_808)
register("gu2021/aff_capsnet", partial(gu2021.capsnet, routing="uniform", share="all"),
         "section 3.1", "CapsNet without routing, one map shared by all children",
         "warped digits, with half of CapsNet's parameters",
         "uniform", PLACED, 7_578_688, 791_543_808)
register("gu2021/aff_capsnet_dr", partial(gu2021.capsnet, share="all"),
         "table 1", "Aff-CapsNet with dynamic routing",
         "asking what routing adds to a shared map",
         "dynamic", PLACED, 7_578_688, 803_340_288)
register("gu2021/convnet_fc", gu2021.convnet_fc,
         "section 3", "three convolutions, two fully connected layers",
         "the usual baseline of papers about CapsNet",
         None, PLACED, 35_445_522, 2_361_249_152)
register("gu2021/convnet_avg", gu2021.convnet_avg,
         "section 3.1", "two convolutions, global average",
         "a smaller baseline that stands warps well",
         None, PLACED, 5_332_234, 785_648_128)
register("gu2021/convnet_fc_lk", partial(gu2021.convnet_fc, kernel=9, units=(182, 107), image_size=36),
         "section 3.2, figure 3", "ConvNet-FC with large kernels and CapsNet's parameters",
         "a baseline of CapsNet's size for overlapping digits",
         None, PAIRS, 11_359_467, 2_525_204_544)
register("gu2021/convnet_cr", gu2021.convnet_grouped,
         "section 3.3", "16 units a class, summed; class-conditional decoder",
         "class-conditional reconstruction without capsules",
         None, PLACED, 13_475_648, 791_543_808)
register("gu2021/convnet_r", partial(gu2021.convnet_grouped, grouping="linear", loss="ce"),
         "section 3.3", "160 units, a linear output, plain decoder",
         "plain reconstruction without capsules",
         None, PLACED, 13_477_258, 791_545_408)
register("gu2021/convnet_cr_sf", partial(gu2021.convnet_grouped, grouping="length", loss="margin"),
         "section 3.3", "ConvNet-CR with squashed vectors: CapsNet without routing",
         "CapsNet taken apart: squash and margin, no routing",
         None, PLACED, 13_475_648, 791_543_808)
register("chen2019/fc_gcaps", chen2019.gcaps,
         "section 4.1.1", "CapsNet with trainable couplings",
         "couplings that are learned like weights, on digits",
         "trainable", MNIST, 8_227_088, 200_871_936)
register("chen2019/conv_gcaps", partial(chen2019.gcaps, d=8, rows=2),
         "section 4.1.2", "4×4 maps on 8-D capsules seen as 2×4 matrices",
         "learned couplings with small matrices as maps",
         "trainable", MNIST, 6_895_888, 199_766_016)
register("chen2019/fc_gcaps_cifar", CIFAR_GCAPS,
         "section 4.1.3", "2048 capsules of 8, ten of 8",
         "learned couplings on small colour pictures",
         "trainable", CIFAR, 2_674_176, 95_203_328)
register("chen2019/conv_gcaps_cifar", CIFAR_GCAPS,
         "section 4.1.3", "the same: an 8×8 window over the 8×8 grid is fully connected",
         "the same network under the paper's other name",
         "trainable", CIFAR, 2_674_176, 95_203_328)
register("chen2019/capsnet_cifar", partial(CIFAR_GCAPS, routing="dynamic"),
         "table 2", "the same with dynamic routing",
         "dynamic against learned couplings, on colour pictures",
         "dynamic", CIFAR, 2_653_696, 97_824_768)
register("chen2019/multi_gcaps", chen2019.multi_gcaps,
         "supplement 6.1", "three capsule layers",
         "several capsule layers at a low cost",
         "trainable", CIFAR, 716_992, 53_181_184)
register("chen2019/cnn", partial(gu2021.convnet_fc, image_size=28),
         "section 4.1.1", "three convolutions, two fully connected layers",
         "the baseline of chen2019 on digits",
         None, MNIST, 13_277_970, 879_574_400)
register("chen2019/cnn_cifar", chen2019.cnn_cifar,
         "section 4.1.3", "two convolutions, two fully connected layers",
         "the baseline of chen2019 on colour pictures",
         None, CIFAR, 9_737_226, 102_286_336)
register("chen2019/lenet", chen2019.lenet,
         "section 4.3", "LeNet-5",
         "a first try in seconds; an attacker's substitute",
         None, MNIST, 61_706, 416_520)
register("mitterreiter2023/capsnet", mitterreiter2023.capsnet,
         "section 3, table 1", "five layers of 16 capsules of 8 and ten class capsules",
         "many capsule layers, quick to train: parse trees",
         "dynamic", PLACED, 2_426_720, 76_888_704)
register("peer2021/rba", peer2021.deep,
         "section 5.3, table 2", "deep CapsNet with routing by agreement",
         "depth, with and without a bias",
         "dynamic", MNIST, 7_203_584, 205_019_136)
register("peer2021/em", partial(peer2021.deep, routing="em"),
         "section 5.3, table 3", "deep CapsNet with EM routing",
         "depth, with and without a bias, under EM routing",
         "em", MNIST, 7_203_700, 206_893_056)
register("peer2021/sign", peer2021.sign,
         "section 5.2, figure 1", "1 → 20 → 2 capsules of one dimension",
         "a theorem in a minute",
         "dynamic", SMALL, 60, 180, classes=2)
register("sabour2017/capsnet", partial(gu2021.capsnet, image_size=28),
         "section 4, figure 1", "1152 primary capsules of 8, ten class capsules of 16, dynamic routing, decoder",
         "a first capsule network, on small grey pictures",
         "dynamic", MNIST, 8_215_568, 203_821_056)
register("tsai2020/inverted_simple", tsai2020.inverted,
         "table 8", "inverted attention on one convolution",
         "own photographs: colour, few parameters",
         "inverted_attention", CIFAR, 561_297, 79_995_040)
register("tsai2020/inverted_resnet", partial(tsai2020.inverted, backbone="tsai_resnet"),
         "appendix A.1", "inverted attention on a residual backbone",
         "own photographs, with more patience",
         "inverted_attention", CIFAR, 1_828_817, 574_922_912)
register("tsai2020/dynamic_simple", tsai2020.dynamic,
         "table 4", "CapsNet for CIFAR",
         "dynamic routing on colour pictures",
         "dynamic", CIFAR, 7_992_576, 383_434_752)
register("tsai2020/dynamic_resnet", partial(tsai2020.dynamic, deep=True),
         "appendix A.1", "CapsNet on a residual backbone with a stage of 256",
         "dynamic routing on deep features",
         "dynamic", CIFAR, 12_451_136, 1_674_772_480)
register("tsai2020/em_simple", tsai2020.em,
         "table 6", "matrix capsules with EM routing",
         "EM routing on colour pictures",
         "em", CIFAR, 453_044, 171_274_240)
register("tsai2020/em_resnet", partial(tsai2020.em, backbone="tsai_resnet"),
         "appendix A.1", "EM routing on a residual backbone",
         "EM routing on deep features",
         "em", CIFAR, 1_710_580, 663_777_280)
register("tsai2020/cnn_simple", tsai2020.cnn_simple,
         "table 2", "three convolutions of 1024",
         "a plain baseline on colour pictures",
         None, CIFAR, 18_919_434, 648_816_640)
register("tsai2020/resnet18", tsai2020.resnet,
         "section 5", "CIFAR ResNet-18",
         "the baseline to beat on colour pictures",
         None, CIFAR, 11_173_962, 555_422_720)
register("tsai2020/diverse_matrix", tsai2020.diverse,
         "table 10", "8×8 poses",
         "overlapping digits, with matrix poses",
         "inverted_attention", PAIRS, 9_963_969, 655_331_968)
register("tsai2020/diverse_vector", partial(tsai2020.diverse, rows=1),
         "table 11", "64-D poses",
         "overlapping digits, with vector poses",
         "inverted_attention", PAIRS, 42_478_017, 993_890_944)
register("tsai2020/diverse_matrix_42m", partial(tsai2020.diverse, types=64),
         "section 6", "8×8 poses, 64 types of capsules instead of 16",
         "overlapping digits, at the size of the vector network",
         "inverted_attention", PAIRS, 41_593_281, 3_121_975_936)
register("tsai2020/diverse_dynamic", partial(tsai2020.diverse, rows=1, squashed=True, routing="dynamic"),
         "figure 5", "64-D poses with dynamic routing",
         "overlapping digits, with dynamic routing",
         "dynamic", PAIRS, 42_477_568, 1_696_960_512)
register("tsai2020/diverse_cnn", tsai2020.diverse_cnn,
         "table 12", "three convolutions of 1024, pooled",
         "the baseline for overlapping digits",
         None, PAIRS, 19_553_162, 970_303_744)
# fmt: on
