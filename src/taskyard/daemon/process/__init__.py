"""Processes that a daemon starts, and never leaves behind. `processes.py` is the door; how it works, in ADR 19."""
