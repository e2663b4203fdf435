"""What there is: every artefact with its claims as sentences, and the stored verdict of each by scale."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchcaps.bench.artefact import SCALES, Artefact
from torchcaps.bench.summary import stored


def listing(artefacts: Sequence[Artefact], root: Path) -> list[dict[str, Any]]:
    """For each artefact id, title, paper, kind and claims; a claim has id, sentence and verdicts by scale."""
    known = {scale: stored(root, scale) for scale in SCALES}
    words = {
        (scale, name, claim["id"]): claim["word"]
        for scale, found in known.items()
        for name, one in found.items()
        for claim in one["claims"]
    }
    return [
        {
            "id": artefact.id,
            "title": artefact.title,
            "paper": artefact.paper,
            "kind": artefact.kind,
            "claims": [
                {
                    "id": claim,
                    "sentence": sentence,
                    "verdicts": {s: words[s, artefact.id, claim] for s in SCALES if (s, artefact.id, claim) in words},
                }
                for claim, sentence in artefact.sentences.items()
            ],
        }
        for artefact in artefacts
    ]
