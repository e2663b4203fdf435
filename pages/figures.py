"""The drawings of the pages, as SVG: lines, circles and words on a light ground that can be read on a dark page too."""

import math
import tomllib
from collections.abc import Callable
from pathlib import Path

from torchcaps._atomic import write_text

FOLDER = Path(__file__).parents[1] / "docs/figures"
INK, BLUE, RED, GREY, GROUND, PALE = "#1d2128", "#0b3d91", "#c2321f", "#656c76", "#fbfaf7", "#e4e9f2"


def page(width: int, height: int, title: str, parts: list[str]) -> str:
    """A whole drawing."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="14">\n<title>{title}</title>\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="context-stroke"/></marker></defs>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def words(x: float, y: float, text: str, *, anchor: str = "middle", fill: str = INK, size: int = 14) -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{fill}" font-size="{size}">{text}</text>'


def dot(x: float, y: float, radius: float = 6, fill: str = INK, opacity: float = 1.0) -> str:
    """A capsule."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" opacity="{opacity:g}"/>'


def line(
    a: tuple[float, float], b: tuple[float, float], colour: str = INK, width: float = 1.5, *, tip: bool = True
) -> str:
    """A line, or an arrow."""
    end = ' marker-end="url(#tip)"' if tip else ""
    ends = f'x1="{a[0]:g}" y1="{a[1]:g}" x2="{b[0]:g}" y2="{b[1]:g}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"{end}/>'


def box(x: float, y: float, w: float, h: float, fill: str = "none", stroke: str = GREY) -> str:
    """A frame."""
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="4" fill="{fill}" stroke="{stroke}"/>'


def capsule() -> str:
    """A number says whether, a capsule says whether and how."""
    left, right = 130, 430
    parts = [words(left, 30, "a neuron: one number"), words(right, 30, "a capsule: a pose of d numbers")]
    parts += [box(left - 25, 60, 50, 24, PALE), words(left, 77, "0.8")]
    parts += [box(right - 100 + 50 * k, 60, 50, 24, PALE) for k in range(4)]
    parts += [words(right - 75 + 50 * k, 77, v) for k, v in enumerate(("0.6", "0.1", "−0.3", "0.4"))]
    parts += [words(left, 112, "how much of a feature is there", fill=GREY, size=13)]
    parts += [words(right, 112, "its direction: what it looks like", fill=GREY, size=13)]
    parts += [words(right, 132, "its length, or a number beside it: whether it is there", fill=GREY, size=13)]
    return page(640, 150, "A neuron and a capsule", parts)


def agreement() -> str:
    """Votes that lie together make a parent, votes that lie apart do not."""
    parts = [words(95, 28, "children"), words(330, 28, "votes for parent A"), words(540, 28, "votes for parent B")]
    together, apart = [(322, 100), (334, 112), (340, 96), (328, 120)], [(505, 70), (575, 95), (520, 150), (580, 160)]
    for k, (a, b) in enumerate(zip(together, apart, strict=True)):
        y = 62 + 36 * k
        parts += [dot(95, y), line((103, y), (a[0] - 9, a[1]), BLUE, 1.4), line((103, y), (b[0] - 9, b[1]), GREY, 0.8)]
        parts += [dot(*a, 5, BLUE), dot(*b, 5, GREY)]
    parts += [f'<circle cx="331" cy="107" r="27" fill="none" stroke="{BLUE}" stroke-dasharray="4 3"/>']
    parts += [words(331, 200, "they agree: A is there", fill=BLUE), words(540, 200, "they do not: B is not", fill=GREY)]
    parts += [words(95, 200, "û = u W", fill=INK)]
    return page(640, 220, "Agreement of votes", parts)


def competition() -> str:
    """A child has one unit to give: the couplings of a child to its parents sum to one."""
    shares = (0.75, 0.2, 0.05)
    parts = [words(110, 30, "child"), words(470, 30, "parents"), dot(110, 100, 9)]
    for k, share in enumerate(shares):
        y = 55 + 45 * k
        parts += [line((122, 100), (445, y), BLUE, 0.8 + 7 * share, tip=False), dot(460, y, 9)]
        parts += [words(480, y + 5, f"c = {share:g}", anchor="start")]
    parts += [words(300, 180, "softmax over the parents: a child has one unit of itself to give", fill=GREY, size=13)]
    return page(640, 200, "A child shares itself out among its parents", parts)


