"""`torchcaps predict`: what a trained network sees in images, and with --explain how it came to think so."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

Answer = dict[str, Any]


def predict(
    run: Annotated[Path, typer.Argument(help="The directory that 'torchcaps train --out' wrote.")],
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE…", help="Image files, or folders of them.")],
    explain: Annotated[bool, typer.Option("--explain", help="Show the capsules and couplings behind it.")] = False,
    top: Annotated[int, typer.Option(min=1, help="How many classes to name, the most probable first.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Name the class of each image and its probability; a file that cannot be read makes the exit code 1."""
    from torchcaps.train import load_run
    from torchcaps.train.predict import predict as ask

    trained = load_run(run)
    if trained.image_shape[0] not in (1, 3):
        raise ValueError(
            f"{run} takes images of {trained.image_shape[0]} channels: files are read as grey (1) or colour (3)"
        )
    if trained.reading.before:
        typer.echo("torchcaps: the first version trained this network: pictures are squashed for it, as then", err=True)
    answers = list(ask(trained, images, top=top, explain=explain))
    bad = [answer for answer in answers if "error" in answer]
    if as_json:
        typer.echo(json.dumps(answers, indent=2, ensure_ascii=False))
    else:
        _show([answer for answer in answers if "error" not in answer])
    for answer in bad:
        typer.echo(f"torchcaps: {answer['file']}: {answer['error']}", err=True)
    if bad:
        raise typer.Exit(1)


def _show(answers: list[Answer]) -> None:
    """Image, class and probability in columns that are never cut, then the parses."""
    rows = [("image", "class", "probability")]
    for answer in answers:
        for rank, entry in enumerate(answer.get("top", [answer])):
            rows.append(("" if rank else answer["file"], entry["class"], f"{entry['probability']:.1%}"))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for file, name, probability in rows if answers else []:
        typer.echo(f"{file:<{wide[0]}}  {name:<{wide[1]}}  {probability:>{wide[2]}}")
    for answer in answers:
        if "parse" in answer:
            typer.echo("\n".join(_lines(answer)))


def _lines(answer: Answer) -> Iterator[str]:
    """The parse of an image as lines of text."""
    layers, couplings, routes = (answer["parse"][part] for part in ("layers", "couplings", "routes"))
    yield f"\n{answer['file']}: {answer['class']}, {answer['probability']:.1%}"
    if not layers:
        yield "  a network without capsules: there is no parse to show"
    for layer in layers:
        h, w = layer["grid"]
        yield f"  {layer['layer']}, {h}×{w} positions of {layer['types']}: the most active"
        yield from map(_line, layer["most_active"])
    if couplings:
        yield f"  the strongest couplings into {answer['class']}"
        yield from map(_line, couplings)
    if len(layers) > 2:
        yield f"  the strongest routes to {answer['class']}, capsules as row·column·type"
        for route in routes:
            way = " → ".join(entry.get("class") or "·".join(map(str, entry.values())) for entry in route["capsules"])
            yield f"    {way}  flow {route['flow']:.3g}"


def _line(entry: Answer) -> str:
    numbers = "  ".join(f"{name} {value:.3f}" for name, value in entry.items() if isinstance(value, float))
    where = "  ".join(f"{name} {value:>3}" for name, value in entry.items() if isinstance(value, int))
    return f"    {entry.get('class', where):<29}  {numbers}"
