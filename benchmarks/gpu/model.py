"""What the kernels gain, on paper: bytes moved and operations, and the least time that these take on four cards.

    python -m benchmarks.gpu.model

Nothing here is measured. A step is traced without computing it, ours and the textbook's. A kernel takes as long as its
bytes at the memory's speed or its operations at the card's, whichever is longer; a step is the sum of its kernels.
Launches, caches and whatever else makes a real card slower are left out, for all alike.

- *Textbook*: each operation is a kernel that reads its inputs and writes its results.
- *Compiled*: what is computed number by number is never written: each matrix product, sum, softmax or gather is a
  kernel that reads what it depends on. No compiler does better that does not know what a vote is.
- *torchcaps*: the kernels, with what they are padded by, and around them the rest of the step as it is.
"""

import fnmatch
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.fx import Graph, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import flop_registry

from benchmarks.gpu.cards import CARDS, Card
from benchmarks.gpu.passes import cost_of_pass
from benchmarks.gpu.workloads import workloads
from benchmarks.speed.result import Mode
from benchmarks.speed.tables import number, table
from torchcaps import ops

FREE = ("aten::_unsafe_view", "aten::detach", "prim::device")
KERNELS = [  # beside matrix products: what a compiler does not compute number by number
    *("aten::sum", "aten::mean", "aten::amax", "aten::logsumexp", "aten::linalg_vector_norm"),
    *("aten::_softmax", "aten::_softmax_backward_data", "aten::index_select", "aten::index_add"),
    *("aten::native_layer_norm", "aten::native_layer_norm_backward"),
    *("aten::native_batch_norm", "aten::native_batch_norm_backward"),
]


class Cost(NamedTuple):
    """Bytes moved by a kernel, operations of its matrix products and others, and whether it is one of ours."""

    bytes: float
    products: float
    others: float
    ours: bool = False

    def seconds(self, card: Card) -> float:
        """The least time on a card."""
        products = card.of_kernels if self.ours else card.single
        return max(self.bytes / card.bandwidth, self.products / products + self.others / card.single)


def graph_of(step: nn.Module, inputs: Sequence[Tensor], mode: Mode) -> Graph:
    """Every operation of the forward pass or, in training, of it and all gradients."""
    names, values = zip(*step.named_parameters(), strict=True)

    def function(*tensors: Tensor) -> tuple[Tensor, ...]:
        given, parameters = tensors[: len(inputs)], tensors[len(inputs) :]
        outs = functional_call(step, dict(zip(names, parameters, strict=True)), given)
        if mode == "inference":
            return tuple(outs)
        outs = [out for out in outs if out.requires_grad]
        leaves = [t for t in tensors if t.requires_grad]
        found = torch.autograd.grad(outs, leaves, [torch.ones_like(out) for out in outs], allow_unused=True)
        return (*outs, *(grad for grad in found if grad is not None))

    with patch.object(ops, "worth_merging", lambda *_, **__: False):  # it is for processors, and so are these tensors
        graph: Graph = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*inputs, *values).graph
    graph.eliminate_dead_code()
    return graph


def kernels(graph: Graph, *, compiled: bool) -> Iterator[Cost]:
    """The cost of every kernel of a graph."""
    for node in graph.nodes:
        if node.op != "call_function" or _is_free(node):
            continue
        name = str(node.target._schema.name)
        if name.startswith("torchcaps::"):
            yield Cost(*cost_of_pass(name.removeprefix("torchcaps::"), [_value(a) for a in node.args]), ours=True)
        elif not compiled or _is_kernel(node):
            before = _sources(node) if compiled else set(node.all_input_nodes)
            moved = sum(_bytes(each) for each in before) + _bytes(node)
            products = _products(node)
            yield Cost(moved, products, 0 if products else max(_count(each) for each in (node, *before)))


def _is_free(node: Node) -> bool:
    """A view, or what no card has to do."""
    schema = getattr(node.target, "_schema", None)
    return schema is None or schema.name in FREE or any(r.alias_info is not None for r in schema.returns)


