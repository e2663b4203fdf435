"""Training: one readable loop, checkpoints that survive anything, and a run that can be found again."""

from torchcaps.train.callbacks import CALLBACKS, Callback
from torchcaps.train.ended import unfinished
from torchcaps.train.fitting import fit
from torchcaps.train.run import Run, load_run
from torchcaps.train.settings import Settings
from torchcaps.train.stopping import Stopped

__all__ = ["CALLBACKS", "Callback", "Run", "Settings", "Stopped", "fit", "load_run", "unfinished"]
