"""A yard's directory: the database, the settings, the keys that only its owner can read, and the first user."""

import hashlib
import json
import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from taskyard.core.changes import KeyRecord, UserRecord
from taskyard.core.effects import Done, Refused
from taskyard.core.people import is_admin_key
from taskyard.core.yard_commands import CreateKey, CreateUser
from taskyard.daemon.command.configuration import FILE_NAME
from taskyard.files.private import (
    Exposure,
    close_directory,
    close_to_others,
    exposures_in,
    make_private_directory,
    open_private,
)
from taskyard.gateway.news import catch_up
from taskyard.gateway.port import Hub
from taskyard.hub.ids import mint_secret
from taskyard.store.new_file import SQLITE_SUFFIXES, sync_directory
from taskyard.vocabulary import LOCAL_USER, Scope

DATABASE: Final = "taskyard.db"
CREDENTIALS: Final = "credentials.json"
SECRET: Final = "token.secret"
HUB_ID: Final = "hub.id"
POSITION: Final = "position.json"
LOG_FILE: Final = "hub.log"
DAEMONS: Final = "daemons"
PROBE: Final = ".writable"
KEY_PREFIX: Final = "tyk_"
ADMIN_KEY: Final = "TASKYARD_ADMIN_KEY"
"""The variable with the admin key of a yard that a hub joins."""

_KEPT: Final = (CREDENTIALS, SECRET, HUB_ID, POSITION)
_WRITTEN: Final = frozenset(
    {
        *(f"{DATABASE}{suffix}" for suffix in SQLITE_SUFFIXES),
        *(LOG_FILE, "hub.old.log", "hub.lock"),
        *_KEPT,
        # What a crash may have left of `write_private`.
        *(Path(name).with_suffix(".new").name for name in _KEPT),
    }
)
# What a start or a copy that was cut off may have left is of no use, and no reason to leave the directory open.
_BELONGS: Final = _WRITTEN | {FILE_NAME, DAEMONS, PROBE, *(f".{DATABASE}.copy{suffix}" for suffix in SQLITE_SUFFIXES)}

HEX: Final = "hex:"
"""Before a secret that is no text."""
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 32, 64


class CannotStart(Exception):
    """The hub cannot come up; the message says why and what to do."""

    exit_code = 1


class UnsafeAddress(CannotStart):
    """It was told to listen where others could read along."""

    exit_code = 2


def prepare(data: Path) -> None:
    """Make the directory if need be, readable by its owner only; and close what an earlier version left open in it."""
    try:
        make_private_directory(data)
        probe = data / PROBE
        probe.touch()
        probe.unlink()
        close_directory(data, written=_WRITTEN.__contains__, belongs=_BELONGS.__contains__)
        close_to_others(data / DAEMONS)
    except OSError as error:
        raise CannotStart(
            f"The data directory {data} cannot be written ({error.strerror}); name another with --data."
        ) from error


def exposures(data: Path) -> list[Exposure]:
    """What other users can read of the directory and of the files that a hub writes there."""
    return exposures_in(data, written=_WRITTEN.__contains__)


def read_secret(data: Path) -> bytes:
    """What task tokens are signed with: made once, kept for as long as the yard."""
    if not (data / SECRET).exists():
        write_private(data / SECRET, mint_secret())
    return kept_secret(data)


def write_secret(data: Path, secret: bytes) -> None:
    """One that was made elsewhere, and may be any bytes."""
    write_private(data / SECRET, f"{HEX}{secret.hex()}")


