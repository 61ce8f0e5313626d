"""Processes for Python functions: `pool.py` is the daemon's side, `worker.py` the other."""
