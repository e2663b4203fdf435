"""`torchcaps explore`: what is asked for reaches the server, which stands on this machine alone."""

import ipaddress
import sys
from types import ModuleType
from unittest.mock import Mock

import pytest


@pytest.fixture
def serve(monkeypatch):
    module = ModuleType("torchcaps.explorer")
    module.serve = Mock()
    monkeypatch.setitem(sys.modules, "torchcaps.explorer", module)
    return module.serve


def test_options_reach_the_server(serve, invoke):
    assert invoke("explore", "run", "other", "--port", 0, "--host", "0.0.0.0", "--no-browser").exit_code == 0
    assert serve.call_args.args == (["run", "other"],)
    asked = {name: serve.call_args.kwargs[name] for name in ("host", "port", "browser")}
    assert asked == {"host": "0.0.0.0", "port": 0, "browser": False}


def test_nobody_else_is_let_in_unless_it_is_asked_for(serve, invoke):
    assert invoke("explore").exit_code == 0
    assert serve.call_args.args == ([],)
    assert ipaddress.ip_address(serve.call_args.kwargs["host"]).is_loopback


@pytest.mark.parametrize(("name", "kind"), [("fastapi", ValueError), ("torchcaps.explorer.app", ModuleNotFoundError)])
def test_a_missing_extra_is_a_mistake_and_a_missing_file_a_fault(name, kind, monkeypatch, invoke):
    class Missing(ModuleType):
        def __getattr__(self, _):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setitem(sys.modules, "torchcaps.explorer", Missing("torchcaps.explorer"))
    error = invoke("explore").exception
    assert type(error) is kind
    assert (str(error) == "the explorer needs fastapi: pip install 'torchcaps[explorer]'") == (kind is ValueError)
