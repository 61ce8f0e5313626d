"""What a hub prints when it is up: where it is, how to sign in, and what to do first."""

import shlex
import sys
from pathlib import Path
from typing import Final

from taskyard.gateway.door import Door
from taskyard.hub.yard import ADMIN_KEY, AdminKey
from taskyard.sdk.credentials import data_directory
from taskyard.vocabulary import Profile, Scope

PROFILES: Final = {
    Profile.LOCAL: "your own tasks are not limited",
    Profile.SERVICE: "every user is limited, you too",
}


def can_connect(key: AdminKey) -> bool:
    """Whether the local daemon may use it."""
    return Scope.DAEMON in key.record.scopes


def greet(data: Path, url: str, door: Door, key: AdminKey | None, *, profile: Profile, with_daemon: bool) -> None:
    lines = [
        f"Taskyard is up at {url}",
        *_sign_in(data, url, door, key),
        f"  data       {data}",
        f"  profile    {profile} — {PROFILES[profile]}",
        f"  daemon     {_daemon(key, with_daemon=with_daemon)}",
        "",
        _next(data, url, key, with_daemon=with_daemon),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _sign_in(data: Path, url: str, door: Door, key: AdminKey | None) -> list[str]:
    if key is None:
        return [
            "  sign in    no link: the yard has an admin key, and this hub was not given it. Start it with that key in",
            f"             {ADMIN_KEY}, or let it make another: taskyard up --new-admin-key",
        ]
    if key.is_kept:
        link = door.sign_in_link(user_id=key.record.user_id, base_url=url)
        another = f"taskyard dashboard{_where(data)}"
    else:
        link = door.sign_in_link_for_key(key.record.id, base_url=url)
        another = f"taskyard dashboard --hub {url} --key …"
    return [
        f"  sign in    {link}",
        f"             (once, within a few minutes; `{another}` prints a new one)",
    ]


def _daemon(key: AdminKey | None, *, with_daemon: bool) -> str:
    if not with_daemon:
        return "none (--no-daemon)"
    if key is None:
        return "none: it would need that key too"
    if not can_connect(key):
        return f"none: the key in {ADMIN_KEY} lacks the scope {Scope.DAEMON}"
    return "local, runs the types echo and demo"


def _next(data: Path, url: str, key: AdminKey | None, *, with_daemon: bool) -> str:
    if key is None or not key.is_kept:
        return f"  next       call it with a key of the yard: taskyard status --hub {url} --key …"
    if with_daemon:
        return f'  try        taskyard submit "hello" --type echo --wait{_where(data)}'
    return f"  next       connect a daemon, and see it: taskyard daemons{_where(data)}"


def _where(data: Path) -> str:
    """What a client command has to be told to find this yard."""
    return "" if data == data_directory().resolve() else f" --data {shlex.quote(str(data))}"
