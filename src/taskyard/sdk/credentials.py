"""Which hub to call, and with which key.

Each of the two is looked for on its own, in this order: what the caller named, then `TASKYARD_HUB` and
`TASKYARD_KEY`, then `credentials.json` of the data directory, which `taskyard up` writes for its owner.
"""

import os
import stat
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from taskyard.sdk.errors import BadAddress, CredentialsMissing
from taskyard.wire.addresses import each_hub

FILE_NAME: Final = "credentials.json"
DEFAULT_HUB: Final = "http://127.0.0.1:8420"


class Credentials(Struct, frozen=True):
    hub: str
    """Where it is reached; with commas between them, several hubs of one yard."""
    key: str
    user: str | None = None
    """Whose key it is, if a file says so."""


class CredentialsFile(Struct):
    key: str
    hub: str = DEFAULT_HUB
    user: str | None = None


class ReadableByOthers(UserWarning):
    """The file with the key can be read by other users of this machine."""


def data_directory(data: str | None = None, *, environment: Mapping[str, str] = os.environ) -> Path:
    """What the caller named, `TASKYARD_DATA`, or the user's own data directory."""
    if named := data or environment.get("TASKYARD_DATA"):
        return Path(named).expanduser()
    share = environment.get("XDG_DATA_HOME")
    return (Path(share) if share else Path.home() / ".local" / "share") / "taskyard"


def find_credentials(
    data: str | None = None,
    hub: str | None = None,
    key: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
) -> Credentials:
    """The credentials to call with; `CredentialsMissing` says where they were looked for."""
    hub = hub or environment.get("TASKYARD_HUB")
    if key is not None and not key.strip():
        # From a variable that is not set, most likely; whoever names a key does not mean the machine's own.
        raise CredentialsMissing("The key that was given is empty; leave it out to call with the one of this machine.")
    key = key or environment.get("TASKYARD_KEY")
    path = data_directory(data, environment=environment) / FILE_NAME
    if key:
        return Credentials(hub=_address(hub or _hub_of(path)), key=_key(key))
    stored = read_credentials(path)
    # A key is for the hub it came from. Sending it to another one that was named would hand it over.
    if hub and hub.rstrip("/") != stored.hub.rstrip("/"):
        raise CredentialsMissing(
            f"No key for {hub}: the one in {path} is for {stored.hub}. Give --key or set TASKYARD_KEY."
        )
    return Credentials(hub=_address(stored.hub), key=_key(stored.key), user=stored.user)


def place_of_key(
    data: str | None = None, key: str | None = None, *, environment: Mapping[str, str] = os.environ
) -> str:
    """Where `find_credentials` had its key from, in the words of who calls by the command line."""
    if key:
        return "the key of --key"
    if environment.get("TASKYARD_KEY"):
        return "the key in TASKYARD_KEY"
    return f"the key in {data_directory(data, environment=environment) / FILE_NAME}"


def _key(text: str) -> str:
    """Without the end of the line that it was read from. No message ever shows it: it may be a good one."""
    key = text.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CredentialsMissing("The key has letters in it that no key has; copy it again.")
    return key


def _hub_of(path: Path) -> str:
    """The hub of the data directory, for a key that was given without one."""
    try:
        return read_credentials(path).hub
    except CredentialsMissing:
        return DEFAULT_HUB


def _address(hub: str) -> str:
    """The same, once each in it is found to be one: libraries accept much and fail late."""
    hubs = each_hub(hub)
    for address in hubs or (hub,):
        if not _is_address(address):
            raise BadAddress(f"{address} is no address of a hub; write it as {DEFAULT_HUB}.")
    return ",".join(hubs) if len(hubs) > 1 else hub


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port))
    except ValueError:
        return False


def read_credentials(path: Path) -> CredentialsFile:
    """What the file of a data directory holds. `CredentialsMissing` says why it cannot be read."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                warnings.warn(
                    f"{path} holds a key and can be read by others; run: chmod 600 {path}",
                    ReadableByOthers,
                    stacklevel=2,
                )
            return msgspec.json.decode(file.read(), type=CredentialsFile)
    except FileNotFoundError:
        raise CredentialsMissing(
            f"No key to call the hub with: {path} does not exist. "
            "Start a hub with `taskyard up`, name its directory with --data, or set TASKYARD_HUB and TASKYARD_KEY."
        ) from None
    except OSError as error:
        raise CredentialsMissing(f"Cannot read {path}: {error.strerror}.") from None
    except msgspec.DecodeError as error:
        raise CredentialsMissing(f"{path} is not a credentials file: {error}.") from None
