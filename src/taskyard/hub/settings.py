"""`taskyard.toml`: what can be configured, read whole or not at all.

The file's sections are the settings' own structs, so a name or a default exists once. An unknown name, a wrong type or
numbers that contradict each other make the whole file bad; the error names the place.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from jwt import PyJWTError
from msgspec import Struct
from msgspec.structs import replace

from taskyard.core.settings import (
    Ageing,
    Backpressure,
    Breakers,
    Cooling,
    Lease,
    Limits,
    Plan,
    Preemption,
    Priorities,
    Queue,
    Retry,
    Settings,
    Shares,
    Suspects,
)
from taskyard.gateway.auth import AuthSettings
from taskyard.gateway.bearer import TokenReader
from taskyard.vocabulary import DEFAULT_QUEUE

FILE_NAME: Final = "taskyard.toml"
HEARTBEATS_PER_LEASE_MIN: Final = 3
# A lease that one lost heartbeat could end would declare a healthy fleet dead.
NUMBER_MAX: Final = 1_000_000_000
# Thirty years in seconds. In days it is still an instant that a database can hold.


class BadSettings(Exception):
    """The file cannot be used; the message says where and why."""


class Retention(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    archive_after_days: float = 7.0


class Gateway(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    behind_tls: bool = False
    """A proxy in front speaks TLS: without one, keys would cross the network in the clear."""


class FileSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file as a whole."""

    limits: Limits = Limits()
    lease: Lease = Lease()
    retry: Retry = Retry()
    suspects: Suspects = Suspects()
    priorities: Priorities = Priorities()
    shares: Shares = Shares()
    ageing: Ageing = Ageing()
    preemption: Preemption = Preemption()
    backpressure: Backpressure = Backpressure()
    breakers: Breakers = Breakers()
    cooling: Cooling = Cooling()
    plans: dict[str, Plan] = {}
    queues: dict[str, Queue] = {}
    default_queue: str = DEFAULT_QUEUE
    retention: Retention = Retention()
    auth: AuthSettings = AuthSettings()
    gateway: Gateway = Gateway()


def read_settings(path: Path) -> FileSettings:
    """The settings of a file; those of an absent one are the defaults."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return FileSettings()
    except OSError as error:
        raise BadSettings(f"{path} cannot be read: {error.strerror}.") from error
    try:
        settings = msgspec.toml.decode(text, type=FileSettings)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path} is not valid: {error}. Nothing of it was applied.") from error
    _check(path, settings)
    return _with_key_set(path, settings)


def _with_key_set(path: Path, settings: FileSettings) -> FileSettings:
    """The file of public keys that signed tokens are checked against is read now: a bad one is found at the start."""
    token = settings.auth.jwt
    if token is None:
        return settings
    try:
        if token.jwks_file is not None:
            text = (path.parent / token.jwks_file).read_bytes()
            token = replace(token, jwks=msgspec.json.decode(text, type=dict), jwks_file=None)
        TokenReader(token)
    except (OSError, ValueError, msgspec.DecodeError, PyJWTError) as error:
        raise BadSettings(f"{path} is not valid: auth.jwt: {error}. Nothing of it was applied.") from error
    return replace(settings, auth=replace(settings.auth, jwt=token))


def _check(path: Path, settings: FileSettings) -> None:
    lease = settings.lease
    faults = [f"{place} must be a number from 0 to {NUMBER_MAX:,}" for place in _odd(msgspec.to_builtins(settings))]
    if lease.heartbeat_s <= 0 or lease.lease_s < HEARTBEATS_PER_LEASE_MIN * lease.heartbeat_s:
        faults.append(f"lease.lease_s must be at least {HEARTBEATS_PER_LEASE_MIN} x lease.heartbeat_s, both above 0")
    if lease.accept_s <= 0 or lease.start_s <= 0 or lease.cancel_grace_s <= 0:
        faults.append("lease.accept_s, lease.start_s and lease.cancel_grace_s must be above 0")
    if min(settings.limits.daemon_slots, settings.suspects.deaths_max, settings.suspects.unstarted_max) < 1:
        faults.append("limits.daemon_slots, suspects.deaths_max and suspects.unstarted_max must be at least 1")
    if settings.retention.archive_after_days <= 0:
        faults.append("retention.archive_after_days must be above 0")
    if faults:
        raise BadSettings(f"{path} is not valid: {'; '.join(faults)}. Nothing of it was applied.")


def _odd(value: object, place: str = "") -> Iterator[str]:
    """Places with a number nothing can be counted with. TOML knows `inf` and `nan`, and reads 1e400 as one."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _odd(inner, f"{place}.{name}" if place else name)
    elif isinstance(value, int | float) and not 0 <= value <= NUMBER_MAX:
        yield place


def core_settings(file: FileSettings) -> Settings:
    return Settings(
        lease=file.lease,
        retry=file.retry,
        suspects=file.suspects,
        priorities=file.priorities,
        limits=file.limits,
        shares=file.shares,
        ageing=file.ageing,
        preemption=file.preemption,
        backpressure=file.backpressure,
        breakers=file.breakers,
        cooling=file.cooling,
        plans={**Settings().plans, **file.plans},
        queues=file.queues,
        default_queue=file.default_queue,
    )
