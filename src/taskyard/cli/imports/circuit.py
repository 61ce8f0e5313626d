"""Loki's circuit breakers: how they stood, and what was configured for them.

How they stood is imported. What was configured belongs into the hub's own file, which an import does not write: it is
said as it would stand there.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import yaml  # type: ignore[import-untyped]
from msgspec import UNSET, Struct, UnsetType

from taskyard.cli.imports.cargo import Cargo
from taskyard.cli.imports.files import Damaged, Directory, parsed
from taskyard.cli.imports.foreign import instant_of
from taskyard.vocabulary import BreakerState
from taskyard.wire.depth import DEPTH_MAX, is_too_deep
from taskyard.wire.imports import BREAKERS_MAX, CarriedBreaker

STATE_FILES: Final = (("state", "circuit-breakers.json"), ("state", "orchestrator.json"))
"""The first is about nothing else; the other may have them among more."""
CONFIG_FILES: Final = (("config", "circuit-breakers.yaml"), ("config", "circuit-breakers.yml"))
STATE_BYTES_MAX: Final = 1024 * 1024
CONFIG_BYTES_MAX: Final = 64 * 1024
# A hundred times what such a file has. YAML is read slowly, and a hostile one more slowly.
HALF_OPEN_AFTER_S: Final = 60
NAMES: Final = {
    "failureThreshold": "failure_threshold",
    "halfOpenAfter": "half_open_after",
    "cooldownSeconds": "cooldown",
}


class LokiBreaker(Struct, rename="camel"):
    state: str = BreakerState.CLOSED.value
    failures: int = 0
    last_failure: str | float | None = None
    opened_at: str | float | None = None
    half_open_at: str | float | None = None


class States(Struct, rename="camel"):
    circuit_breakers: dict[str, LokiBreaker] | UnsetType = UNSET


def breakers_in(root: Directory, cargo: Cargo) -> list[CarriedBreaker]:
    """Those that count something or hold something back."""
    found: dict[str, CarriedBreaker] = {}
    for folder, name in STATE_FILES:
        content = _content(root, folder, name, cargo, bytes_max=STATE_BYTES_MAX)
        if content is None:
            continue
        try:
            states = _states(content, f"{root.shown}/{folder}/{name}", is_required=(folder, name) == STATE_FILES[0])
        except Damaged as damage:
            cargo.damaged.append(str(damage))
            continue
        for type, breaker in states.items():
            if breaker.failures or breaker.state != BreakerState.CLOSED:
                found.setdefault(type, _carried(type, breaker))
    return list(found.values())[:BREAKERS_MAX]


def _states(content: bytes, shown: str, *, is_required: bool) -> dict[str, LokiBreaker]:
    states = parsed(content, States, shown).circuit_breakers
    if isinstance(states, UnsetType):
        if is_required:
            raise Damaged(f"{shown}:1:1: has no `circuitBreakers`; the breakers stand below that, by their types")
        return {}
    for type, breaker in states.items():
        breaker.state = breaker.state.lower().replace("-", "_")
        if breaker.state not in set(BreakerState):
            raise Damaged(f"{shown}: the breaker of {type!r} is {breaker.state!r}; one is closed, open or half-open")
    return states


def _carried(type: str, breaker: LokiBreaker) -> CarriedBreaker:
    """One that was half-open waited for a task that may be gone: it is tried at once."""
    last = instant_of(breaker.last_failure)
    opened_at: datetime | None = None
    half_open_at: datetime | None = None
    if breaker.state != BreakerState.CLOSED:
        opened_at = instant_of(breaker.opened_at) or last or datetime.fromtimestamp(0, UTC)
        half_open_at = instant_of(breaker.half_open_at) or opened_at + timedelta(seconds=HALF_OPEN_AFTER_S)
    return CarriedBreaker(
        type=type,
        failures=max(breaker.failures, 0),
        last_failure_at=last,
        opened_at=opened_at,
        half_open_at=half_open_at,
    )


def settings_in(root: Directory, cargo: Cargo) -> None:
    """Say what was configured, as a piece of the hub's file."""
    for folder, name in CONFIG_FILES:
        content = _content(root, folder, name, cargo, bytes_max=CONFIG_BYTES_MAX)
        if content is None:
            continue
        try:
            said = toml_of(content, f"{root.shown}/{folder}/{name}")
        except Damaged as damage:
            cargo.damaged.append(str(damage))
            continue
        if said:
            cargo.notes.append(f"Settings of breakers are the hub's; put into its taskyard.toml what Loki had:\n{said}")


def toml_of(content: bytes, shown: str) -> str:
    config = _yaml(content, shown)
    blocks = {"breakers": config.get("defaults")}
    overrides = config.get("overrides")
    for type, own in overrides.items() if isinstance(overrides, dict) else ():
        blocks[f"breakers.overrides.{msgspec.json.encode(str(type)).decode()}"] = own
    lines: list[str] = []
    for title, block in blocks.items():
        numbers = {NAMES[name]: n for name, n in block.items() if name in NAMES} if isinstance(block, dict) else {}
        told = [f"{name} = {number}" for name, number in numbers.items() if type_is_number(number)]
        lines += [f"[{title}]", *told] if told else []
    return "\n".join(lines)


def type_is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _yaml(content: bytes, shown: str) -> dict[Any, Any]:
    if is_too_deep(content):
        raise Damaged(f"{shown}: is nested deeper than {DEPTH_MAX} levels")
    try:
        _refuse_aliases(content, shown)
        config = yaml.safe_load(content)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = shown if mark is None else f"{shown}:{mark.line + 1}:{mark.column + 1}"
        raise Damaged(f"{place}: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Damaged(f"{shown}: is no YAML that can be read: {type(error).__name__}") from error
    return config if isinstance(config, dict) else {}


def _refuse_aliases(content: bytes, shown: str) -> None:
    """Nobody needs them here, and by merging them a few lines grow beyond any memory."""
    for token in yaml.scan(content, yaml.SafeLoader):
        if isinstance(token, yaml.AliasToken):
            mark = token.start_mark
            raise Damaged(f"{shown}:{mark.line + 1}:{mark.column + 1}: a configuration is read without aliases")


def _content(root: Directory, folder: str, name: str, cargo: Cargo, *, bytes_max: int) -> bytes | None:
    if not root.has(folder):
        return None
    try:
        with root.below(folder) as found:
            return found.read(name, bytes_max=bytes_max) if found.has(name) else None
    except Damaged as damage:
        cargo.damaged.append(str(damage))
        return None
