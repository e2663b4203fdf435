"""What all tests share: one thread a worker, a fixed seed, and the names that doctests use."""

import jaxtyping
import pytest
import torch

import torchcaps.layers
import torchcaps.types


@pytest.fixture(autouse=True)
def _calm():
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef):
    """What tests share is made before any of them is calm: it must not depend on which test ran before."""
    if fixturedef.scope != "function":
        torch.set_num_threads(1)
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace):
    doctest_namespace.update(torch=torch, nn=torch.nn)
    for module in (torchcaps.layers, torchcaps.types):
        doctest_namespace.update({name: getattr(module, name) for name in dir(module) if name[0].isupper()})


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of a few hundred bytes, so that small tests go through the tiling."""
    monkeypatch.setattr("torchcaps.ops.tiles.TILE_BYTES", 512)


@pytest.fixture
def no_shape_checks():
    """As users run it: bad arguments meet the library's own errors, not the tests' type checker."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
