"""What random invocations are made of: the arguments and options of every command, with right and absurd values."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

NUMBERS = ("x", "", "nan", "1.5", "-1", "0")  # absurd wherever a whole number of at least one is needed
RUNS = (("lenet", "caps"), ("nowhere", "notes.txt", "broken", "torn", "photos", ""))

Values = tuple[tuple[str, ...], tuple[str, ...]]
"""Right ones, and absurd ones."""


@dataclass
class Drawn:
    """An invocation: its arguments, which of them are absurd, what it may write to, and what is removed afterwards."""

    arguments: list[str]
    absurd: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Command:
    """How a command is drawn, and how often."""

    weight: int
    draw: Callable[..., Drawn]


class Draw:
    """A command line that grows: each value is absurd now and then."""

    def __init__(self, rng: random.Random, *words: str, share: float = 0.15) -> None:
        self.rng, self.share, self.found = rng, share, Drawn(list(words))

    def value(self, values: Values) -> str:
        right, absurd = values
        if absurd and (not right or self.rng.random() < self.share):
            chosen = self.rng.choice(absurd)
            self.found.absurd.append(repr(chosen))
            return chosen
        return self.rng.choice(right)

    def argument(self, values: Values) -> str:
        chosen = self.value(values)
        # What begins with a dash would be an option.
        self.found.arguments.append(chosen)
        return chosen

    def option(self, name: str, values: Values, chance: float = 1.0) -> str | None:
        if self.rng.random() >= chance:
            return None
        spelled = name.replace("-", "_") if self.rng.random() < 0.2 and len(name) > 2 else name
        name = "--" + spelled.removeprefix("--").removeprefix("__")
        chosen = self.value(values)
        self.found.arguments.append(f"{name}={chosen}")
        return chosen

    def flag(self, name: str, chance: float) -> bool:
        given = self.rng.random() < chance
        if given:
            self.found.arguments.append(name)
        return given

    def wrong(self, what: str) -> None:
        """Arguments that do not go together."""
        self.found.absurd.append(what)


DATA: Values = (
    ("glyphs", "glyphs", "photos"),
    ("glyfs", "", "empty", "one", "notes.txt", "cut.npz", "nowhere", "lenet"),
)
SETS: Values = (
    (
        "weight_decay=0.1", "clip=1", "keep=2", "save_every=1", "lr_schedule=cosine", "validation=0.2", "momentum=0.5",
        "standardise=true", "standardise=False", 'loss={"name": "margin"}', "steps=1",
        "judge_every=1", "reconstruction_weight=0",
    ),
    (
        "", "lr", "=", "=3", "widht=1", "clip=-1", "keep=0", "save_every=-1", "lr_schedule=wild", "validation=1",
        "validation=nan", "momentum=2", "weight_decay=1e300", 'standardise="maybe"', "loss=3", 'loss={"name": "no"}',
        "loss={", "num_classes=1000000000", "num_classes=20", "num_classes=-1", "num_classes=ten", "in_chans=3",
        "in_chans=0", "width=0", "width=1e6", "width=NaN", "width=wide", "conv_width=-1", "name=x", "model=x", "data=x",
        "options={}", "squash=False", "steps=0", "judge_every=0", "images=-1", "images=1000000000", "batch_size=[1]",
        "callbacks=3", 'callbacks={"no": {}}', "data_options=7", 'data_options={"count": -4}', "image_size=100000000",
        "reconstruction_weight=-1", "seed=nan", "deterministic=7", "compile=maybe", "precision=8", "epochs=null",
        "validation_data=nothing", f"width={'[' * 3000}", "pretrained=true", "augment=none;rm", "keep=1e99",
    ),
)  # fmt: skip


def train(rng: random.Random, out: str, *, heavy: bool) -> Drawn:
    """A training of seconds."""
    d = Draw(rng, "train", share=0.08)
    model = d.argument((("chen2019/lenet", "mitterreiter2023/capsnet"), ("chen2019/lenett", "", "no/such", "../x")))
    data = d.option("--data", DATA)
    d.option("--epochs", (("1",), (*NUMBERS, "99999999999999")))
    d.option("--lr", (("0.001", "1e-5"), ("0", "-1", "nan", "inf", "1e300", "fast", "")), 0.4)
    d.option("--batch-size", (("16", "64"), (*NUMBERS, "1000000000000000")), 0.4)
    d.option(rng.choice(("--optimizer", "--optimiser")), (("adam", "adamw", "sgd"), ("rms", "", "Adam!")), 0.3)
    d.option("--augment", (("none", "shift", "crop_flip"), ("flip", "")), 0.3)
    d.option("--image-size", (("28", "32"), (*NUMBERS, "2", "1000000")), 0.3)
    d.option("--fit", (("pad", "crop", "squash"), ("stretch",)), 0.2)
    d.option("--precision", (("32", "64", "bf16"), ("8", "fp16", "")), 0.2)
    d.option("--seed", (("0", "7"), ("-1", "x", "1099511627776")), 0.3)
    d.option("--devices", (("1",), ("0", "-1", "x")), 0.1)
    d.option("--nodes", (("1",), ("0", "-1", "x")), 0.1)
    d.option("--until-accuracy", ((), ("2", "-1", "nan", "x", "0.5")), 0.04)
    for _ in range(rng.choice((0, 0, 1, 2))):
        d.option("--set", SETS)
    if data == "glyphs":
        d.found.arguments.append("--set=images=40")
    for name in ("--balance", "--deterministic", "--json"):
        d.flag(name, 0.1)
    if model == "mitterreiter2023/capsnet":
        d.found.arguments.append("--set=width=0.1") if not any("width" in a for a in d.found.arguments) else None
    nothing = d.flag("--dry-run", 0.15) or d.flag("--fast-dev-run", 0.1)
    _out(d, out, needed=not nothing)
    return d.found


def _out(d: Draw, out: str, *, needed: bool) -> None:
    """A new folder; or one that is not empty, a file, or none at all, where one is needed."""
    if not needed:
        return
    if d.rng.random() < 0.04:
        d.wrong("no --out")
        return
    chosen = d.option("--out", ((out, f"{out}/deep/er"), ("photos", "notes.txt", "notes.txt/run", "pipe.onnx")))
    if chosen is not None and chosen.startswith(out):
        d.found.outputs.append(out)
        d.found.made.append(out)


def evaluate(rng: random.Random, out: str, *, heavy: bool) -> Drawn:
    """Keeps what it finds with the run."""
    d = Draw(rng, "evaluate")
    d.found.outputs.append(f"{d.argument(RUNS)}/inspect")
    d.option("--on", (("clean", "clean,affine", "overlap"), ("clena", "", ",", "clean,nothing")), 0.5)
    d.option("--threshold", (("0.5",), ("x", "", "nan", "inf")), 0.3)
    d.option("--batch-size", (("64", "1000"), NUMBERS), 0.3)
    d.flag("--json", 0.3)
    return d.found


def predict(rng: random.Random, out: str, *, heavy: bool) -> Drawn:
    """Of files and folders, with pictures or without."""
    d = Draw(rng, "predict")
    d.argument(RUNS)
    for _ in range(rng.choice((1, 1, 2))):
        d.argument((("photos/cat/0.png", "photos/owl"), ("missing.png", "bad.png", "notes.txt", "empty", "pipe.png")))
    d.option("--top", (("1", "3", "15"), ("0", "-1", "x", "")), 0.4)
    d.flag("--json", 0.2)
    if d.flag("--explain", 0.5) and d.rng.random() < 0.3:
        chosen = d.option("--to", ((out,), ("photos", "notes.txt", "notes.txt/x")))
        if chosen == out:
            d.found.outputs.append(out)
            d.found.made.append(out)
    elif d.rng.random() < 0.05 and "--explain" not in d.found.arguments:
        d.found.arguments.append(f"--to={out}")
        d.wrong("--to without --explain")
    return d.found


def export(rng: random.Random, out: str, *, heavy: bool) -> Drawn:
    """Mostly to places where nothing may be written."""
    d = Draw(rng, "export", share=0.2)
    right = (f"{out}.onnx",) if heavy and d.argument(RUNS) == "lenet" and rng.random() < 0.2 else ()
    if not heavy:
        d.argument(RUNS)
    d.option("--to", (right, ("m.pt", "notes.onnx", "pipe.onnx", "photos", "nowhere/x.onnx", "notes.txt", "", "x")))
    d.found.outputs.append(f"{out}.onnx")
    d.found.made.append(f"{out}.onnx")
    d.flag("--json", 0.2)
    return d.found


def inspect(rng: random.Random, out: str, *, heavy: bool) -> Drawn:
    """One or two measures of a few images."""
    d = Draw(rng, "inspect")
    d.found.outputs.append(f"{d.argument(RUNS)}/inspect")
    d.option("--what", (("accuracy", "activity", "predictions, dynamics"), ("activty", "accuracy,nothing")))
    d.option("--images", (("4", "1000000"), NUMBERS))
    d.flag("--json", 0.2)
    return d.found


def attack(rng: random.Random, out: str, *, heavy: bool) -> Drawn:
    """The quick ones."""
    d = Draw(rng, "attack")
    d.found.outputs.append(f"{d.argument(RUNS)}/attacks")
    d.option("--method", (("fgsm",), ("pdg", "", ",", "fgsm,nothing")))
    d.option("--eps", (("0.1", "0.1,0.2"), ("x", "", ",", "nan", "-1", "inf")), 0.6)
    d.option("--norm", (("linf", "l2"), ("l7", "")), 0.3)
    d.option("--images", (("4",), NUMBERS))
    d.option("--loss", (("ce", "own"), ("nothing", "")), 0.3)
    d.option("--seed", (("0", "3"), ("x",)), 0.2)
    return d.found


def report(rng: random.Random, out: str, *, heavy: bool) -> Drawn:
    """A page, now and then."""
    d = Draw(rng, "report", share=0.2)
    runs = [d.argument(RUNS if heavy else ((), RUNS[1])) for _ in range(rng.choice((1, 1, 2)))]
    d.found.outputs += [f"{run}/inspect" for run in runs] + [f"{out}.html"]
    d.option("--images", (("4",), NUMBERS))
    d.option("--out", ((f"{out}.html",), ("photos", "notes.txt", "notes.txt/x.html", "pipe.onnx")))
    d.found.made.append(f"{out}.html")
    return d.found


def others(rng: random.Random, out: str, *, heavy: bool) -> Drawn:
    """Commands that tell, and words that are no commands."""
    absurd = rng.random() < 0.5
    line = rng.choice(WRONG_LINES if absurd else RIGHT_LINES)
    return Drawn([word.replace("OUT", out) for word in line.split()], ["it"] if absurd else [])


RIGHT_LINES = (
    "models", "models chen2019/*", "doctor --json", "data list", "--version", "--help", "train --help",
    "train chen2019/lenet --options", "data list --json", "bench --help",
)  # fmt: skip
WRONG_LINES = (
    "models nobody", "models --jsn", "data get mnits", "data get", "trian", "--versoin", "train", "train --options",
    "train no/such --options", "demo --epochs 0", "demo --epochs x", "demo --nothing", "bench run no/such",
    "bench run --scale huge", "bench verify --results OUT", "bench report --results empty --out x.html", "report",
)  # fmt: skip
COMMANDS = {
    "train": Command(9, train),
    "evaluate": Command(4, evaluate),
    "predict": Command(4, predict),
    "export": Command(2, export),
    "inspect": Command(2, inspect),
    "attack": Command(2, attack),
    "report": Command(1, report),
    "others": Command(4, others),
}
