"""Every name that a command takes, without what it stands for: a wrong one is answered before torch is loaded.

A test holds these lists against the registries.
"""

import difflib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal

Optimiser = Literal["adam", "adamw", "sgd"]
Precision = Literal["32", "64", "bf16"]
Fit = Literal["pad", "crop", "squash"]
Norm = Literal["linf", "l2"]
Augment = Literal["none", "shift", "crop_flip"]

MODELS = (
    "baselines/linear_head", "baselines/small_cnn",
    "chen2019/capsnet_cifar", "chen2019/cnn", "chen2019/cnn_cifar", "chen2019/conv_gcaps",
    "chen2019/conv_gcaps_cifar", "chen2019/fc_gcaps", "chen2019/fc_gcaps_cifar", "chen2019/lenet",
    "chen2019/multi_gcaps", "gu2021/aff_capsnet", "gu2021/aff_capsnet_dr", "gu2021/capsnet", "gu2021/capsnet_nor",
    "gu2021/convnet_avg", "gu2021/convnet_cr", "gu2021/convnet_cr_sf", "gu2021/convnet_fc", "gu2021/convnet_fc_lk",
    "gu2021/convnet_r", "mitterreiter2023/capsnet", "peer2021/em", "peer2021/rba", "peer2021/sign",
    "sabour2017/capsnet", "tsai2020/cnn_simple", "tsai2020/diverse_cnn", "tsai2020/diverse_dynamic",
    "tsai2020/diverse_matrix", "tsai2020/diverse_matrix_42m", "tsai2020/diverse_vector", "tsai2020/dynamic_resnet",
    "tsai2020/dynamic_simple", "tsai2020/em_resnet", "tsai2020/em_simple", "tsai2020/inverted_resnet",
    "tsai2020/inverted_simple", "tsai2020/resnet18",
)  # fmt: skip
DATASETS = (
    "affine_mnist", "affnist", "cifar10", "cifar100", "diverse_multi_mnist", "fashion_mnist", "glyphs", "mnist",
    "multi_mnist", "placed_mnist", "sign",
)  # fmt: skip
RECIPES = (
    "mnist", "fashion_mnist", "cifar10", "cifar100",
)  # fmt: skip
SETTINGS = (
    "data_options", "images", "image_size", "fit", "balance", "augment", "standardise", "validation",
    "validation_data", "validation_options", "overfit", "epochs", "steps", "until_accuracy", "judge_every",
    "average", "batch_size", "optimiser", "lr", "lr_schedule", "momentum", "weight_decay", "clip", "tune",
    "backbone_lr", "loss", "reconstruction_weight", "callbacks", "seed", "precision", "deterministic",
    "compile", "save_every", "keep",
)  # fmt: skip
OPTIONS = (
    "activations", "backbone", "bias", "capsules", "channels", "compat", "competition", "concurrently",
    "conv_width", "d", "deep", "depth", "dim", "grouping", "image_size", "in_chans", "init_std", "iters", "kernel",
    "layers", "loss", "norm", "num_classes", "pool", "primary_types", "reconstruction", "relu", "routing",
    "routing_options", "rows", "share", "side", "squash", "squash_eps", "squashed", "standardise", "start", "types",
    "units", "width",
)  # fmt: skip
VIEWS = (
    "clean", "affine", "overlap",
)  # fmt: skip
MEASURES = (
    "accuracy", "predictions", "activity", "dynamics", "parse_tree", "symmetry", "affine", "overlap",
    "affine_curves", "compactness", "invariance",
)  # fmt: skip
ATTACKS = ("fgsm", "pgd", "autoattack", "universal", "transfer", "noise")


def check_name(kind: str, name: str, known: Collection[str], where: str = "") -> None:
    """Refuse a name that nobody has, and say which are near.

    >>> check_name("view", "clena", VIEWS)
    Traceback (most recent call last):
    ValueError: there is no view 'clena': did you mean 'clean'? Known: 'clean', 'affine', 'overlap'

    Args:
        where: which command lists what is known, if that is too much for a line.
    """
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    near += [one for one in known if name and name.lower() in one and one not in near][:3]
    hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
    rest = f"{where} lists them all" if where else f"Known: {', '.join(map(repr, known))}"
    raise ValueError(f"there is no {kind} {name!r}: {hint}{rest}")


def check_model(name: str) -> None:
    """Refuse a model that there is not."""
    check_name("model", name, MODELS, "torchcaps models")


def check_data(name: str) -> None:
    """Refuse what is neither a data set, nor a folder of images, nor an .npz file."""
    if not (Path(name).is_dir() or (name.endswith(".npz") and Path(name).is_file())):
        check_name("data set and no folder", name, DATASETS)


def check_run(folder: Path) -> None:
    """Refuse a folder that is no training's."""
    if not (folder / "run.json").is_file():
        raise FileNotFoundError(f"{folder} is not the folder of a training: it has no run.json")


def parts(text: str, kind: str, known: Collection[str]) -> list[str]:
    """Names with commas between, each once.

    >>> parts("clean, affine,clean", "view", VIEWS)
    ['clean', 'affine']
    """
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        check_name(kind, name, known)
    return names


def check_keys(keys: Iterable[str]) -> None:
    """Refuse a key that is no setting and no option of any model."""
    for key in keys:
        if key not in (*SETTINGS, *OPTIONS):
            check_name("setting or option of a model", key, (*SETTINGS, *OPTIONS), "torchcaps train MODEL --options")