def kept_secret(data: Path) -> bytes:
    path = data / SECRET
    try:
        secret = path.read_bytes().strip()
        if secret.startswith(HEX.encode()):
            secret = bytes.fromhex(secret.decode().removeprefix(HEX))
    except ValueError:
        secret = b""
    except OSError as error:
        raise CannotStart(f"{path} cannot be read ({error.strerror}); let the hub's user read it.") from error
    if not SECRET_BYTES_MIN <= len(secret) <= SECRET_BYTES_MAX:
        # Signed with nothing, anybody could make a token.
        raise CannotStart(f"{path} holds no secret; remove it, and the next start makes a new one.")
    return secret


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, and for its owner only from the first instant."""
    new = path.with_suffix(".new")
    try:
        new.unlink(missing_ok=True)
        with open(new, "x", opener=open_private) as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise CannotStart(f"{path} cannot be written ({error.strerror}); see that the disk has room.") from error


class AdminKey(Struct, frozen=True):
    """The admin key that a hub starts with: for its local daemon and the printed link."""

    secret: str
    record: KeyRecord
    is_kept: bool
    """Whether `credentials.json` has it, where commands find it."""

    def __repr__(self) -> str:
        """Without the secret."""
        return f"AdminKey({self.record.id})"


class KeyPolicy(Struct, frozen=True, kw_only=True):
    """Where a hub takes its admin key from if its directory has none."""

    joins: bool = False
    """The yard may have other hubs: a key is made only if the yard has no live admin key."""
    given: str | None = None
    """The key that the environment names."""
    makes_new: bool = False
    """Make one in any case."""

    def __repr__(self) -> str:
        """Without the key."""
        return f"KeyPolicy(joins={self.joins}, makes_new={self.makes_new})"


MAKES_ITS_OWN: Final = KeyPolicy()


async def welcome_owner(hub: Hub, data: Path, url: str, policy: KeyPolicy = MAKES_ITS_OWN) -> AdminKey | None:
    """Find or make the admin key of this hub. None: the yard has one, and this hub was not given it.

    A key that this hub makes, or made at an earlier start, is the built-in user `local`'s and in `credentials.json`.
    """
    path = data / CREDENTIALS
    kept = None if policy.makes_new else _kept_key(hub, path)
    if kept is not None:
        _keep(path, url, kept)
    if policy.given is not None and not policy.makes_new:
        return await _given_key(hub, policy.given)
    key = kept or await _new_key(hub, is_first_only=policy.joins and not policy.makes_new)
    if key is not None and key is not kept:
        _keep(path, url, key)
    return key


def _keep(path: Path, url: str, key: AdminKey) -> None:
    write_private(path, json.dumps({"hub": url, "user": LOCAL_USER, "key": key.secret}))


def _kept_key(hub: Hub, path: Path) -> AdminKey | None:
    """The key of an earlier start, if it still is that of the user `local`."""
    try:
        secret = str(json.loads(path.read_text())["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    record = hub.directory.key_by_hash(_hash_of(secret))
    user = hub.directory.user_by_name(LOCAL_USER)
    is_good = record is not None and user is not None and record.revoked_at is None and record.user_id == user.id
    return AdminKey(secret, record, is_kept=True) if is_good and record is not None else None


async def _given_key(hub: Hub, secret: str) -> AdminKey:
    digest = _hash_of(secret)
    if hub.directory.key_by_hash(digest) is None:
        await catch_up(hub)
    record = hub.directory.key_by_hash(digest)
    if record is None or not is_admin_key(record, hub.now_ms()):
        raise CannotStart(
            f"The key in {ADMIN_KEY} is not a live admin key of this yard. Give one that is, leave the variable out, "
            "or make another with --new-admin-key."
        )
    return AdminKey(secret, record, is_kept=False)


async def _new_key(hub: Hub, *, is_first_only: bool) -> AdminKey | None:
    user = await _local_user(hub)
    secret, key_id = KEY_PREFIX + mint_secret(), f"k_{hub.mint()}"
    scopes = (Scope.TASKS, Scope.DAEMON, Scope.ADMIN)
    command = CreateKey(key_id, user.id, "local admin", _hash_of(secret), scopes, "hub", is_first_only=is_first_only)
    answer, _ = await hub.ask(command)
    if is_first_only and isinstance(answer, Refused):
        return None
    assert isinstance(answer, Done), answer
    record = hub.directory.key(key_id)
    assert record is not None, "a key is known once its making was answered"
    return AdminKey(secret, record, is_kept=True)


async def _local_user(hub: Hub) -> UserRecord:
    user = hub.directory.user_by_name(LOCAL_USER)
    if user is None:
        answer, _ = await hub.ask(CreateUser(f"u_{hub.mint()}", LOCAL_USER, "hub"))
        # Refused if another hub of the yard, which starts at the same time, was faster.
        user = hub.directory.user_by_name(LOCAL_USER)
        assert user is not None, answer
    return user


def _hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
