"""Every public name has a docstring; functions, and classes that people build, have an example in it that runs."""

import dataclasses
import inspect

from pages.reference import modules, public

ALL = {f"{module}.{name}": thing for module in modules() for name, thing in public(module).items()}
CALLABLE = {name: thing for name, thing in ALL.items() if inspect.isclass(thing) or inspect.isfunction(thing)}
ELSEWHERE = {  # an example of it would be one of something else
    "torchcaps.measures.Measure": "a protocol; examples/own_measure.py is one",
    "torchcaps.attacks.AutoAttack": "takes a minute; tests/attacks has it",
    "torchcaps.attacks.Attacked": "what `attacked` makes, which has one",
    "torchcaps.explorer.build": "gives an application; tests/explorer has it",
    "torchcaps.explorer.serve": "goes on until somebody stops it",
    "torchcaps.report.report_on": "needs a training; docs/own-images.md makes one",
    "torchcaps.report.write_report": "called by report_on",
    "torchcaps.report.Section": "a protocol",
}


def is_record(thing):
    """What is only given back: a named tuple, a data class, an error."""
    if not inspect.isclass(thing):
        return False
    return issubclass(thing, BaseException | tuple) or dataclasses.is_dataclass(thing)


def test_public_names_have_docstrings():
    assert not [name for name, thing in CALLABLE.items() if len((thing.__doc__ or "").strip()) < 10]


def test_what_people_call_has_an_example():
    called = {name: thing for name, thing in CALLABLE.items() if not is_record(thing)}
    assert {name for name, thing in called.items() if ">>> " not in thing.__doc__} == called.keys() & ELSEWHERE.keys()
    assert ELSEWHERE.keys() <= CALLABLE.keys()


def test_methods_of_public_classes_have_docstrings():
    """But those that a base class explains."""
    bare = [
        f"{name}.{key}"
        for name, thing in CALLABLE.items()
        if inspect.isclass(thing)
        for key, value in vars(thing).items()
        if not key.startswith("_") and inspect.isfunction(value) and not inspect.getdoc(value)
    ]
    assert not [name for name in bare if not name.endswith((".extra_repr", ".forward"))]
