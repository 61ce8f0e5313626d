"""`taskyard status --all`: how everybody's tasks stand, for an admin."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from taskyard.cli import output
from taskyard.vocabulary import EVERYBODY

if TYPE_CHECKING:
    from taskyard.sdk.answers import HeldOfUser
    from taskyard.sdk.client import Client
    from taskyard.sdk.records import DaemonRecord, QueueRecord, QueueStatus, UserRecord

HELD_MAX: Final = 2


class UserStanding(Struct):
    """One user's part."""

    user: "UserRecord"
    queue_status: "QueueStatus"
    held_by: "list[HeldOfUser]"
    """The hub says it of what holds back the most."""

    @property
    def tasks(self) -> int:
        return self.queue_status.running + self.queue_status.pending


class Everybody(Struct):
    """Everything that is told, and with --json as it is."""

    hub: str
    users: list[UserStanding]
    """Who has the most tasks first."""
    queues: "list[QueueRecord]"
    daemons: "list[DaemonRecord]"


def found_by(client: "Client") -> Everybody:
    from taskyard.sdk import requests
    from taskyard.sdk.records import QueueStatus
    from taskyard.sdk.request import on_behalf

    users, held = client.users(usage=True), client.held()
    standings = [
        UserStanding(
            replace(user, usage=None),
            user.usage or QueueStatus(),
            [one for one in held if one.user_id == user.id],
        )
        for user in users
    ]
    return Everybody(
        client.credentials.hub,
        sorted(standings, key=lambda one: (-one.tasks, one.user.name)),
        client.call(on_behalf(requests.queues(), EVERYBODY)),
        client.call(on_behalf(requests.daemons(), EVERYBODY)),
    )


def tell(found: Everybody) -> None:
    """Users with nothing to do are counted, not listed."""
    running = sum(one.queue_status.running for one in found.users)
    pending = sum(one.queue_status.pending for one in found.users)
    online = sum(daemon.status != "offline" for daemon in found.daemons)
    slots = sum(daemon.max_concurrent_tasks for daemon in found.daemons if daemon.status != "offline")
    output.say(f"hub      {found.hub}")
    output.say(f"tasks    {running} running, {pending} pending")
    output.say(f"daemons  {online} of {len(found.daemons)} connected, with {slots} slots")
    busy = [one for one in found.users if one.tasks]
    if busy:
        output.say("")
        output.table(("USER", "PLAN", "RUNNING", "PENDING", "HOURS", "HELD BACK BY"), [_row(one) for one in busy])
    if idle := len(found.users) - len(busy):
        output.note(f"Users with nothing running or pending: {idle}.")
    if any(one.queue_status.pending and not one.held_by for one in busy):
        output.note("Where nothing is named, less is held back: taskyard status --user NAME tells by what.")
    if found.queues:
        output.say("")
        rows = [(one.name, one.state, str(one.waiting), str(one.running)) for one in found.queues]
        output.table(("QUEUE", "STATE", "WAITING", "RUNNING"), rows)


def _row(one: UserStanding) -> tuple[str, ...]:
    status = one.queue_status
    return (
        one.user.name,
        one.user.plan or "none",
        _of(str(status.running), status.max_concurrent),
        str(status.pending),
        _of(f"{status.monthly_hours_used:.2f}", status.monthly_hours_limit),
        ", ".join(f"{held.code} ({held.tasks})" for held in one.held_by[:HELD_MAX]) or "-",
    )


def _of(used: str, limit: float | None) -> str:
    return used if limit is None else f"{used} of {limit:g}"
