"""Taskyard: a durable, fair task queue for AI agents."""

__version__ = "0.1.0"
