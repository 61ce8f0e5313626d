"""`taskyard up`: the composition root. Here, and only here, engine, hub, gateway and daemon meet."""

import asyncio
import errno
import ipaddress
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from taskyard.daemon.command.configuration import FILE_NAME
from taskyard.gateway.app import build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.port import Unavailable
from taskyard.gateway.server import GatewayServer
from taskyard.hub import interpreter
from taskyard.hub.await_database import Lobby, once_there, unless_stopped
from taskyard.hub.contradictions import PORT_MAX
from taskyard.hub.databases import database_of
from taskyard.hub.greeting import can_connect, greet
from taskyard.hub.hub import Hub
from taskyard.hub.ids import Mint
from taskyard.hub.link.remote import place_of
from taskyard.hub.local_daemon import LocalDaemon
from taskyard.hub.node import Node, open_node
from taskyard.hub.observe import Log, LogFile, Records
from taskyard.hub.on_file import start_on_file
from taskyard.hub.reload import Reload, stamp_of
from taskyard.hub.settings import BadSettings, FileSettings, core_settings, read_settings, under_profile
from taskyard.hub.traces import Traces, open_traces
from taskyard.hub.yard import (
    ADMIN_KEY,
    DATABASE,
    LOG_FILE,
    CannotStart,
    KeyPolicy,
    UnsafeAddress,
    exposures,
    prepare,
    read_secret,
    welcome_owner,
)
from taskyard.sdk.credentials import data_directory
from taskyard.sdk.standard_error import tell
from taskyard.store.port import StoreBroken, StoreRefused, StoreUnavailable
from taskyard.store.postgres.reach import address_of as address_of_server
from taskyard.store.sqlite.engine import SqliteStore
from taskyard.vocabulary import Profile

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8420
AGAIN: Final = -1
"""In place of an exit code: serve anew, in a new era."""
DAY_S: Final = 86_400.0


def up(
    *,
    data: str | None,
    host: str | None,
    port: int | None,
    profile: str | None,
    config: str | None,
    daemon: bool,
    database: str | None,
    accept_rewind: bool,
    new_admin_key: bool,
) -> int:
    """Run a hub until it is told to stop; the exit code."""
    try:
        directory = data_directory(data).resolve()
        address = address_of(host, port)
        source = FileAndFlags(file_of(directory, config), address[0], profile_of(profile))
        url = database_of(database)
        prepare(directory)
        policy = key_policy_of(url, makes_new=new_admin_key)
        plan = Plan(with_daemon=daemon, database=url, accept_rewind=accept_rewind, key_policy=policy)
        while (code := uvloop.run(_serve(directory, source, address, plan))) == AGAIN:
            plan = replace(plan, accept_rewind=True)
        return code
    except CannotStart as error:
        tell(f"taskyard: {error}\n")
        return error.exit_code
    except (BadSettings, StoreRefused) as error:
        tell(f"taskyard: {error}\n")
        return 1


class Plan(Struct, frozen=True, kw_only=True):
    """What to bring up."""

    with_daemon: bool
    database: str | None
    """The URL of a PostgreSQL database; None: a file in the data directory."""
    accept_rewind: bool
    key_policy: KeyPolicy

    def place_in(self, data: Path) -> str:
        """Where the database is, in the words of a sentence."""
        return (
            f"The database in {data}" if self.database is None else f"The database {address_of_server(self.database)}"
        )


class FileAndFlags(Struct, frozen=True):
    """Where the settings come from: a file, a profile that wins over it, and where the hub is to listen under them."""

    file: Path
    host: str
    profile: Profile | None

    def read(self) -> FileSettings:
        """As they are now. Raises `BadSettings`, or `CannotStart` if this hub must not run under them."""
        settings = under_profile(read_settings(self.file), self.profile)
        refuse_exposure(self.host, settings, self.file)
        return settings


def file_of(data: Path, config: str | None) -> Path:
    """The file that was named must be there; the one in the data directory may be written later."""
    named = config or os.environ.get("TASKYARD_CONFIG")
    if not named:
        return data / FILE_NAME
    if not Path(named).exists():
        raise CannotStart(f"There is no {named}; write it, or leave --config out.")
    return Path(named)


def profile_of(profile: str | None) -> Profile | None:
    """As given, or by the environment; None: as the file says."""
    text = profile or os.environ.get("TASKYARD_PROFILE")
    if text and text not in set(Profile):
        raise CannotStart(f"There is no profile {text!r}: {' or '.join(Profile)}.")
    return Profile(text) if text else None


