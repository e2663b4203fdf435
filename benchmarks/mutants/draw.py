"""Faults drawn at random: places in the syntax of the library, and what may stand there instead.

    python -m benchmarks.mutants.draw > benchmarks/mutants/faults/random.toml
    python -m benchmarks.mutants.draw 20261118 > benchmarks/mutants/faults/random_second.toml

Drawn once each: the files are kept, so that they stay the same while the library changes.
"""

import ast
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.mutants.fault import ROOT, Fault, usual

SEED, COUNT = 20261117, 60
COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not"}
COMPARED |= {ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}
REPLACED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*", ast.Pow: "*"}
Place = tuple[Path, ast.AST, str, str]


def drawn(count: int = COUNT, seed: int = SEED) -> list[Fault]:
    """So many faults, every place of the library being as likely as any other."""
    places = [place for path in sorted((ROOT / "torchcaps").rglob("*.py")) for place in _places(path)]
    return [_fault(*place) for place in random.Random(seed).sample(places, count)]


def _places(path: Path) -> Iterator[Place]:
    for node in ast.walk(ast.parse(path.read_text())):
        for changes in (_operation, _condition, _value):
            for part, new, what in changes(node):
                yield path, part, new, what


def _operation(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        yield node, f"{left} {COMPARED[type(node.ops[0])]} {right}", "another comparison"
    elif isinstance(node, ast.BinOp) and type(node.op) in REPLACED and not _text(node):
        changed = f"({ast.unparse(node.left)}) {REPLACED[type(node.op)]} ({ast.unparse(node.right)})"
        yield node, f"({changed})", "another operation"


def _condition(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        word = "or" if isinstance(node.op, ast.And) else "and"
        yield node, f"(({ast.unparse(node.values[0])}) {word} ({ast.unparse(node.values[1])}))", f"`{word}`"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"bool({ast.unparse(node.operand)})", "`not` left out"
    elif isinstance(node, ast.If | ast.IfExp):
        yield node.test, f"(not ({ast.unparse(node.test)}))", "the other branch"


def _value(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield node, repr(node.value + 1), "another number"
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield node, repr(not node.value), "the other truth value"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "pass", "a call left out"


def _text(node: ast.BinOp) -> bool:
    """Whether strings are joined or types are, where another operation means nothing."""
    return any(isinstance(side, ast.Constant | ast.JoinedStr) and not _number(side) for side in ast.walk(node))


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _fault(path: Path, node: ast.AST, new: str, what: str) -> Fault:
    """The change as text; enough of the lines around it that it stands there once."""
    lines = path.read_text().splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno  # type: ignore[attr-defined]
    start = len(lines[first].encode()[: node.col_offset].decode())  # type: ignore[attr-defined]
    end = len(lines[last - 1]) - len(lines[last - 1].encode()[node.end_col_offset :].decode())  # type: ignore[attr-defined]
    above, below = first, last
    while "".join(lines).count("".join(lines[above:below])) > 1:
        above, below = max(0, above - 1), min(len(lines), below + 1)
    before, after = (
        "".join(lines[above:first]) + lines[first][:start],
        lines[last - 1][end:] + "".join(lines[last:below]),
    )
    file = str(path.relative_to(ROOT))
    return Fault(file, "".join(lines[above:below]), before + new + after, what, usual(file), random=True)


if __name__ == "__main__":
    for fault in drawn(seed=int(sys.argv[1]) if sys.argv[1:] else SEED):
        texts = {"file": fault.file, "old": fault.old, "new": fault.new, "what": fault.what}
        print(
            "[[fault]]", *(f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in texts.items()), sep="\n"
        )
        print(f"tests = {json.dumps(fault.tests)}\nrandom = true\n")
