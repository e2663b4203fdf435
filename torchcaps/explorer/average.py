"""The tree of a whole data set, as a layer to compare one image's with (mitterreiter2023, figure 3)."""

from typing import Any

from einops import rearrange

from torchcaps.explain import Tree, summarise
from torchcaps.explorer.gallery import Exhibit
from torchcaps.explorer.numbers import numbers
from torchcaps.measures import ParseTree, ParseTreeResult, walk
from torchcaps.train.findings import keep, kept

NAME = "parse_tree"


def average(exhibit: Exhibit) -> dict[str, Any]:
    """Mean and deviation of strengths and couplings, type by type; computed once, and kept with a run."""
    if not exhibit.structure.layers:
        raise ValueError(f"{exhibit.title} is a network without capsules: there are no trees to take the mean of")
    with exhibit.lock:
        if exhibit.average is None:
            exhibit.average = _found(exhibit)
        found = exhibit.average
    return {"images": found.images, "mean": _plain(found.mean), "deviation": _plain(found.deviation)}


def _found(exhibit: Exhibit) -> ParseTreeResult:
    """What was kept with the run, or else measured by the test images on show."""
    before = None if exhibit.run is None else kept(exhibit.run).get(NAME)
    if isinstance(before, ParseTreeResult):
        return before
    [found] = walk(exhibit.model, exhibit.samples, [ParseTree()])
    if not isinstance(found, ParseTreeResult):
        raise ValueError(f"the trees of {exhibit.title} have no mean: {found}")
    if exhibit.run is not None and exhibit.run.directory is not None:
        keep(exhibit.run, {NAME: found})
    return found


def _plain(tree: Tree) -> dict[str, Any]:
    small = summarise(tree)
    links = [[numbers(row) for row in rearrange(c, "1 1 i j -> i j")] for c in small.couplings]
    return {"strength": [numbers(s) for s in small.strength], "links": links}
