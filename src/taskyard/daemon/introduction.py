"""How a daemon introduces itself: who it is, what it can do, and what it still holds."""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from msgspec import Struct

from taskyard.daemon.attempt import Attempt
from taskyard.daemon.ledger import Ledger
from taskyard.daemon.orders import Key
from taskyard.vocabulary import InventoryState, OnLoss
from taskyard.wire.frames import PROTOCOL, Heartbeat, Hello, Item, Welcome

SPOOL_BYTES_MAX: Final = 256 * 1024 * 1024
# In memory as well as on disk: what the hub has not acknowledged is resent from memory.
INVENTORY_MAX: Final = 20_000
# About 80 bytes each, and `hello` is one frame of at most 4 MiB. Outcomes beyond it are told unasked.


class Settings(Struct, frozen=True, kw_only=True):
    name: str
    boot_id: str
    """New for each process: it tells the hub that what is not listed has died."""
    slots: int = 5
    shared: bool = False
    ephemeral: bool = False
    """Of a machine that does not come back: the hub is to forget it when it is gone."""
    capabilities: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    memory_mb: int | None = None
    version: str = ""
    spool_bytes_max: int = SPOOL_BYTES_MAX
    on_loss: OnLoss = OnLoss.CONTINUE
    """Exclusive work is never continued, since another daemon may get it."""


def hello(settings: Settings, ledger: Ledger, live: Mapping[Key, Attempt]) -> Hello:
    inventory = [Item(*key, attempt.state) for key, attempt in live.items()]
    room = max(0, INVENTORY_MAX - len(inventory))
    inventory += [Item(*key, InventoryState.ENDED) for key in islice(ledger.ended, room)]
    return Hello(
        protocol=PROTOCOL,
        boot_id=settings.boot_id,
        name=settings.name,
        daemon_id=ledger.daemon_id,
        shared=settings.shared,
        capabilities=list(settings.capabilities),
        models=list(settings.models),
        types=list(settings.types),
        max_concurrent_tasks=settings.slots,
        memory_mb=settings.memory_mb,
        version=settings.version,
        seen=ledger.seen,
        ephemeral=settings.ephemeral,
        inventory=inventory,
    )


def heartbeat(settings: Settings, memory_free_mb: int | None, ledger: Ledger, live: Mapping[Key, Attempt]) -> Heartbeat:
    """It lists what is accepted or running, as far as the hub can know.

    A heartbeat may overtake outcomes that wait for their turn to be told again. Without their attempts in its
    list, the hub would call lost what has succeeded.
    """
    running = [Item(*key, attempt.state) for key, attempt in live.items()]
    running += [Item(*key) for key in islice(ledger.not_yet_told(), INVENTORY_MAX)]
    return Heartbeat(len(live) / settings.slots, memory_free_mb, running)


def objection_to(welcome: Welcome, ledger: Ledger) -> str | None:
    """Why this daemon cannot work for the hub that welcomes it."""
    if welcome.protocol != PROTOCOL:
        return f"the hub speaks protocol {welcome.protocol}, this daemon speaks {PROTOCOL}"
    if ledger.ended and ledger.seen is not None and ledger.seen.cluster_id != welcome.cluster_id:
        # It would say "forget" of results which are owed to another one.
        return (
            f"{len(ledger.ended)} results here are owed to another hub than {welcome.cluster_id}: "
            "connect to that one, or use another data directory"
        )
    return None
