"""`torchcaps data list`: what is here is what has come whole."""

import json

from torchcaps.data._sources import Apt, Npm, Recipe

FROM = Apt("some-package"), Npm("another@1.0")


def test_a_data_set_is_here_once_all_its_files_are(monkeypatch, tmp_path, invoke):
    names = ("none", "half", "whole")
    recipes = {name: Recipe(name, {"images": "", "labels": ""}, FROM, "MIT", 55) for name in names}
    monkeypatch.setattr("torchcaps.data.RECIPES", recipes)
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    for file in ("half/images", "whole/images", "whole/labels"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(b"")
    rows = {row["name"]: row for row in json.loads(invoke("data", "list", "--json").stdout)}
    assert [rows[name]["cached"] for name in (*names, "glyphs")] == [False, False, True, True]
    assert all(rows[name]["sources"] == [source.label for source in FROM] for name in names)
    lines = invoke("data", "list").stdout.splitlines()
    told = {line.split()[0]: line.split()[1:4] for line in lines}
    assert [told[name] for name in names] == [["no", "55", "MIT"], ["no", "55", "MIT"], ["yes", "55", "MIT"]]
    assert told["glyphs"][:2] == ["yes", "–"]
    assert all(sum(line.rstrip().endswith(source.label) for line in lines) == 3 for source in FROM)


def test_what_is_fetched_is_told_on_the_way(monkeypatch, tmp_path, invoke):
    monkeypatch.setenv("TORCHCAPS_DATA", str(tmp_path))

    def obtain(recipe, root, report):
        report(f"asking [some] mirror for {recipe.name}")
        return {"images": b"", "labels": b""}

    monkeypatch.setattr("torchcaps.data.obtain", obtain)
    done = invoke("data", "get", "mnist")
    assert done.exit_code == 0, done.exception
    assert done.stdout == "mnist: 2 files ready\n"
    assert "asking [some] mirror for mnist" in done.stderr
