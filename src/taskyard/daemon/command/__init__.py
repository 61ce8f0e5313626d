"""Agents that are programs: what runs, what it is given, and what its end means. `agent.py` runs one."""
