"""What SQLite's errors mean to a hub.

A full disk or a lock passes: the batch is rolled back and the hub tries again later. An I/O error does not:
after a failed fsync nobody knows what is on disk, and a second one may succeed without having written a
thing. What is in neither list is a bug and stays what it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import apsw

from taskyard.store.port import RecordDamaged, StoreBroken, StoreUnavailable

PASSING: Final = (apsw.FullError, apsw.BusyError, apsw.LockedError, apsw.NoMemError, apsw.CantOpenError)
BREAKING: Final = (
    *(apsw.IOError, apsw.CorruptError, apsw.NotADBError, apsw.ReadOnlyError),
    *(apsw.PermissionsError, apsw.ProtocolError, apsw.FormatError),
)


@contextmanager
def translated() -> Iterator[None]:
    """Raise the port's errors for SQLite's."""
    try:
        yield
    except PASSING as error:
        raise StoreUnavailable(str(error)) from error
    except BREAKING as error:
        raise StoreBroken(str(error)) from error
    except UnicodeDecodeError as error:
        # We only write valid UTF-8.
        raise RecordDamaged(f"a text in the database is not UTF-8: {error}") from error
