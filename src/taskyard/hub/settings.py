"""`taskyard.toml`: what can be configured, read whole or not at all.

The file's sections are the settings' own structs, so a name or a default exists once. What the file leaves out keeps
its default, down to one number of one plan. An unknown name, a wrong type or numbers that contradict each other make
the whole file bad; the error names the place.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec
from jwt import PyJWTError
from msgspec import Struct
from msgspec.structs import replace

from taskyard.core.settings import Settings
from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.openai.configuration import Endpoint
from taskyard.daemon.own_section import OwnSection
from taskyard.gateway.auth import AuthSettings
from taskyard.gateway.bearer import TokenReader
from taskyard.hub.contradictions import constants_in, faults_in
from taskyard.store.postgres.durability import Durability
from taskyard.vocabulary import Profile

NOTHING_APPLIED: Final = "Nothing of it was applied."


class BadSettings(Exception):
    """The file cannot be used; the message says where and why."""


class Retention(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    archive_after_days: float = 7.0
    events_days: float = 7.0
    daemons_days: float = 30.0


class Gateway(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    behind_tls: bool = False
    """A proxy in front speaks TLS: without one, keys would cross the network in the clear."""


class Telemetry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    otlp_endpoint: str | None = None
    """Where traces are sent; None: as the environment says, else nowhere."""


class Cluster(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of several hubs on one database."""

    lease_s: float = 5.0
    """How long a leader that says nothing more is waited for."""
    link: str = "127.0.0.1:0"
    """Where the other hubs reach this one while it leads; port 0 takes a free one."""
    durability: Durability = Durability.REPLICATED
    """What a commit must have reached before it is acknowledged."""
    on_rewind: Literal["stop", "accept"] = "stop"
    """If the database lacks commits that were seen: wait for a person, or begin a new era without one."""


class FileSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file as a whole: every number of the core, and what concerns only what stands around it."""

    retention: Retention = Retention()
    auth: AuthSettings = AuthSettings()
    gateway: Gateway = Gateway()
    telemetry: Telemetry = Telemetry()
    cluster: Cluster = Cluster()
    agents: dict[str, Agent] = msgspec.field(default_factory=dict)
    """The hub runs none of them. They are checked with the rest, and read by daemons."""
    openai: dict[str, Endpoint] = msgspec.field(default_factory=dict)
    """The same."""
    daemon: OwnSection = OwnSection()
    """The same."""


def read_settings(path: Path) -> FileSettings:
    """The settings of a file; those of an absent one are the defaults."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return FileSettings()
    except OSError as error:
        raise BadSettings(f"{path} cannot be read: {error.strerror}.") from error
    try:
        written = msgspec.toml.decode(text, type=dict[str, object])
        if constants := constants_in(written):
            raise _bad(path, "; ".join(constants))
        settings = msgspec.convert(laid_over(msgspec.to_builtins(FileSettings()), written), FileSettings)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _bad(path, str(error)) from error
    faults = faults_in(settings)
    if faults:
        raise _bad(path, "; ".join(faults))
    return _with_key_set(path, settings)


def laid_over(defaults: dict[str, object], written: dict[str, object]) -> dict[str, object]:
    """What was written in place of the defaults, name by name. What was written keeps its order."""
    merged: dict[str, object] = {}
    for name, value in written.items():
        default = defaults.get(name)
        is_section = isinstance(default, dict) and isinstance(value, dict)
        merged[name] = laid_over(default, value) if is_section else value  # type: ignore[arg-type]
    return {**{name: value for name, value in defaults.items() if name not in merged}, **merged}


def _with_key_set(path: Path, settings: FileSettings) -> FileSettings:
    """The file of public keys that signed tokens are checked against is read now: a bad one is found at once."""
    token = settings.auth.jwt
    if token is None:
        return settings
    try:
        if token.jwks_file is not None:
            text = (path.parent / token.jwks_file).read_bytes()
            token = replace(token, jwks=msgspec.json.decode(text, type=dict), jwks_file=None)
        TokenReader(token)
    except (OSError, ValueError, msgspec.DecodeError, PyJWTError) as error:
        raise _bad(path, f"auth.jwt: {error}") from error
    return replace(settings, auth=replace(settings.auth, jwt=token))


def _bad(path: Path, reason: str) -> BadSettings:
    return BadSettings(f"{path} is not valid: {reason}. {NOTHING_APPLIED}")


def core_settings(file: FileSettings) -> Settings:
    """Of these the core is told."""
    return Settings(**{name: getattr(file, name) for name in Settings.__struct_fields__})


def under_profile(file: FileSettings, profile: Profile | None) -> FileSettings:
    """A profile that was given at the start wins over the file's."""
    return file if profile is None else replace(file, profile=profile)


def names_changed(old: FileSettings, new: FileSettings) -> tuple[str, ...]:
    """The names whose values differ. Only names: a value may be a secret."""
    before, after = dict(_leaves(old)), dict(_leaves(new))
    return tuple(sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)))


def _leaves(settings: FileSettings) -> Iterator[tuple[str, object]]:
    return leaves(msgspec.to_builtins(settings))


def leaves(value: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Every value that is no section, with its dotted name. A section with nothing in it is one too."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, f"{place}.{name}" if place else str(name))
    else:
        yield place, value
