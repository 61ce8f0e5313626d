"""SQLite by `apsw`: one process, one file, WAL, every commit on disk before it is told."""

from taskyard.store.sqlite.engine import SqliteStore

__all__ = ["SqliteStore"]
