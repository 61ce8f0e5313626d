"""`taskyard up`: the composition root. Here, and only here, engine, hub, gateway and daemon meet."""

import asyncio
import gc
import ipaddress
import os
import signal
import sys
from pathlib import Path
from typing import Final, TextIO

import uvloop

from taskyard.gateway.app import build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.server import GatewayServer
from taskyard.hub.hub import Hub
from taskyard.hub.ids import Mint
from taskyard.hub.local_daemon import LocalDaemon
from taskyard.hub.observe import Log
from taskyard.hub.settings import FILE_NAME, BadSettings, FileSettings, core_settings, read_settings
from taskyard.hub.yard import DATABASE, CannotStart, prepare, read_secret, welcome_owner
from taskyard.sdk.credentials import data_directory
from taskyard.store.port import StoreRefused
from taskyard.store.sqlite.engine import SqliteStore

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8420
LOG_FILE: Final = "hub.log"
LOG_BYTES_MAX: Final = 64 * 1024 * 1024
DAY_S: Final = 86_400.0


def up(
    *,
    data: str | None,
    host: str | None,
    port: int | None,
    config: str | None,
    daemon: bool,
    accept_rewind: bool,
) -> int:
    """Run a hub until it is told to stop; the exit code."""
    try:
        directory = data_directory(data).resolve()
        prepare(directory)
        settings = read_settings(Path(config) if config else directory / FILE_NAME)
        address = _address(host, port)
        return uvloop.run(_serve(directory, settings, address, with_daemon=daemon, accept_rewind=accept_rewind))
    except (CannotStart, BadSettings, StoreRefused) as error:
        sys.stderr.write(f"taskyard: {error}\n")
        return 1


def _address(host: str | None, port: int | None) -> tuple[str, int]:
    host = host or os.environ.get("TASKYARD_HOST") or DEFAULT_HOST
    text = os.environ.get("TASKYARD_PORT")
    if port is None and text is not None:
        if not text.isdecimal():
            raise CannotStart(f"TASKYARD_PORT is {text!r}, not a port number.")
        port = int(text)
    return host, DEFAULT_PORT if port is None else port


async def _serve(
    data: Path, settings: FileSettings, address: tuple[str, int], *, with_daemon: bool, accept_rewind: bool
) -> int:
    host, port = address
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    log = Log(open_log(data))
    store = SqliteStore(data / DATABASE, new_cluster_id=f"c_{Mint().id()}")
    hub = Hub(
        store,
        core_settings(settings),
        log,
        secret=read_secret(data),
        archive_after_s=settings.retention.archive_after_days * DAY_S,
    )
    await hub.start(new_era=accept_rewind)
    app = build_app(
        hub,
        GatewaySettings(
            host=host, port=port, hosts=settings.gateway.hosts, origins=settings.gateway.origins, auth=settings.auth
        ),
    )
    server = GatewayServer(app)
    try:
        await server.start()
    except OSError as error:
        await hub.stop()
        raise CannotStart(
            f"Nothing can listen on {host}:{port} ({error.strerror}): another program has it. Choose another --port."
        ) from error
    url = f"http://{_named(host)}:{server.port}"
    owner = await welcome_owner(hub, data, url)
    local = LocalDaemon(data)
    if with_daemon:
        local.start()
    _greet(data, url, app.door.sign_in_link(user_id=owner, base_url=url), with_daemon=with_daemon)
    log.say("hub.started", url=url, epoch=hub.identity.epoch)
    # What was built so far lives as long as the hub: the collector need not look at it again.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    code = await _until_stopped(hub, stopping)
    await local.stop()
    await server.stop()
    await hub.stop()
    log.say("hub.stopped")
    return code


async def _until_stopped(hub: Hub, stopping: asyncio.Event) -> int:
    told = asyncio.create_task(stopping.wait())
    await asyncio.wait((told, hub.failure), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if hub.failure.done() and hub.failure.exception() is not None:
        reason = hub.failure.exception()
        sys.stderr.write(
            f"taskyard: the store cannot be trusted any more: {reason}. Check the disk, then start again.\n"
        )
        # Nothing more may be written or acknowledged, so there is nothing to wait for.
        os._exit(1)
    return 0


def _named(host: str) -> str:
    """The address as a URL has it; a wildcard is reached by loopback."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "[::1]" if address.version == 6 else DEFAULT_HOST
    return f"[{host}]" if address.version == 6 else host


def open_log(data: Path) -> TextIO:
    """The log file; a long one is set aside once at a start."""
    path = data / LOG_FILE
    if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
        path.replace(path.with_suffix(".old.log"))
    return path.open("a", buffering=1024 * 64, encoding="utf-8")


def _greet(data: Path, url: str, link: str, *, with_daemon: bool) -> None:
    lines = [
        f"Taskyard is up at {url}",
        f"  sign in    {link}",
        "             (once, within a few minutes; `taskyard up` prints a new one)",
        f"  data       {data}",
        "  daemon     local, runs the types echo and demo" if with_daemon else "  daemon     none (--no-daemon)",
        "",
        '  try        taskyard submit "hello" --type echo --wait',
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
