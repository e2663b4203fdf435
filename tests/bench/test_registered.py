"""Names that a user registers change nothing that is committed."""

import subprocess
import sys
from pathlib import Path

from torchcaps.bench.papers import artefacts
from torchcaps.bench.verify import verify

RESULTS = Path(__file__).parents[2] / "results"
REGISTERED = """
import sys
from pathlib import Path
from torchcaps.routing import Uniform, register_routing

register_routing("mine", Uniform)

from torchcaps.bench.papers import artefacts
from torchcaps.bench.verify import verify
from torchcaps.bench.freeze import thawed

every = list(artefacts().values())
print("\\n".join([*verify(every, Path(sys.argv[1])), *thawed(every)]))
"""


def test_a_registered_routing_changes_no_verdict():
    """In a process of its own, since the bench's artefacts are made as they are imported."""
    done = subprocess.run(
        [sys.executable, "-c", REGISTERED, str(RESULTS)], check=True, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines() == (verify(list(artefacts().values()), RESULTS) or [""])