def key_policy_of(database: str | None, *, makes_new: bool) -> KeyPolicy:
    """Of several hubs on one database only the first makes an admin key by itself; the others are given it."""
    given = os.environ.get(ADMIN_KEY, "").strip() or None
    return KeyPolicy(joins=True, given=given, makes_new=makes_new) if database else KeyPolicy(makes_new=makes_new)


def address_of(host: str | None, port: int | None) -> tuple[str, int]:
    """Where to listen: as told, by the environment, or where nobody else can reach it."""
    host = host or os.environ.get("TASKYARD_HOST") or DEFAULT_HOST
    text = os.environ.get("TASKYARD_PORT")
    if port is None and text is not None:
        if not text.isdecimal() or int(text) > PORT_MAX:
            raise CannotStart(f"TASKYARD_PORT is {text!r}, not a port number.")
        port = int(text)
    return host, DEFAULT_PORT if port is None else port


def refuse_exposure(host: str, settings: FileSettings, file: Path) -> None:
    """Beyond this machine keys cross the network: only behind TLS, and only when that was said."""
    try:
        is_private = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        is_private = host == "localhost"
    if not is_private and not settings.gateway.behind_tls:
        raise UnsafeAddress(
            f"{host} can be reached from other machines, and keys would cross the network in the clear. Put a proxy "
            f"with TLS in front, set behind_tls = true under [gateway] in {file}, or listen on {DEFAULT_HOST}."
        )


async def _serve(data: Path, source: FileAndFlags, address: tuple[str, int], plan: Plan) -> int:
    stopping, told = _signals()
    stamp = stamp_of(source.file)
    settings = source.read()
    log = _open_log(data)
    _warn_of_readers(data, log)
    traces = open_traces(settings.telemetry.otlp_endpoint, log)
    lobby = Lobby(core_settings(settings), _gateway_settings(settings, address), partial(_listen, address=address))
    try:
        begin = partial(_hub, data, settings, log, traces, plan)
        start = partial(_start, data=data, plan=plan, settings=settings, log=log)
        started = await unless_stopped(stopping, _started(begin, start, log, lobby))
    finally:
        await lobby.close()
    if started is None:
        if traces is not None:
            await asyncio.to_thread(traces.close)
        log.say("hub.stopped")
        return 0
    hub, again = started
    app = build_app(hub, _gateway_settings(settings, address))
    server = GatewayServer(app)
    local = LocalDaemon(data)
    try:
        hub.is_prepared = False
        url = await _listen(server, address)
        key = await welcome_owner(hub, data, url, plan.key_policy)
        hub.is_prepared = True
        if key is not None and plan.with_daemon and can_connect(key):
            local.start(url, key.secret)
        greet(data, url, app.door, key, profile=settings.profile, with_daemon=plan.with_daemon)

        def adopt(new: FileSettings) -> None:
            _keep_for(hub, new)
            server.adopt(_gateway_settings(new, address))

        hub.watch(Reload(source, hub, log, now=settings, stamp=stamp, told=told, adopt=adopt).run())
        hub.announce(url)
        log.say("hub.started", url=url, epoch=hub.identity.epoch)
        interpreter.settle()
        await _until_stopped(hub, stopping, again)
    except Unavailable as error:
        raise CannotStart(
            f"{plan.place_in(data)} takes no writes ({error.code}). See that the disk has room."
        ) from None
    finally:
        await local.stop()
        await hub.hand_over()
        await server.stop()
        await hub.stop()
        if traces is not None:
            await asyncio.to_thread(traces.close)
    log.say("hub.stopped")
    return AGAIN if again.is_set() and not stopping.is_set() else 0


def _signals() -> tuple[asyncio.Event, asyncio.Event]:
    """Set by whoever wants it to stop, and by whoever has changed its settings."""
    stopping, told = asyncio.Event(), asyncio.Event()
    for number, event in ((signal.SIGINT, stopping), (signal.SIGTERM, stopping), (signal.SIGHUP, told)):
        asyncio.get_running_loop().add_signal_handler(number, event.set)
    return stopping, told


async def _started(
    begin: Callable[[], Awaitable[Hub | Node]],
    start: Callable[[Hub | Node], Awaitable[asyncio.Event]],
    log: Log,
    lobby: Lobby,
) -> tuple[Hub | Node, asyncio.Event]:
    """A hub that leads, or follows one that does, and what `_start` says of it. That may take as long as the database
    is away."""
    hub = await once_there(begin, log, on_wait=lobby.open)
    try:
        return hub, await start(hub)
    except asyncio.CancelledError:
        await hub.stop()
        raise