def iterations() -> str:
    """Three steps of routing: from equal shares to nearly all for the parent that agrees."""
    parts = []
    for k, share in enumerate((0.5, 0.72, 0.93)):
        x = 110 + 210 * k
        parts += [words(x, 30, f"iteration {k + 1}")]
        for row in range(4):
            y = 60 + 28 * row
            parts += [dot(x - 55, y, 5), line((x - 50, y), (x + 50, 75), BLUE, 0.5 + 4 * share, tip=False)]
            parts += [line((x - 50, y), (x + 50, 130), GREY, 0.5 + 4 * (1 - share), tip=False)]
        parts += [dot(x + 55, 75, 4 + 6 * share, BLUE), dot(x + 55, 130, 4 + 6 * (1 - share), GREY)]
    parts += [
        words(
            320,
            185,
            "the parent moves to where votes lie; votes that lie near it count more; again",
            fill=GREY,
            size=13,
        )
    ]
    return page(640, 205, "Iterations of routing", parts)


def windows() -> str:
    """A fully connected layer is a convolutional one whose window is the whole grid."""
    parts = [words(150, 28, "convolutional: a 3 × 3 window"), words(480, 28, "fully connected: the window is the grid")]
    for left, wide in ((70, 3), (400, 6)):
        for row in range(6):
            for column in range(6):
                inside = row < wide and column < wide
                parts.append(dot(left + 28 * column, 60 + 28 * row, 5, BLUE if inside else GREY, 1 if inside else 0.5))
        side = 28 * (wide - 1) + 22
        parts.append(
            f'<rect x="{left - 11}" y="49" width="{side}" height="{side}" rx="4" fill="none" stroke="{BLUE}"/>'
        )
    parts += [
        words(150, 245, "a grid of parents, 4 × 4", fill=GREY),
        words(480, 245, "parents at one position", fill=GREY),
    ]
    return page(640, 265, "Windows", parts)


SAYS = {
    "cli": "one command per file: parses, calls, prints",
    "bench": "jobs, store, verdict, papers/&lt;key&gt;/&lt;artefact&gt;, demo",
    "report": "pages without a server; a classifier for scikit-learn",
    "explorer": "the page that looks inside a model",
    "attacks": "FGSM, PGD, AutoAttack, transfer, universal, AC-GAN",
    "train": "settings, the loop, checkpoints, runs",
    "measures": "accumulators over one walk",
    "explain": "the parse of an image as a tree",
    "infer": "a model on images: mode, device, precision",
    "models": "one paper, one data set per file; ONNX; contracts",
    "network": "what a network is: Model, CapsNet, ConvNet",
    "schedule": "layer by layer, or all layers at once",
    "layers": "primary capsules, capsule layers, heads, decoders",
    "routing": "one algorithm per file",
    "votes": "what a routing can ask",
    "functional": "squash; where children come from",
    "ops": "the fused passes; the nouns, the legend of letters",
}


def house() -> str:
    """The packages, from the ground up, as the contract about imports has them."""
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text())
    floors = project["tool"]["importlinter"]["contracts"][0]["layers"]
    parts = []
    for k, floor in enumerate(floors):
        y, names = 14 + 32 * k, floor.split(" | ")
        parts += [box(20, y, 600, 28, PALE if k % 2 else GROUND)]
        parts += [words(34, y + 19, " · ".join(names), anchor="start", fill=BLUE)]
        parts += [words(606, y + 19, next((SAYS[name] for name in names if name in SAYS), ""), anchor="end", size=13)]
    parts += [line((632, 30), (632, 14 + 32 * len(floors) - 10), GREY, 1.5)]
    return page(646, 20 + 32 * len(floors), "The house: every floor imports from those below", parts)


def squashes() -> str:
    """The two squashing functions."""
    curves: list[tuple[str, Callable[[float], float], str]] = [
        ("‖s‖² / (1 + ‖s‖²)", lambda n: n * n / (1 + n * n), BLUE),
        ("1 − e^−‖s‖", lambda n: 1 - math.exp(-n), RED),
    ]
    parts = [line((60, 180), (600, 180), GREY), line((60, 180), (60, 25), GREY)]
    parts += [words(600, 200, "length of the sum, 0 to 4", anchor="end", fill=GREY, size=13)]
    parts += [words(70, 36, "length of the pose, 0 to 1", anchor="start", fill=GREY, size=13)]
    for k, (name, f, colour) in enumerate(curves):
        points = " ".join(f"{60 + 130 * n / 25:.1f},{180 - 140 * f(n / 25):.1f}" for n in range(101))
        parts += [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>']
        parts += [words(590, 120 + 24 * k, name, anchor="end", fill=colour)]
    return page(640, 215, "Squashing functions", parts)


FIGURES = {f.__name__: f for f in (capsule, agreement, competition, iterations, windows, squashes, house)}


def write(folder: Path = FOLDER) -> None:
    """All drawings into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        write_text(folder / f"{name}.svg", draw())


if __name__ == "__main__":
    write()
