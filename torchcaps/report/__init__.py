"""One HTML page about trained networks, complete in itself: no network, no other files, light and dark.

A page is a list of sections, each plain data with a template of its own. A new section is one file here, one template
and one more item in the list given to `write_report`.
"""

from torchcaps.report._gather import choose, perturbed, predictions
from torchcaps.report._page import write_report
from torchcaps.report._section import Section
from torchcaps.report.curves import Curve, Curves
from torchcaps.report.perturbations import Drawing, Perturbations
from torchcaps.report.samples import Group, Guess, Sample, Samples
from torchcaps.report.scores import Row, Scores, interval, percent

__all__ = [
    "Curve",
    "Curves",
    "Drawing",
    "Group",
    "Guess",
    "Perturbations",
    "Row",
    "Sample",
    "Samples",
    "Scores",
    "Section",
    "choose",
    "interval",
    "percent",
    "perturbed",
    "predictions",
    "write_report",
]
