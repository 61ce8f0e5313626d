"""One connection to PostgreSQL, used by one thread at a time, on which every call has an end.

The server ends what takes too long (`statement_timeout`) and what nobody reads any more; the client ends its wait for
a server that says nothing at all, which no setting of the server can. A connection on which a call overran is closed,
since nobody knows what it is in the middle of.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import zip_longest
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, urlencode

import psycopg
from psycopg import capabilities, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import Diagnostic
from psycopg.rows import TupleRow

from taskyard.store.port import StoreRefused
from taskyard.store.postgres.arrays import Blobs, Numbers, Texts, escaped, teach, words
from taskyard.store.postgres.faults import Unconfirmed, translated
from taskyard.store.postgres.servers import USED, dial
from taskyard.store.postgres.statements import SQL, Statement
from taskyard.store.postgres.text import LenientText, read_leniently

Value = str | int | float | bytes | bool | Texts | Numbers | Blobs | None
Row = tuple[Any, ...]
T = TypeVar("T")

CONNECT_S: Final = 3
WAKE_S: Final = 0.1
# How often the driver looks up while it waits, which is how exactly it keeps a deadline.
LAST_WORDS_MAX: Final = 3
CANCEL_S: Final = 1.0
# How long the server may take to hear that a call was given up.
CONFIRMATIONS_MAX: Final = 3
# Each may wait for a standby as long as any call waits.
WARNINGS: Final = "01"
# The class of SQLSTATE, whatever language the server speaks.
PREPARED_MAX: Final = 100
# A commit's statement has a variant for each set of kinds of change. The least used are forgotten.

# Of the connection; what the URL says of these counts. Dead peers are noticed within some ten seconds.
_DIALLED: Final[Mapping[str, str | int]] = {
    "connect_timeout": CONNECT_S,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "client_encoding": "UTF8",
}

# Of the session. What a server does not know, or was not built with, is left out.
_SETTINGS: Final[Mapping[str, str]] = {
    "search_path": "taskyard",
    "idle_in_transaction_session_timeout": "10s",
    # Without a client there is nobody to work for. Checked while a statement runs.
    "client_connection_check_interval": "1s",
    "default_toast_compression": "lz4",
    "jit": "off",
    # Everything has an index; a plan that was made while a table was empty must not be one that walks it.
    "enable_seqscan": "off",
    "TimeZone": "UTC",
}


class _Connection(psycopg.Connection[TupleRow]):
    """A connection whose every wait ends."""

    timeout_s: float = 0.0

    def wait(self, gen: Generator[Any, Any, T], interval: float = WAKE_S, timeout: float | None = None) -> T:
        return super().wait(gen, interval=WAKE_S, timeout=self.timeout_s if timeout is None else timeout)


def _connect(conninfo: str) -> _Connection:
    connection = _Connection.connect(conninfo, autocommit=True, cursor_factory=psycopg.RawCursor)
    connection.timeout_s = CONNECT_S
    return connection


class Session:
    """`purpose` names it in the server's list; `settings` are added to those of every session."""

    def __init__(self, url: str, *, purpose: str, timeout_s: float, settings: Mapping[str, str] | None = None) -> None:
        given = conninfo_of(url)
        self._private_url = url
        self.url = public_url(url)
        """As it was dialled, without what is secret."""
        dialled = {name: value for name, value in _DIALLED.items() if name not in given}
        conninfo = make_conninfo(url, application_name=f"taskyard {purpose}", **dialled)
        with translated():
            self._connection, self._standing = dial(conninfo, _connect)
        self._connection.timeout_s = self._timeout_s = timeout_s
        self._connection.prepared_max = PREPARED_MAX
        self._warning: str | None = None
        """What the server said beside the success of a commit that is not confirmed yet."""
        self._connection.add_notice_handler(self._hear)
        teach(self._connection)
        # The server gets a second more: who waits gives up first, and says so.
        ends = {"statement_timeout": f"{round(timeout_s * 1000) + 1000}ms"}
        try:
            self._configure({**_SETTINGS, **ends, **(settings or {})})
        except BaseException:  # whatever it was, nobody else would close it
            self.close()
            raise

    def _configure(self, settings: Mapping[str, str]) -> None:
        names, values = list(settings), list(settings.values())
        self.rows(SQL["configure_session"], {"names": words(names), "values": words(values)})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_closed(self) -> bool:
        """Whether it is of no use any more. One to a server that was replaced meanwhile is closed by asking."""
        if USED.newer(self._standing):
            self.close()
        return self._connection.closed

    @property
    def announced_pid(self) -> int:
        """Of the server's process, as whoever answered the dial said; a pooler says what it likes."""
        return self._connection.info.backend_pid

    def another(self, *, purpose: str) -> "Session":
        """A second session to the same place."""
        return Session(self._private_url, purpose=purpose, timeout_s=self._timeout_s)

    def rows(
        self, statement: Statement, parameters: Mapping[str, Value] | None = None, *, prepare: bool = False
    ) -> list[Row]:
        """All that the statement gives back."""
        cursor = self._run(statement, parameters or {}, prepare=prepare)
        if not cursor.description:
            return []
        try:
            return cursor.fetchall()
        except UnicodeDecodeError:
            return read_leniently(cursor)

    def change(self, statement: Statement, parameters: Mapping[str, Value] | None = None) -> int:
        """How many rows the statement wrote."""
        return self._run(statement, parameters or {}, prepare=False).rowcount

    def _run(self, statement: Statement, parameters: Mapping[str, Value], *, prepare: bool) -> psycopg.Cursor[TupleRow]:
        cursor = self._execute(statement, parameters, prepare=prepare)
        if self._warning is not None:
            self._confirm_what_was_committed()
        return cursor

    def _execute(
        self, statement: Statement, parameters: Mapping[str, Value], *, prepare: bool
    ) -> psycopg.Cursor[TupleRow]:
        values = [_sent(parameters[name]) for name in statement.names]
        with self._closing_what_is_lost():
            return self._connection.execute(statement.text, values, prepare=prepare, binary=True)

    def _hear(self, notice: Diagnostic) -> None:
        if (notice.sqlstate or "").startswith(WARNINGS):
            self._warning = notice.message_primary or "a warning"

    def _confirm_what_was_committed(self) -> None:
        """The warning may be of a statement within a transaction: then the commit is still to come."""
        if self._connection.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            self.confirm()

    def confirm(self) -> None:
        """Return once all that this server wrote until now is as durable as a commit has to be (`durability.py`).
        Raises `Unconfirmed` if that cannot be said."""
        for _ in range(CONFIRMATIONS_MAX):
            self._warning = None
            written = self._execute(SQL["write_to_confirm"], {}, prepare=False).rowcount
            if written and self._warning is None:
                return
        warning, self._warning = self._warning, None
        raise Unconfirmed(f"it is written on this server, and no standby has confirmed it: {warning}")

    def stream(self, statement: Statement) -> Iterator[Row]:
        """Row by row, of however many; nothing else may be asked before they are all read."""
        with self._closing_what_is_lost(), self._connection.cursor() as cursor:
            cursor.adapters.register_loader("text", LenientText)
            yield from cursor.stream(statement.text, binary=True)

    @property
    def now_ms(self) -> int:
        """The database's clock."""
        now_ms: int = self.rows(SQL["read_clock"])[0][0]
        return now_ms

    def run_script(self, script: str) -> None:
        """Several statements without parameters, in the transaction that is open."""
        with self._closing_what_is_lost():
            self._connection.execute(script.encode())
        if self._warning is not None:
            self._confirm_what_was_committed()

    @contextmanager
    def _closing_what_is_lost(self) -> Iterator[None]:
        connection = self._connection
        with translated(connection):
            try:
                yield
            except psycopg.OperationalError as error:
                if error.sqlstate is None or connection.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                    self._give_up()
                raise

    def _give_up(self) -> None:
        """Close it. If the server still works at something it is told to stop: a commit that waits for a standby looks
        neither at the clock nor whether its client is there, and keeps its locks as long as it waits."""
        connection = self._connection
        if connection.pgconn.status == pq.ConnStatus.OK and capabilities.has_cancel_safe():
            with suppress(psycopg.Error, OSError):
                connection.cancel_safe(timeout=CANCEL_S)
        connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is done inside, or nothing of it; if the connection is lost meanwhile, one of the two."""
        self.run_script("BEGIN")
        try:
            yield
        except BaseException:  # whatever is raised inside, nothing of it stays
            if not self._connection.closed:
                self.run_script("ROLLBACK")
            raise
        self.run_script("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one commit."""
        self.run_script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            if not self._connection.closed:
                self.run_script("COMMIT")

    @contextmanager
    def answered_within(self, timeout_s: float) -> Iterator[None]:
        """Another wait than usual for the server's answers."""
        self._connection.timeout_s = timeout_s
        try:
            yield
        finally:
            self._connection.timeout_s = self._timeout_s

    @contextmanager
    def patient(self, timeout_s: float) -> Iterator[None]:
        """A longer wait than usual, inside a transaction."""
        self.rows(SQL["set_statement_timeout"], {"timeout": f"{round(timeout_s * 1000)}ms"})
        with self.answered_within(timeout_s):
            yield

    def bound_locks(self, timeout_s: float, *, is_local: bool) -> None:
        """Wait no longer than this for a lock, until the transaction ends or from now on."""
        timeout = f"{max(1, round(timeout_s * 1000))}ms"
        self.rows(SQL["set_lock_timeout"], {"timeout": timeout, "is_local": is_local})

    @property
    def has_ended(self) -> bool:
        """Whether the other side has closed a connection that nobody uses at the moment; asks nobody."""
        if self.is_closed:
            return True
        connection = self._connection.pgconn
        try:
            # The server's last words come before the end itself.
            with DefaultSelector() as selector:
                selector.register(connection.socket, EVENT_READ)
                for _ in range(LAST_WORDS_MAX):
                    if selector.select(0):
                        connection.consume_input()
        except (psycopg.Error, OSError):
            return True
        return connection.status != pq.ConnStatus.OK

    def close(self) -> None:
        self._connection.close()


