"""What is skipped fails in continuous integration: a test, a whole file, a doctest."""

import os
import re
import subprocess
import sys
from pathlib import Path

FILES = {
    "test_one.py": "import pytest\n\ndef test_skipped():\n    pytest.skip('no card')\n\ndef test_fine():\n    pass\n",
    "test_all.py": "import pytest\npytest.importorskip('no_such_module')\n\ndef test_unseen():\n    pass\n",
    "test_doc.py": "def f():\n    '''\n    >>> 1 / 0  # doctest: +SKIP\n    '''\n",
}
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}


def run(folder, *options):
    command = [sys.executable, "-m", "pytest", "--noconftest", "-c", "/dev/null", "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        [*command, "--doctest-modules", folder], capture_output=True, text=True, env={**os.environ, **ALONE}
    )
    return {
        word: int(count) for count, word in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1]) if word != "in"
    }


def test_nothing_may_be_skipped(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    plain = run(tmp_path)
    assert (plain["passed"], plain["skipped"]) == (1, 4)  # the file once for its tests and once for its doctests
    found = run(tmp_path, "-p", "tests.no_skips", "--continue-on-collection-errors")
    assert "skipped" not in found
    assert found["passed"] == 1
    assert sum(found.get(word, 0) for word in ("failed", "error", "errors")) == 4
    assert 'PYTEST_ADDOPTS="-p tests.no_skips"' in Path(".ci/run").read_text()