def _is_kernel(node: Node) -> bool:
    """Whether a compiler has to write what it computes: it is no function number by number, or somebody asks for it."""
    if _is_product(node) or node.target._schema.name in KERNELS or node.target._schema.name.startswith("torchcaps::"):
        return True
    return any(user.op == "output" or _is_product(user) for user in _users(node))


def _users(node: Node) -> Iterator[Node]:
    for user in node.users:
        if user.op == "call_function" and _is_free(user):
            yield from _users(user)
        yield user


def _sources(node: Node) -> set[Node]:
    """What was written before and is read for this: through everything that is computed on the way."""
    found = set[Node]()
    for each in node.all_input_nodes:
        known = each.op != "call_function" or (not _is_free(each) and _is_kernel(each))
        found |= {each} if known else _sources(each)
    return found


def _is_product(node: Node) -> bool:
    return node.op == "call_function" and getattr(node.target, "overloadpacket", None) in flop_registry


def _products(node: Node) -> float:
    if not _is_product(node):
        return 0.0
    given = [_value(argument) for argument in node.args]
    return float(flop_registry[node.target.overloadpacket](*given, out_val=node.meta["val"]))


def _value(argument: Any) -> Any:
    return argument.meta["val"] if isinstance(argument, Node) else argument


def _tensors(node: Node) -> list[Tensor]:
    value = node.meta.get("val")
    return [t for t in (value if isinstance(value, tuple | list) else [value]) if isinstance(t, Tensor)]


def _bytes(node: Node) -> float:
    """Of a node's tensors in memory; an axis that repeats the same numbers is not there."""
    return sum(t.element_size() * _distinct(t) for t in _tensors(node))


def _distinct(t: Tensor) -> int:
    count = 1
    for size, stride in zip(t.shape, t.stride(), strict=True):
        count *= size if stride else 1
    return count


def _count(node: Node) -> int:
    return max((t.numel() for t in _tensors(node)), default=0)


class Found(NamedTuple):
    """Of one way to do a step: megabytes and millions of operations, and milliseconds on each card."""

    megabytes: float
    operations: float
    milliseconds: list[float]


def find(graph: Graph, *, compiled: bool = False) -> Found:
    """The sum over a graph."""
    costs = list(kernels(graph, compiled=compiled))
    times = [sum(cost.seconds(card) for cost in costs) * 1e3 for card in CARDS]
    return Found(sum(c.bytes for c in costs) / 1e6, sum(c.products + c.others for c in costs) / 1e6, times)


def rows(mode: Mode, names: str = "*") -> Iterator[list[str]]:
    """The table of a mode, a workload a line; `names` is a pattern of those that are wanted."""
    for workload, build in workloads().items():
        if not fnmatch.fnmatch(workload, names):
            continue
        theirs, ours, given = build()
        book, mine = graph_of(theirs, given, mode), graph_of(ours, given, mode)
        ways = [find(book), find(book, compiled=True), find(mine)]
        moved = " / ".join(number(way.megabytes) for way in ways)
        operations = " / ".join(number(way.operations / 1e3) for way in ways)
        times = [" / ".join(number(way.milliseconds[k] * 1e3) for way in ways) for k in range(len(CARDS))]
        yield [workload, moved, operations, *times]


TEXT = (
    "**Computed, not measured.** Each cell: textbook / compiled textbook / torchcaps. Times are the least that bytes "
    "and operations take, in microseconds, without launches."
)
HEADER = ("workload", "MB moved", "billions of operations", *(f"{card.name}, µs" for card in CARDS))
TITLES: dict[Mode, str] = {"train": "On paper: a training step", "inference": "On paper: inference"}


def tables() -> str:
    """Both modes, as the page has them."""
    return "\n".join(table(title, TEXT, HEADER, list(rows(mode))) for mode, title in TITLES.items())


if __name__ == "__main__":
    print(tables())
