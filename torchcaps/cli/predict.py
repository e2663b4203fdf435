"""`torchcaps predict`: what a trained network sees in images, and with --explain how it came to think so."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from torchcaps._atomic import NotWrittenError, replaced
from torchcaps._shown import shown_name
from torchcaps._telling import working
from torchcaps.cli._names import check_run
from torchcaps.cli._say import say

if TYPE_CHECKING:
    from torch import Tensor

    from torchcaps.explain import Tree

Answer = dict[str, Any]


def predict(
    run: Annotated[Path, typer.Argument(help="The directory that 'torchcaps train --out' wrote.")],
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE…", help="Image files, or folders of them.")],
    explain: Annotated[bool, typer.Option("--explain", help="Show the capsules and couplings behind it.")] = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="DIR", help="With --explain: a new folder for a picture of each image's couplings."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many classes to name, the most probable first.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Name the class of each image and its probability; a file that cannot be read makes the exit code 1."""
    check_run(run)
    _check_to(to, explain=explain)
    with working("loading torch") as tell:
        from torchcaps.train import load_run
        from torchcaps.train.predict import predict as ask

        trained = load_run(run)
        if trained.image_shape[0] not in (1, 3):
            raise ValueError(
                f"{run} takes images of {trained.image_shape[0]} channels: files are read as grey (1) or colour (3)"
            )
        answers, draw = list[Answer](), None if to is None else _Pictures(to)
        tell("reading images")
        for answer in ask(trained, images, top=top, explain=explain, draw=draw):
            answers.append(answer)
            tell("images", len(answers))
    if trained.reading.before:
        say("torchcaps: the first version trained this network: pictures are squashed for it, as then", err=True)
    bad = [answer for answer in answers if "error" in answer]
    if as_json:
        say(json.dumps(answers, indent=2, ensure_ascii=False))
    else:
        _show([answer for answer in answers if "error" not in answer])
    for answer in bad:
        say(f"torchcaps: {shown_name(answer['file'])}: {answer['error']}", err=True)
    if draw is not None and draw.error is not None:
        raise draw.error
    if bad:
        raise typer.Exit(1)


def _check_to(to: Path | None, *, explain: bool) -> None:
    """Pictures go into a folder of their own, and replace nothing."""
    if to is None:
        return
    if not explain:
        raise ValueError("--to is for the pictures of --explain: give both")
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError("pictures need matplotlib: pip install 'torchcaps[bench]'")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise ValueError(f"{to} is not an empty folder: name another for the pictures")


class _Pictures:
    """Draws the couplings of each image into a file named as the image's, told apart by a number if need be.

    Attributes:
        error: the first picture that could not be written; none is drawn after it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.error: NotWrittenError | None = None

    def __call__(self, file: str, tree: "Tree", image: "Tensor", label: int) -> None:
        from torchcaps.explain import figure_of_couplings

        if self.error is not None:
            return
        stem, number = Path(file).stem, 1
        target = self.folder / f"{stem}.png"
        while target.exists():
            number += 1
            target = self.folder / f"{stem}-{number}.png"
        figure = figure_of_couplings(tree, image, label)
        try:
            with replaced(target) as part:
                figure.savefig(part, dpi=110, format="png")
        except NotWrittenError as error:
            self.error = error


def _show(answers: list[Answer]) -> None:
    """Image, class and probability in columns that are never cut, then the parses."""
    rows = [("image", "class", "probability")]
    for answer in answers:
        for rank, entry in enumerate(answer.get("top", [answer])):
            file, name = "" if rank else shown_name(answer["file"]), shown_name(entry["class"])
            rows.append((file, name, f"{entry['probability']:.1%}"))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for file, name, probability in rows if answers else []:
        say(f"{file:<{wide[0]}}  {name:<{wide[1]}}  {probability:>{wide[2]}}")
    for answer in answers:
        if "parse" in answer:
            say("\n".join(_lines(answer)))


def _lines(answer: Answer) -> Iterator[str]:
    """The parse of an image as lines of text."""
    layers, couplings, routes = (answer["parse"][part] for part in ("layers", "couplings", "routes"))
    name = shown_name(answer["class"])
    yield f"\n{shown_name(answer['file'])}: {name}, {answer['probability']:.1%}"
    if not layers:
        yield "  a network without capsules: there is no parse to show"
    for layer in layers:
        yield f"  {layer['layer']}, {_where(layer)}: the most active"
        yield from (_line(entry, layer) for entry in layer["most_active"])
    if couplings:
        uniform = answer["parse"]["uniform"]
        alike = "which need not sum to one" if uniform is None else f"where uniform would be {uniform:.3f}"
        yield f"  the strongest couplings into {name}, {alike}"
        yield from (_line(entry, layers[-2]) for entry in couplings)
    if len(layers) > 2:
        yield f"  the strongest routes to {name} (row·column·type, or type alone)"
        for route in routes:
            steps = zip(route["capsules"], layers, strict=True)
            way = " → ".join(
                shown_name(e.get("class", "")) or "·".join(map(str, _placed(e, layer).values())) for e, layer in steps
            )
            yield f"    {way}  flow {route['flow']:.3g}"


def _where(layer: Answer) -> str:
    h, w = layer["grid"]
    return f"{layer['types']} capsules" if h == w == 1 else f"{h}×{w} positions of {layer['types']}"


def _placed(entry: Answer, layer: Answer) -> Answer:
    """An entry without the place that all capsules of its layer share."""
    alone = layer["grid"] == [1, 1]
    return {name: value for name, value in entry.items() if not (alone and name in ("row", "column"))}


def _line(entry: Answer, layer: Answer) -> str:
    numbers = "  ".join(f"{name} {value:.3f}" for name, value in entry.items() if isinstance(value, float))
    shown = _placed(entry, layer).items()
    where = "  ".join(f"{name} {value:>3}" for name, value in shown if isinstance(value, int))
    return f"    {shown_name(entry.get('class', where)):<29}  {numbers}"
