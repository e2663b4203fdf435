"""Networks as ONNX files, each compared with torch before it counts as written."""

import copy
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps._atomic import replaced
from torchcaps._onnx import OPSET, to_onnx
from torchcaps.network import Model
from torchcaps.types import Parse

BATCHES = (1, 5)  # the sizes compared; the network is traced with another
TOLERANCE, LEAST = 1e-4, 1e-3
ROUNDING = 10  # how many times torch's own rounding is allowed, where that is more
MOST_BYTES = 2_000_000_000  # a single ONNX file holds less than 2 GiB

Outputs = dict[str, Tensor]


class Example(NamedTuple):
    """Random images, what torch makes of them in double precision, and in single."""

    images: Tensor
    exact: Outputs
    single: Outputs


class ExportError(ValueError):
    """A network that cannot be written as ONNX, and why."""


class Exported(NamedTuple):
    """What was written: each output's shape by name, and the largest difference from torch that was found.

    A difference is that from torch in double precision, relative to the largest number of its output or to 0.001 if
    that is larger. At most 1e-4 is allowed, or ten times what torch itself differs in single precision: some networks
    (deep ones with EM routing) make more of a rounding than others.
    """

    path: Path
    outputs: dict[str, tuple[int | str, ...]]
    opset: int
    bytes: int
    difference: float


def export_onnx(
    model: Model,
    path: str | Path,
    image_shape: tuple[int, int, int],
    metadata: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
) -> Exported:
    """Write a network as one ONNX file, in single precision, for any number of `images` of one shape.

    Outputs are `scores` (batch, class); `poses` of the class capsules (batch, class, d); and `couplings` of the last
    capsule layer (batch, child, class), its children counted by row, column and type. A network without capsules has
    scores only. The file is compared with torch under another name, so nothing at `path` changes if that fails.

    >>> from tempfile import TemporaryDirectory
    >>> from torchcaps.network import ConvNet
    >>> with TemporaryDirectory() as folder:
    ...     export_onnx(ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(9, 3))), f"{folder}/net.onnx", (1, 3, 3)).outputs
    {'scores': ('batch', 3)}

    Args:
        image_shape: channels, height and width.
        metadata: what the file tells besides, by name, such as its classes and how an image becomes this size; that
            images are numbers from 0 to 1, and their shape, it always tells.
        overwrite: whether a file that is there may be replaced.
    """
    target = check_target(path, overwrite=overwrite)
    _need_extra()
    own = copy.deepcopy(model).to("cpu", torch.float32).eval()
    own.decoder = None
    size = sum(t.numel() * t.element_size() for t in own.state_dict().values())
    if size > MOST_BYTES:
        raise ExportError(f"the weights take {size / 1e9:.1f} GB, and a single ONNX file holds at most 2")
    examples = _examples(own, image_shape)
    outputs = examples[0].exact
    try:
        known = {"image_shape": json.dumps(list(image_shape)), "range": "[0, 1]", **(metadata or {})}
        program = to_onnx(_Named(own), torch.rand(2, *image_shape), list(outputs), known)
    except Exception as error:  # whatever torch's exporter met, the user hears which network it was
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ExportError(f"torch cannot write this {type(model).__name__} as ONNX: {reason}") from error
    with replaced(target) as part:
        program.save(part, external_data=False)
        difference = _difference(part, examples)
    shapes: dict[str, tuple[int | str, ...]] = {name: ("batch", *t.shape[1:]) for name, t in outputs.items()}
    return Exported(target, shapes, OPSET, target.stat().st_size, difference)


def check_target(path: str | Path, *, overwrite: bool = False) -> Path:
    """A place where a network may be written: a new .onnx file, or a regular one that may be replaced.

    >>> check_target("model.txt")
    Traceback (most recent call last):
    ValueError: model.txt is not allowed: what is written is ONNX, so give a name that ends in .onnx
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a directory: give the name of a file, such as {target / 'model.onnx'}")
    if target.suffix != ".onnx":
        raise ValueError(f"{target} is not allowed: what is written is ONNX, so give a name that ends in .onnx")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {target.parent} to write {target.name} into")
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise FileExistsError(f"{target} is no regular file, and is not replaced: give another name")
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} is there already: --force (overwrite=True) replaces it")
    return target


def named(parse: Parse) -> Outputs:
    """What an ONNX file gives of a parse, by name.

    >>> list(named(Parse(torch.rand(2, 3), [], [], [])))
    ['scores']
    """
    found = {"scores": parse.scores}
    if parse.capsules:
        found["poses"] = rearrange(parse.capsules[-1].pose, "b 1 1 n d -> b n d")
    if parse.couplings:
        found["couplings"] = rearrange(parse.couplings[-1], "b 1 1 i n -> b i n")
    return found


class _Named(nn.Module):
    """The network as ONNX sees it: from images to a row of tensors."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Float[Tensor, "b c h w"]) -> tuple[Tensor, ...]:
        return tuple(named(self.model(images, record="last")).values())


def _need_extra() -> None:
    try:
        for name in ("onnx", "onnxscript", "onnxruntime"):
            import_module(name)
    except ModuleNotFoundError as error:
        raise ExportError(f"writing ONNX needs {error.name}: pip install 'torchcaps[export]'") from error


def _examples(model: Model, image_shape: tuple[int, int, int]) -> list[Example]:
    """Random images in batches of several sizes, and what the network makes of them."""
    generator = torch.Generator().manual_seed(0)
    exact, found = copy.deepcopy(model).double(), list[Example]()
    for batch in BATCHES:
        images = torch.rand(batch, *image_shape, generator=generator)
        with torch.no_grad():
            parses = exact(images.double(), record="last"), model(images, record="last")
        if not isinstance(parses[0], Parse):
            raise ExportError(f"{type(model).__name__} returns a {type(parses[0]).__name__}: a Parse is needed")
        found.append(Example(images, named(parses[0]), named(parses[1])))
        if not all(t.isfinite().all() for outputs in found[-1][1:] for t in outputs.values()):
            raise ExportError("what torch makes of random images is not finite: has the training failed?")
    return found


def _difference(file: Path, examples: list[Example]) -> float:
    """The largest difference between what onnxruntime reads from a file and what torch gave."""
    import onnxruntime  # type: ignore[import-untyped]

    options, worst = onnxruntime.SessionOptions(), 0.0
    options.log_severity_level, options.intra_op_num_threads = 3, torch.get_num_threads()
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        results = [session.run(list(one.exact), {"images": one.images.numpy()}) for one in examples]
    except Exception as error:  # onnxruntime's errors have no common class but this
        raise ExportError(f"onnxruntime cannot run what was written: {error}") from error
    for arrays, (images, exact, single) in zip(results, examples, strict=True):
        for array, (name, wanted) in zip(arrays, exact.items(), strict=True):
            if array.shape != wanted.shape:
                raise ExportError(f"onnxruntime gives {name} of {array.shape}, torch {tuple(wanted.shape)}")
            apart, allowed = _apart(torch.from_numpy(array), wanted), ROUNDING * _apart(single[name], wanted)
            if not apart <= max(TOLERANCE, allowed):
                raise ExportError(
                    f"the {name} of {len(images)} images differ by {apart:.1e} between onnxruntime and torch, more "
                    f"than the {max(TOLERANCE, allowed):.0e} allowed: nothing was written"
                )
            worst = max(worst, apart)
    return worst


def _apart(found: Tensor, wanted: Tensor) -> float:
    return (found - wanted).abs().max().item() / max(LEAST, wanted.abs().max().item())
