"""One HTML page about trained networks, complete in itself: no network, no other files, light and dark.

A page is a list of sections, each plain data with a template of its own. A new section is one file here, one template
and one more item in the list given to `write_report`.
"""

from torchcaps.report._gather import choose, parameters, perturbations, perturbed, predictions, sample_group
from torchcaps.report._gather_health import dead_of, dynamics_of
from torchcaps.report._page import write_report
from torchcaps.report._section import Section
from torchcaps.report.curves import Curve, Curves
from torchcaps.report.differences import Differences
from torchcaps.report.networks import Network, about, others
from torchcaps.report.perturbations import Drawing, Perturbations
from torchcaps.report.runs import Measured, report_on
from torchcaps.report.samples import Group, Guess, Sample, Samples
from torchcaps.report.scores import Row, Scores, interval, percent

__all__ = [
    "Curve",
    "Curves",
    "Differences",
    "Drawing",
    "Group",
    "Guess",
    "Measured",
    "Network",
    "Perturbations",
    "Row",
    "Sample",
    "Samples",
    "Scores",
    "Section",
    "about",
    "choose",
    "dead_of",
    "dynamics_of",
    "interval",
    "others",
    "parameters",
    "percent",
    "perturbations",
    "perturbed",
    "predictions",
    "report_on",
    "sample_group",
    "write_report",
]