async def _start(hub: Hub | Node, data: Path, plan: Plan, settings: FileSettings, log: Log) -> asyncio.Event:
    """The event is set when this process has to serve anew, in a new era."""
    try:
        if isinstance(hub, Hub):
            accepts = settings.cluster.on_rewind == "accept"
            return await start_on_file(hub, data, log, new_era=plan.accept_rewind, accepts=accepts)
        await hub.start(new_era=plan.accept_rewind)
        return asyncio.Event()
    except (StoreUnavailable, StoreBroken) as error:
        raise CannotStart(
            f"{plan.place_in(data)} cannot be read ({error}). Check the disk, then start again."
        ) from None


def _open_log(data: Path) -> Log:
    try:
        log = Log(LogFile(data / LOG_FILE))
    except OSError as error:
        raise CannotStart(f"{data / LOG_FILE} cannot be written ({error.strerror}); remove it.") from error
    logging.getLogger().handlers = [Records(log)]
    return log


def _warn_of_readers(data: Path, log: Log) -> None:
    """Say what other users can still read here: what was ours to close is closed."""
    for exposure in exposures(data):
        tell(f"taskyard: {exposure.sentence}.\n")
        log.say("data.exposed", level="warning", path=str(exposure.path), who=exposure.who, command=exposure.command)


async def _hub(data: Path, settings: FileSettings, log: Log, traces: Traces | None, plan: Plan) -> Hub | Node:
    hub: Hub | Node
    if plan.database is None:
        store = SqliteStore(data / DATABASE, new_cluster_id=f"c_{Mint().id()}")
        hub = Hub(store, core_settings(settings), log, secret=read_secret(data), traces=traces)
    else:
        hub = await _node(data, plan.database, settings, log, traces)
    _keep_for(hub, settings)
    return hub


async def _node(data: Path, database: str, settings: FileSettings, log: Log, traces: Traces | None) -> Node:
    try:
        return await open_node(
            data,
            database,
            core_settings(settings),
            log,
            version=version("taskyard"),
            link=place_of(settings.cluster.link),
            lease_s=settings.cluster.lease_s,
            durability=settings.cluster.durability,
            accepts_rewind=settings.cluster.on_rewind == "accept",
            traces=traces,
        )
    except OSError as error:
        raise CannotStart(
            f"Nothing can listen on {settings.cluster.link} ({error.strerror}); set link under [cluster] in the file."
        ) from error


def _keep_for(hub: Hub | Node, settings: FileSettings) -> None:
    kept = settings.retention
    hub.keep_for(
        archive_after_s=kept.archive_after_days * DAY_S,
        events_s=kept.events_days * DAY_S,
        daemons_s=kept.daemons_days * DAY_S,
    )


def _gateway_settings(settings: FileSettings, address: tuple[str, int]) -> GatewaySettings:
    host, port = address
    gateway = settings.gateway
    return GatewaySettings(host=host, port=port, hosts=gateway.hosts, origins=gateway.origins, auth=settings.auth)


async def _listen(server: GatewayServer, address: tuple[str, int]) -> str:
    """The URL under which the hub now answers."""
    host, port = address
    try:
        await server.start()
    except OSError as error:
        is_taken = error.errno == errno.EADDRINUSE
        advice = "another program has it. Choose another --port" if is_taken else "choose another --host or --port"
        raise CannotStart(f"Nothing can listen on {host}:{port} ({error.strerror}): {advice}.") from error
    return f"http://{_named(host)}:{server.port}"


async def _until_stopped(hub: Hub | Node, stopping: asyncio.Event, again: asyncio.Event) -> None:
    told = [asyncio.ensure_future(event.wait()) for event in (stopping, again)]
    signs: list[asyncio.Future[Any]] = [*told, hub.failure]
    await asyncio.wait(signs, return_when=asyncio.FIRST_COMPLETED)
    for waiting in told:
        waiting.cancel()
    reason = hub.failure.exception() if hub.failure.done() else None
    if reason is not None:
        what = "the store cannot be trusted any more" if isinstance(reason, StoreBroken) else "the hub made a mistake"
        detail = f"{reason}. Check the disk" if isinstance(reason, StoreBroken) else f"{LOG_FILE} says where"
        tell(f"taskyard: {what}: {detail}, then start again; nothing acknowledged is lost.\n")
        # Nothing more may be written or acknowledged, so there is nothing to wait for.
        os._exit(1)


def _named(host: str) -> str:
    """The address as a URL has it; a wildcard is reached by loopback."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "[::1]" if address.version == 6 else DEFAULT_HOST
    return f"[{host}]" if address.version == 6 else host
