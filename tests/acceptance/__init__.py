"""The whole of Taskyard as real processes: what a new user does, and what must hold when processes die."""
