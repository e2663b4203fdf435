"""Measures as the bench asks for them: by name, with options, giving numbers that a verdict can rest on."""

from torchcaps.bench.judges.accuracy import accuracy
from torchcaps.bench.judges.compactness import compactness
from torchcaps.bench.judges.cost import cost
from torchcaps.bench.judges.course import course
from torchcaps.bench.judges.descent import descent
from torchcaps.bench.judges.drawn import drawn
from torchcaps.bench.judges.formulas import formulas
from torchcaps.bench.judges.growth import growth
from torchcaps.bench.judges.invariance import invariance
from torchcaps.bench.judges.iterations import iterations
from torchcaps.bench.judges.layer_sizes import layer_sizes
from torchcaps.bench.judges.layers import layers
from torchcaps.bench.judges.onset import onset
from torchcaps.bench.judges.parameters import parameters
from torchcaps.bench.judges.response import response
from torchcaps.bench.judges.robust import transferred, universal
from torchcaps.bench.judges.starvation import starvation
from torchcaps.bench.judges.step_time import step_time
from torchcaps.bench.judges.symmetry import symmetry
from torchcaps.bench.judges.trajectory import trajectory
from torchcaps.bench.judges.trees import mean_tree, trees
from torchcaps.bench.judges.validation import validation
from torchcaps.bench.subject import Judge

JUDGES: dict[str, Judge] = {
    "accuracy": accuracy,
    "compactness": compactness,
    "cost": cost,
    "course": course,
    "descent": descent,
    "drawn": drawn,
    "formulas": formulas,
    "growth": growth,
    "invariance": invariance,
    "iterations": iterations,
    "layer_sizes": layer_sizes,
    "layers": layers,
    "mean_tree": mean_tree,
    "onset": onset,
    "parameters": parameters,
    "response": response,
    "starvation": starvation,
    "step_time": step_time,
    "symmetry": symmetry,
    "trajectory": trajectory,
    "transferred": transferred,
    "trees": trees,
    "universal": universal,
    "validation": validation,
}
