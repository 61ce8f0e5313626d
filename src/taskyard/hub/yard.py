"""A yard's directory: the database, the settings, the keys that only its owner can read, and the first user."""

import hashlib
import json
import os
from pathlib import Path
from typing import Final

from taskyard.core.effects import Done
from taskyard.core.yard_commands import CreateKey, CreateUser
from taskyard.gateway.port import Hub
from taskyard.hub.ids import mint_secret
from taskyard.store.new_file import sync_directory
from taskyard.vocabulary import LOCAL_USER, Scope

DATABASE: Final = "taskyard.db"
CREDENTIALS: Final = "credentials.json"
SECRET: Final = "token.secret"
KEY_PREFIX: Final = "tyk_"


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
    """Make the directory if need be, readable by its owner only."""
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = data / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CannotStart(
            f"The data directory {data} cannot be written ({error.strerror}); name another with --data."
        ) from error


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
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise CannotStart(f"{path} cannot be written ({error.strerror}); see that the disk has room.") from error


async def welcome_owner(hub: Hub, data: Path, url: str) -> str:
    """The built-in `local` user and its admin key, in a file the CLI finds by itself. Returns the user's id."""
    user = hub.directory.user_by_name(LOCAL_USER)
    if user is None:
        answer, _ = await hub.ask(CreateUser(f"u_{hub.mint()}", LOCAL_USER, "hub"))
        # Refused if another hub of the yard, which starts at the same time, was faster.
        user = hub.directory.user_by_name(LOCAL_USER)
        assert user is not None, answer
    key = _kept_key(hub, data / CREDENTIALS, user.id)
    if key is None:
        key = KEY_PREFIX + mint_secret()
        digest = hashlib.sha256(key.encode()).hexdigest()
        scopes = (Scope.TASKS, Scope.DAEMON, Scope.ADMIN)
        answer, _ = await hub.ask(CreateKey(f"k_{hub.mint()}", user.id, "local admin", digest, scopes, "hub"))
        assert isinstance(answer, Done), answer
    write_private(data / CREDENTIALS, json.dumps({"hub": url, "user": user.name, "key": key}))
    return user.id


def _kept_key(hub: Hub, path: Path, user_id: str) -> str | None:
    """The key of an earlier start, if it still is this user's."""
    try:
        key = json.loads(path.read_text())["key"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    record = hub.directory.key_by_hash(hashlib.sha256(str(key).encode()).hexdigest())
    is_good = record is not None and record.revoked_at is None and record.user_id == user_id
    return str(key) if is_good else None
