"""Requests made up from the server's own description of itself: no answer is a failure of the server's."""

import json
import subprocess
import sys
from collections import Counter

import httpx

from .ask import picture

SECONDS = 45


def described(address, gallery):
    """The server's schema, with names of networks that are there, and pictures of which some fit their shape."""
    schema = httpx.get(f"{address}openapi.json").json()
    names, real = list(gallery), picture(gallery["chen2019/lenet"])
    pixels, shapes = [real["pixels"], "AAAA"], [real["shape"], [1, 1, 3], [3, 28, 28]]
    known = {"model": names, "beside": names, "pixels": pixels, "second": [None, real["pixels"]], "shape": shapes}
    for made in schema["components"]["schemas"].values():
        fields = made.get("properties", {})
        fields |= {name: {"enum": values} for name, values in known.items() if name in fields}
    for path in schema["paths"].values():
        for parameter in (p for operation in path.values() for p in operation.get("parameters", ())):
            parameter["schema"] = {"enum": names}
    return schema


def test_no_made_up_request_makes_the_server_fail(explorer, gallery, tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(described(explorer.address, gallery)))
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "run",
        str(tmp_path / "schema.json"),
        "--url",
        explorer.address,
    ]
    command += ["--checks", "not_a_server_error", "--phases", "coverage,fuzzing", "--max-time", str(SECONDS)]
    command += ["--max-examples", "60", "--seed", "1", "--no-color", "--no-shrink", "--warnings", "off"]
    command += ["--report-har-path", str(tmp_path / "asked.har")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    asked = json.loads((tmp_path / "asked.har").read_text())["log"]["entries"]
    answers = Counter((one["request"]["url"].split("/")[4], one["response"]["status"]) for one in asked)
    print(
        f"{len(asked)} requests made up, none failed; looks by status:",
        {s: n for (w, s), n in answers.items() if w == "look"},
    )
    assert answers["look", 200] >= 5
    assert answers["look", 422] >= 5
