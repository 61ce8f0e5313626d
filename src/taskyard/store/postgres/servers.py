"""Which of the servers that a URL names is used: the one that was promoted last.

An old primary that comes back can be written like the promoted one, and stands first in the URL as often as not. They
are told apart by their timelines, which PostgreSQL numbers: each promotion begins a higher one. So all servers of a URL
are dialled at once and the highest timeline wins; and who has used one goes back to no lower one of the same cluster.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import Final, Generic, NamedTuple, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from taskyard.store.postgres.statements import SQL

C = TypeVar("C", bound=psycopg.Connection[TupleRow])

OTHERS_S: Final = 0.3
"""How long the other servers have to answer when one that can be written has."""
SERVERS_MAX: Final = 16
UNRESOLVED: Final = "failed to resolve host"
"""So the driver says it."""


class Standing(NamedTuple):
    """Where a server stands in the history of its cluster."""

    timeline: int = 0
    """0: it is a standby, or does not tell."""
    cluster: str = ""


class Timelines:
    """The highest that this process has used, of each cluster."""

    def __init__(self) -> None:
        self._highest: dict[str, int] = {}
        self._lock = Lock()

    def note(self, standing: Standing) -> None:
        if standing.timeline:
            with self._lock:
                highest = self._highest.get(standing.cluster, 0)
                self._highest[standing.cluster] = max(highest, standing.timeline)

    def newer(self, standing: Standing) -> int:
        """One that was promoted after this; 0: none was."""
        highest = self._highest.get(standing.cluster, 0)
        return highest if 0 < standing.timeline < highest else 0


USED: Final = Timelines()


class Dialled(NamedTuple, Generic[C]):
    connection: C
    standing: Standing


def dial(conninfo: str, connect: Callable[[str], C]) -> Dialled[C]:
    """A connection to the newest of the servers. Raises `psycopg.OperationalError` with what each of them said."""
    places = _places(conninfo)
    dialled = _dial_one(conninfo, connect) if len(places) == 1 else _dial_all(places, connect)
    USED.note(dialled.standing)
    return dialled


def _places(conninfo: str) -> list[str]:
    """The same, once for each server. What does not fit together is left to the driver to refuse."""
    given = conninfo_to_dict(conninfo)
    lists = {name: str(given[name]).split(",") for name in ("host", "hostaddr", "port") if given.get(name)}
    count = max((len(each) for each in lists.values()), default=1)
    # One port may be said for all hosts.
    lists = {name: each * count if name == "port" and len(each) == 1 else each for name, each in lists.items()}
    if count == 1 or any(len(each) != count for each in lists.values()):
        return [conninfo]
    rows = zip(*lists.values(), strict=True)
    return [make_conninfo(conninfo, **dict(zip(lists, row, strict=True))) for row in rows][:SERVERS_MAX]


def _dial_one(conninfo: str, connect: Callable[[str], C]) -> Dialled[C]:
    connection = connect(conninfo)
    try:
        standing = _standing_of(connection)
        _refuse_replaced(connection, standing)
    except BaseException:  # whatever it was, nobody else would close it
        connection.close()
        raise
    return Dialled(connection, standing)


def _refuse_replaced(connection: psycopg.Connection[TupleRow], standing: Standing) -> None:
    newer = USED.newer(standing)
    if newer:
        raise psycopg.OperationalError(
            f"the server at {connection.info.host}:{connection.info.port} was replaced: it is on timeline "
            f"{standing.timeline}, and timeline {newer} was used before"
        )


def _dial_all(places: list[str], connect: Callable[[str], C]) -> Dialled[C]:
    pool = ThreadPoolExecutor(len(places), thread_name_prefix="dial")
    asked = [pool.submit(_dial_one, place, connect) for place in places]
    pool.shutdown(wait=False)
    taken: Dialled[C] | None = None
    try:
        _await_answers(asked)
        answered = [each.result() for each in asked if each.done() and each.exception() is None]
        # Of equal ones the first in the URL.
        taken = max(answered, key=lambda each: each.standing.timeline, default=None)
        if taken is None:
            raise psycopg.OperationalError(_said_by(asked))
        return taken
    finally:
        for each in asked:
            each.add_done_callback(lambda done: _hang_up(done, unless=taken))


def _await_answers(asked: list[Future[Dialled[C]]]) -> None:
    """Until all have answered; or one that can be written has, and the others had a moment more."""
    waiting = {*asked}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        if any(_can_be_written(each) for each in done):
            wait(waiting, timeout=OTHERS_S)
            return


def _can_be_written(dialled: Future[Dialled[C]]) -> bool:
    return dialled.exception() is None and dialled.result().standing.timeline > 0


def _said_by(asked: Iterable[Future[Dialled[C]]]) -> str:
    said = [str(each.exception()) for each in asked]
    # A name that is not known counts if no other is.
    return "; ".join([each for each in said if UNRESOLVED not in each] or said)


def _hang_up(dialled: Future[Dialled[C]], *, unless: Dialled[C] | None) -> None:
    if dialled.exception() is None and dialled.result() is not unless:
        dialled.result().connection.close()


def _standing_of(connection: psycopg.Connection[TupleRow]) -> Standing:
    try:
        row = connection.execute(SQL["read_timeline"].text, binary=True).fetchone()
    except psycopg.Error:
        if connection.closed:
            raise
        # A service that keeps this to itself looks after its own failovers.
        return Standing()
    return Standing() if row is None else Standing(*row)
