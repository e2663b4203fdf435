"""The explorer: a page that looks inside capsule networks, served on this machine.

`page/` holds the page, in plain JavaScript modules; everything else answers its questions.
"""

from torchcaps.explorer.app import build
from torchcaps.explorer.gallery import Exhibit, gather
from torchcaps.explorer.serve import serve

__all__ = ["Exhibit", "build", "gather", "serve"]
