"""Where the cache lies."""

import pytest

from torchcaps._paths import cache_home


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "home/.cache/torchcaps"),
        ({"XDG_CACHE_HOME": "there"}, "there/torchcaps"),
        ({"XDG_CACHE_HOME": "there", "LOCALAPPDATA": "elsewhere"}, "there/torchcaps"),
        ({"LOCALAPPDATA": "elsewhere"}, "elsewhere/torchcaps"),
        ({"XDG_CACHE_HOME": "", "LOCALAPPDATA": ""}, "home/.cache/torchcaps"),
        ({"XDG_CACHE_HOME": "~/own"}, "home/own/torchcaps"),
    ],
)
def test_variables_name_it_and_else_it_is_at_home(variables, expected, tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value if value[:1] in ("", "~") else str(tmp_path / value))
    assert cache_home() == tmp_path / expected
