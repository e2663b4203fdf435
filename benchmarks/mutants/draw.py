"""Faults drawn at random: places in the syntax of the library as it is now, and what may stand there instead."""

import ast
import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks.mutants.fault import ROOT, Fault

COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not"}
COMPARED |= {ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}
REPLACED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*", ast.Pow: "*"}
Change = tuple[ast.expr | ast.stmt, str, str]


def drawn(files: Iterable[Path], number: int, seed: int) -> list[Fault]:
    """So many different faults, every place of the files being as likely as any other; all if there are fewer."""
    every = [fault for path in files for fault in faults(str(path.relative_to(ROOT)), path.read_text())]
    order = random.Random(seed).sample(every, len(every))
    return list(islice(filter(_compiles, order), number))


def faults(file: str, text: str) -> Iterator[Fault]:
    """All faults that one file can have, and some that are no syntax."""
    lines = text.splitlines(keepends=True)
    begins = [0]  # of every line, in characters
    for line in lines:
        begins.append(begins[-1] + len(line))

    def place(line: int, column: int) -> int:
        return begins[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in ast.walk(ast.parse(text)):
        for changes in (_operation, _condition, _value):
            for part, new, what in changes(node):
                if part.end_lineno is None or part.end_col_offset is None:
                    continue
                start, end = place(part.lineno, part.col_offset), place(part.end_lineno, part.end_col_offset)
                if _stands(part, text[start:end]):
                    yield Fault(file, text, start, end, new, what)


def _stands(node: ast.AST, source: str) -> bool:
    """Whether the node is where it says: inside f-strings Python 3.11 may be wrong about it."""
    try:
        return ast.unparse(ast.parse(f"({source})" if isinstance(node, ast.expr) else source)) == ast.unparse(node)
    except SyntaxError:
        return False


def _compiles(fault: Fault) -> bool:
    try:
        ast.parse(fault.planted())
    except SyntaxError:
        return False
    return True


def _operation(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        yield node, f"{left} {COMPARED[type(node.ops[0])]} {right}", "another comparison"
    elif isinstance(node, ast.BinOp) and type(node.op) in REPLACED and not _text(node):
        changed = f"({ast.unparse(node.left)}) {REPLACED[type(node.op)]} ({ast.unparse(node.right)})"
        yield node, f"({changed})", "another operation"


def _condition(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        word = "or" if isinstance(node.op, ast.And) else "and"
        yield node, f"(({ast.unparse(node.values[0])}) {word} ({ast.unparse(node.values[1])}))", f"`{word}`"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"bool({ast.unparse(node.operand)})", "`not` left out"
    elif isinstance(node, ast.If | ast.IfExp) and ast.unparse(node.test) != "TYPE_CHECKING":
        yield node.test, f"(not ({ast.unparse(node.test)}))", "the other branch"


def _value(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield node, repr(node.value + 1), "another number"  # type: ignore[operator]
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield node, repr(not node.value), "the other truth value"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "pass", "a call left out"


def _text(node: ast.BinOp) -> bool:
    """Whether strings are joined or types are, where another operation means nothing."""
    return any(isinstance(side, ast.Constant | ast.JoinedStr) and not _number(side) for side in ast.walk(node))


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)