def _sent(value: Value) -> Value:
    # An enum of words is sent as its word, which the driver would not do by itself.
    return escaped(str(value)) if isinstance(value, str) else value


def conninfo_of(url: str) -> dict[str, Any]:
    """What a URL says, without dialling it. The message does not repeat it: it may hold a password."""
    try:
        return conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise StoreRefused(
            "The database URL cannot be read. It has the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE; "
            "special characters in the password are written as %XX."
        ) from error


_SECRET: Final = frozenset({"password", "sslpassword"})


def public_url(url: str) -> str:
    """The same URL without what is secret in it: for messages, and to be typed again."""
    given = {name: str(value) for name, value in conninfo_of(url).items() if name not in _SECRET}
    user, database = given.pop("user", ""), given.pop("dbname", "")
    hosts, ports = given.pop("host", "").split(","), given.pop("port", "").split(",")
    # One port may be said for all hosts.
    places = zip_longest(hosts, ports, fillvalue=ports[-1])
    where = ",".join(_named(host) + (f":{port}" if port else "") for host, port in places)
    named = f"{quote(user, safe='')}@" if user else ""
    more = f"?{urlencode(given, quote_via=quote)}" if given else ""
    return f"postgresql://{named}{where}/{quote(database, safe='')}{more}"


def _named(host: str) -> str:
    return f"[{host}]" if ":" in host else quote(host, safe="")
