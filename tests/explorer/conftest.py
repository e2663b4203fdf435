"""The explorer as people start it, a process of its own on a port that is free, and a real browser to visit it.

The browser is Debian's chromium, driven by playwright.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from torchcaps.explorer import gather

from .browser import Visit, missing

AXE = "axe-core@4.14.0"
COMMAND = [sys.executable, "-c", "from torchcaps.cli import main; main()", "explore", "--no-browser", "--port", "0"]


class Running(NamedTuple):
    address: str
    process: subprocess.Popen

    @property
    def port(self):
        return int(re.search(r":(\d+)/$", self.address).group(1))

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def memory(self):
        """Megabytes that the process holds."""
        kilobytes = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text()).group(1)
        return int(kilobytes) / 1024


@pytest.fixture(scope="session")
def explorer():
    """With no argument: the networks that ship."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            said = process.stdout.readline()
            yield Running(re.search(r"http://\S+/", said).group(), process)
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def gallery():
    return gather()


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium")
    if found is None:
        missing("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, explorer):
    """A fresh visitor; at the end nothing may have gone wrong, and nobody else been asked."""
    contexts = []

    def make(**options):
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 800}, **options))
        contexts[-1].set_default_timeout(30_000)
        visits.append(Visit(contexts[-1], explorer.address))
        return visits[-1]

    visits = []
    yield make
    for context in contexts:
        context.close()
    assert [wrong for each in visits for wrong in each.wrong] == []


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The accessibility checks of axe-core, from the package manager."""
    if shutil.which("npm") is None:
        missing("npm")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(folder), AXE]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        missing(f"{AXE} of npm ({done.stderr.strip()[-200:]})")
    source = (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()

    def violations(page):
        page.evaluate(f"() => {{ {source} }}")
        found = page.evaluate("() => axe.run(document).then(({ violations }) => violations)")
        return [(one["id"], one["nodes"][0]["html"][:160], len(one["nodes"])) for one in found]

    return violations
