"""The store without a disk: for tests and the simulator, which trust it because it passes the same contract.

It keeps rows *encoded*, as the databases do, and decodes them anew for every reader: a record that the core
goes on changing after its cut can then never look committed. A process's death is `crash`: what was
committed is still there, everything else is gone. Faults are asked for in advance, one commit at a time, so
that a simulated life is the same whenever it is lived again.
"""

from taskyard.store.memory.engine import MemoryStore

__all__ = ["MemoryStore"]
