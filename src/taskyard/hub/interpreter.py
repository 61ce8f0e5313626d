"""How the interpreter is set for a hub: what it need not collect, and how threads take turns."""

import gc
import sys
from typing import Final

SWITCH_S: Final = 0.000_01
# How long a thread that wants the interpreter waits for the one that has it. The default of 5 ms is longer than most
# commits: the writer would stand still while the loop decides. What it gains is in bench/README.md: a few per cent.


def settle() -> None:
    """Everything is built. What is garbage goes; the rest stays out of every later collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    sys.setswitchinterval(SWITCH_S)


def settle_again() -> None:
    """The state was loaded anew: the one before it was to live as long as the hub, and does not."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
        gc.freeze()
