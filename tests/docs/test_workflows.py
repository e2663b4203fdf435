"""The workflows cannot run here: they are read, and what they call is there."""

import os
import re
import shlex
import subprocess
import sys
import tomllib

import pytest
import yaml

from tests.docs.commands import EXTRAS, TARGETS
from tests.docs.markdown import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = re.search(r'= "(.+)"', (ROOT / "torchcaps/_version.py").read_text())[1]
PINNED = re.compile(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)")


def read(name):
    return yaml.safe_load((ROOT / ".github/workflows" / name).read_text())


def steps():
    for path in WORKFLOWS:
        for job, facts in yaml.safe_load(path.read_text())["jobs"].items():
            for step in facts["steps"]:
                yield f"{path.name}/{job}", step


@pytest.mark.parametrize(("where", "step"), list(steps()))
def test_every_step_calls_what_there_is(where, step):
    if "uses" in step:
        assert PINNED.fullmatch(step["uses"]), f"{where}: {step['uses']} has no version"
        return
    for line in step["run"].splitlines():
        words = [word for word in shlex.split(line) if not re.match(r"[A-Z_]+=", word)]
        if words[0] == "make":
            assert set(words[1:]) <= set(TARGETS), line
        elif words[:2] == ["python", "-c"]:
            compile(words[2], where, "exec")
        else:
            program = ROOT / words[0]
            assert program.is_file() and os.access(program, os.X_OK), line  # noqa: PT018


def test_every_python_that_the_metadata_names_is_tried():
    tried = read("ci.yml")["jobs"]["all"]["strategy"]["matrix"]["python"]
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert tried == named
    assert PROJECT["requires-python"] == f">={tried[0]}"


def test_the_oldest_torch_is_the_one_that_has_all_we_use():
    """`torch.compiler.is_exporting` came with 2.7; nothing that is used came later."""
    assert "torch>=2.7" in PROJECT["dependencies"]
    assert "test-oldest" in TARGETS
    assert any(step.get("run") == "make test-oldest" for step in read("ci.yml")["jobs"]["oldest"]["steps"])


def test_only_what_is_tagged_is_published():
    released = read("release.yml")
    assert released[True] == {"push": {"tags": ["v*"]}}  # YAML takes `on` for a truth value
    runs = [step.get("run") for step in released["jobs"]["publish"]["steps"]]
    assert runs.index("make test") < runs.index("make dist") < len(runs) - 1


@pytest.mark.parametrize(("tag", "right"), [(f"v{VERSION}", True), (f"v{VERSION}.1", False), ("v0", False)])
def test_a_tag_that_is_not_the_version_is_not_published(tag, right):
    checks = [step["run"] for step in read("release.yml")["jobs"]["publish"]["steps"] if "-c" in step.get("run", "")]
    [check] = checks
    words = [
        sys.executable if word == "python" else tag if word == "$GITHUB_REF_NAME" else word
        for word in shlex.split(check)
    ]
    assert (subprocess.run(words, cwd=ROOT, check=False).returncode == 0) == right


def test_extras_of_the_start_page_are_those_there_are():
    page = (ROOT / "docs/index.md").read_text()
    shown = {name for row in re.findall(r"^\| (`.+?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert shown == EXTRAS.keys() - {"dev", "docs"}


def test_the_version_is_the_same_everywhere():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()
