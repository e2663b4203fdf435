"""What an artefact says it cuts at a scale is what it cuts."""

import re

import pytest

from torchcaps.bench.papers import artefacts

BUDGETS = {f"{name} {scale}": budget for name, one in artefacts().items() for scale, budget in one.budgets.items()}


def numbers(budget, what):
    """Those that its sentences name, such as the 50 of '50 test images'."""
    found = re.findall(rf"([\d,]+) {what}", "; ".join(budget.cuts))
    return {int(number.replace(",", "")) for number in found}


@pytest.mark.parametrize("name", [name for name, budget in BUDGETS.items() if numbers(budget, "test images")])
def test_as_many_test_images_as_are_told(name):
    told, measures = numbers(BUDGETS[name], "test images"), BUDGETS[name].measures.values()
    assert told <= {options["count"] for options in measures if "count" in options}


@pytest.mark.parametrize("name", [name for name, budget in BUDGETS.items() if numbers(budget, "steps")])
def test_as_many_steps_as_are_told(name):
    budget = BUDGETS[name]
    set_ = {given["steps"] for given in (budget.settings, *budget.rows.values()) if "steps" in given}
    assert numbers(budget, "steps") <= set_


def test_there_are_some():
    assert sum(bool(numbers(budget, "test images")) for budget in BUDGETS.values()) > 10
