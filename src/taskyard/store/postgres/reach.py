"""Dialling a server, and why that failed: whether it may pass by itself, or a person has to mend something.

A server that refuses a connection says why in words alone; the driver passes no code on. What the driver and libpq say
themselves is English. What a server says may be in another language: what is not known here is taken for something that
passes, and is told in the server's own words.
"""

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Final

from msgspec import Struct
from psycopg import ProgrammingError

from taskyard.store.port import StoreRefused, StoreUnavailable
from taskyard.store.postgres.session import Session, conninfo_of


class Unreachable(StoreRefused, StoreUnavailable):
    """A hub that runs tries again. One that starts is refused: waiting would not help."""


class Away(Unreachable):
    """It may be there later, so that a hub which starts waits for it too."""


class Unresolved(Away):
    """Its name is not known. That passes while a network comes up, and never if the name is wrong."""


class _Failure(Struct, frozen=True):
    said: re.Pattern[str]
    """By what it is known."""
    error: type[Unreachable]
    sentence: str
    """With the address and what was said."""


# The first that fits. Of several hosts all have their say: what a person has to mend comes before what may pass.
_FAILURES: Final = tuple(
    _Failure(re.compile(said), error, sentence)
    for said, error, sentence in (
        (
            'password authentication failed|no password supplied|role ".*" does not exist',
            Unreachable,
            "{address} does not let us in: {said}. Check user and password in the URL.",
        ),
        (
            r"pg_hba\.conf|authentication failed",
            Unreachable,
            "{address} does not let us in: {said}. Let its pg_hba.conf admit this user, database and machine.",
        ),
        (
            'database ".*" does not exist',
            Unreachable,
            "{address} is not there: {said}. Create the database with `createdb`, or name another in the URL.",
        ),
        (
            "permission denied|not permitted to log in",
            Unreachable,
            "{address} does not let us in: {said}. Grant this role what it lacks, or name another in the URL.",
        ),
        (
            r"does not support SSL|certificate|: invalid (\w+ value|port number)|bad value for",
            Unreachable,
            "{address} cannot be reached in the way that the URL asks for: {said}. Correct the parameters in the URL, "
            "or what the server offers.",
        ),
        (
            "failed to resolve host|could not translate host name",
            Unresolved,
            "{address} is not known under this name: {said}. See that the host in the URL is right, and that this "
            "machine's name service knows it.",
        ),
        (
            "was replaced: it is on timeline",
            Away,
            "{address} is not the server that it was: {said}. Stop the server that was replaced, or have it follow the "
            "other, and see that the URL leads to the one that was promoted.",
        ),
        (
            "session is read-only|server is in hot standby mode",
            Away,
            "{address} cannot be written: {said}. It can be once one of its servers is promoted.",
        ),
        (
            "too many (clients|connections)|connection slots",
            Away,
            "{address} has no connection left for us: {said}. Raise max_connections or the limit of the role, or have "
            "others use fewer.",
        ),
        (
            "the database system is",
            Away,
            "{address} takes no connections at the moment: {said}. It does once its server is ready.",
        ),
        (
            "",
            Away,
            "{address} cannot be reached: {said}. See that the server runs, that host and port in the URL are right, "
            "and that it takes connections from here.",
        ),
    )
)


def connect_or_refuse(
    url: str, *, purpose: str, timeout_s: float, settings: Mapping[str, str] | None = None
) -> Session:
    """A session, or what is wrong with the URL, the server, the password or the database."""
    try:
        return Session(url, purpose=purpose, timeout_s=timeout_s, settings=settings)
    except (StoreUnavailable, ProgrammingError) as error:
        raise unreachable(address_of(url), str(error)) from error


def unreachable(address: str, said: str) -> Unreachable:
    """The error for what was said when this address was dialled."""
    failure = next(each for each in _FAILURES if each.said.search(said))
    return failure.error(failure.sentence.format(address=address, said=said.rstrip(".?")))


def address_of(url: str) -> str:
    """Where a URL leads, without user and password."""
    given = conninfo_of(url)
    hosts = str(given.get("host") or given.get("hostaddr") or "the local socket").split(",")
    ports = str(given.get("port") or 5432).split(",")
    # One port may be said for all hosts, and none for some.
    places = (f"{host}:{port or 5432}" for host, port in zip_longest(hosts, ports, fillvalue=ports[-1]))
    return f"{','.join(places)}/{given.get('dbname', '')}"
