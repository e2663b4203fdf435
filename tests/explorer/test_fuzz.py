"""Requests made up from the server's own description of itself: no answer is a failure of the server's."""

import json
import re
import subprocess
import sys

import httpx

from .ask import picture

SECONDS = 45


def test_no_made_up_request_makes_the_server_fail(explorer, gallery, tmp_path):
    """Names and pictures are made up too, but half of them are real, so that the networks are reached."""
    schema = httpx.get(f"{explorer.address}openapi.json").json()
    real = picture(gallery["chen2019/lenet"])
    known = {"model": list(gallery), "beside": list(gallery), "pixels": [real["pixels"]], "shape": [real["shape"]]}
    for made in schema["components"]["schemas"].values():
        for name, values in known.items():
            if name in made.get("properties", {}):
                made["properties"][name] = {"anyOf": [{"enum": values}, {"enum": values}, made["properties"][name]]}
    for path in schema["paths"].values():
        for parameter in (p for operation in path.values() for p in operation.get("parameters", ())):
            parameter["schema"] = {"anyOf": [{"enum": list(gallery)}, parameter["schema"]]}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
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
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    tested = int(re.search(r"(\d+) generated, (\d+) passed", done.stdout).group(2))
    print(f"{tested} requests made up, none failed")
    assert tested > 100
    assert httpx.post(f"{explorer.address}api/look", json=real).status_code == 200
