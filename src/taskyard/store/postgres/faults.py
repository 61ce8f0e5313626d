"""What PostgreSQL's errors mean to a hub.

A server that is gone, full, busy or read-only passes: the hub tries again later. A page or a file that it cannot read
does not: what a hub acts upon may be missing. What is in neither list is a bug and stays what it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from taskyard.store.port import StoreBroken, StoreUnavailable

# Classes of SQLSTATE, by their first two letters, and single ones.
_PASSING: Final = (
    *("08", "53", "57"),  # the connection, resources, an operator's intervention
    *("40001", "40P01"),  # a conflict between transactions
    *("25006", "25P03", "25P04"),  # a server that became a replica; a transaction that took too long
    *("28", "3D"),  # no longer let in, or the database is gone: an operator may put it back
)
_BREAKING: Final = ("XX001", "XX002", "58")
MISFIT: Final = "TY001"
"""Raised by `must_be`: the rows of a batch do not fit the tables."""


class Gone(StoreUnavailable):
    """The connection was lost: whether a commit that was under way happened, it does not tell."""


class Unconfirmed(StoreUnavailable):
    """It stands on this server, and no standby has confirmed it: a failover may lose it."""


class Busy(StoreUnavailable):
    """Somebody holds a lock for longer than we wait."""


@contextmanager
def translated(connection: "psycopg.Connection[object] | None" = None) -> Iterator[None]:
    """Raise the port's errors for PostgreSQL's."""
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        if (connection is not None and connection.closed) or _is_lost(error):
            raise Gone(_said(error)) from error
        if isinstance(error, psycopg.errors.LockNotAvailable):
            raise Busy(_said(error)) from error
        if state == MISFIT:
            raise AssertionError(_said(error)) from error
        if state.startswith(_BREAKING):
            raise StoreBroken(_said(error)) from error
        if state.startswith(_PASSING):
            raise StoreUnavailable(_said(error)) from error
        raise


def _is_lost(error: psycopg.Error) -> bool:
    """Without a code the driver itself noticed; with these the server said that it ends the session."""
    return isinstance(error, psycopg.OperationalError) and (
        error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))
    )


def _said(error: psycopg.Error) -> str:
    """The server's own words. The driver puts the host and the user before them, never the password."""
    return error.diag.message_primary or " ".join(str(error).split())
