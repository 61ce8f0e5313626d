"""What no type can say of the settings: numbers that make no sense, alone or together.

Every fault is found, not only the first: whoever mends a file wants to mend it once. A place is a pattern over dotted
names, `*` for one name of any.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import msgspec

from taskyard.core.settings import Limits, Notifications, Sizes
from taskyard.daemon.command.checking import faults_in as faults_in_agents
from taskyard.daemon.openai.configuration import faults_in as faults_in_endpoints
from taskyard.daemon.own_section import faults_in as faults_in_own_section
from taskyard.gateway.destinations import BadDestination, read_allowed
from taskyard.hub.notice_line import REST_MS
from taskyard.vocabulary import HUB_RATE, SourceType
from taskyard.wire import frames
from taskyard.wire.depth import DEPTH_MAX
from taskyard.wire.fields import (
    CAPABILITIES_MAX,
    CHECKPOINT_BYTES_MAX,
    DEPENDENCIES_MAX,
    FIELD_BYTES_MAX,
    NAME_CHARS_MAX,
    OBJECT_BYTES_MAX,
    PAGE,
    PAGE_MAX,
)
from taskyard.wire.tasks import CONTEXT_INPUT_BYTES_MAX, CONTEXT_INPUT_RESULT_BYTES_MAX

if TYPE_CHECKING:
    from taskyard.hub.settings import Cluster, FileSettings

NUMBER_MAX: Final = 1_000_000_000
# Thirty years in seconds. In days it is still an instant that a database can hold.
HEARTBEATS_PER_LEASE_MIN: Final = 3
# A lease that one lost heartbeat could end would declare a healthy fleet dead.
SHARE_DIGITS: Final = 9
# Far finer than any slot, and coarse enough that 0.33 + 0.56 + 0.11 is 1.
FRAME_BYTES_MAX: Final = 4 * frames.FRAME_BYTES_MAX
# What a daemon takes; it joins its own messages up to a quarter of that, whatever is configured here.
CLUSTER_LEASE_S_MIN: Final = 1
CLUSTER_LEASE_S_MAX: Final = 60
# A shorter lease ends in any pause of the database or of Python; for a longer one a yard would stand still whose
# leader's machine vanished.
PORT_MAX: Final = 65_535

CONSTANT_SIZES: Final[Mapping[str, int]] = {
    "context": OBJECT_BYTES_MAX,
    "payload": OBJECT_BYTES_MAX,
    "checkpoint": CHECKPOINT_BYTES_MAX,
    "field": FIELD_BYTES_MAX,
    "context_input": CONTEXT_INPUT_BYTES_MAX,
    "context_input_result": CONTEXT_INPUT_RESULT_BYTES_MAX,
    "depth": DEPTH_MAX,
    "dependencies": DEPENDENCIES_MAX,
    "capabilities": CAPABILITIES_MAX,
    "name": NAME_CHARS_MAX,
    "page": PAGE_MAX,
    "page_default": PAGE,
}
# They were settings once: whoever still has one in a file is told what holds.

AT_LEAST_ONE: Final = (
    # Idempotency keys of what was cancelled or skipped count for a day, and are looked up before the archive.
    "retention.archive_after_days",
    "limits.running_total",
    "limits.running_per_user",
    "limits.daemon_slots",
    "limits.rate.*.per_minute",
    "limits.rate.*.per_hour",
    "limits.rate.*.burst",
    "limits.queue_depth.*",
    "limits.user_queue_depth.*",
    "limits.size.*",
    "queues.*.max_concurrent",
    "retry.max_attempts",
    "suspects.deaths_max",
    "suspects.unstarted_max",
    "notifications.parallel_max",
    "notifications.total_max",
    "notifications.pending_max",
    "breakers.failure_threshold",
    "breakers.overrides.*.failure_threshold",
    "hooks.per_user_max",
    "auth.failures_per_minute",
    "auth.addresses_max",
    "auth.session_s",
    "auth.ticket_s",
    "schedules.per_user_max",
    "schedules.catch_up_max",
    "cascade_rows_max",
    "subtask_depth_max",
)
ABOVE_ZERO: Final = (
    "lease.heartbeat_s",
    "limits.load_step",
    "lease.accept_s",
    "lease.start_s",
    "lease.cancel_grace_s",
    "retry.timeout_s",
    "retry.timeout_factor",
    "breakers.half_open_after",
    "breakers.cooldown",
    "breakers.overrides.*.half_open_after",
    "breakers.overrides.*.cooldown",
    "backpressure.resume_below",
    "hooks.old_s_max",
    "plans.*.max_task_duration_minutes",
    "notifications.timeout_s",
    "notifications.retry_first_s",
    "retention.events_days",
    "retention.daemons_days",
    "priorities.estimated_s",
    "schedules.interval_min_s",
    "schedules.probe_s",
)
FRACTIONS: Final = (
    "shares.critical_reserve",
    "shares.high",
    "shares.normal",
    "shares.low",
    "backpressure.resume_below",
    "retry.jitter",
    "retry.rate_limit_jitter",
    "lease.spare",
    "limits.load_step",
)


def faults_in(settings: "FileSettings") -> list[str]:
    """What is wrong with them, each as half a sentence that begins with its place."""
    return [
        *_of_numbers(msgspec.to_builtins(settings)),
        *_of_lease(settings),
        *_of_names(settings),
        *_of_depths(settings.limits),
        *_of_shares(settings),
        *_of_breakers(settings),
        *_of_sizes(settings.limits.size),
        *_of_orders(settings),
        *_of_cluster(settings.cluster),
        *_of_notifications(settings.notifications),
        *faults_in_agents(settings.agents),
        *faults_in_endpoints(settings.openai),
        *faults_in_own_section(settings.daemon),
    ]


def constants_in(written: Mapping[str, object]) -> list[str]:
    """What the file sets that is no setting any more, with the value that it has."""
    limits = written.get("limits")
    sizes = limits.get("size") if isinstance(limits, dict) else None
    named = [name for name in sizes if name in CONSTANT_SIZES] if isinstance(sizes, dict) else []
    return [f"limits.size.{name} is a constant now, {CONSTANT_SIZES[name]}: take it out" for name in named]


def _of_numbers(value: object, place: str = "") -> Iterator[str]:
    """TOML knows `inf` and `nan`, and reads 1e400 as one."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _of_numbers(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value <= NUMBER_MAX:
            yield f"{place} must be a number from 0 to {NUMBER_MAX:,}"
        elif value < 1 and _is_one_of(place, AT_LEAST_ONE):
            yield f"{place} must be at least 1"
        elif value == 0 and _is_one_of(place, ABOVE_ZERO):
            yield f"{place} must be above 0"
        elif value > 1 and _is_one_of(place, FRACTIONS):
            yield f"{place} is a fraction of 1"


def _is_one_of(place: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(place, pattern) for pattern in patterns)


def _of_lease(settings: "FileSettings") -> Iterator[str]:
    lease = settings.lease
    if lease.lease_s < HEARTBEATS_PER_LEASE_MIN * lease.heartbeat_s:
        yield f"lease.lease_s must be at least {HEARTBEATS_PER_LEASE_MIN} x lease.heartbeat_s"


def _of_names(settings: "FileSettings") -> Iterator[str]:
    sources = set(SourceType)
    for name in sorted(set(settings.limits.rate) - {*sources, HUB_RATE}):
        yield f"limits.rate.{name}: known are {', '.join((*SourceType, HUB_RATE))}"
    for name in sorted(set(settings.limits.running_per_source) - sources):
        yield f"limits.running_per_source.{name}: known are {', '.join(SourceType)}"
    named = {"plans": list(settings.plans), "queues": list(settings.queues), "default_queue": [settings.default_queue]}
    for place, names in named.items():
        if any(not 0 < len(name) <= NAME_CHARS_MAX for name in names):
            yield f"{place}: a name has 1 to {NAME_CHARS_MAX} characters"


def _of_depths(limits: Limits) -> Iterator[str]:
    for place, depth in (("queue_depth", limits.queue_depth), ("user_queue_depth", limits.user_queue_depth)):
        if depth.critical < depth.warning:
            yield f"limits.{place}.critical must be at least limits.{place}.warning"


def _of_shares(settings: "FileSettings") -> Iterator[str]:
    if settings.shares.critical_reserve == 1:
        yield "shares.critical_reserve must be below 1: nothing else would ever run"
    shares = settings.shares
    # As caps they may overlap. As guarantees they cannot: nobody can be sure of what another is sure of.
    if not shares.strict and round(shares.high + shares.normal + shares.low, SHARE_DIGITS) > 1:
        yield "shares.high, shares.normal and shares.low must be at most 1 together, unless shares.strict"


def _of_breakers(settings: "FileSettings") -> Iterator[str]:
    """The longest time a breaker stays open must not be shorter than the first."""
    own = settings.breakers
    if own.cooldown < own.half_open_after:
        yield "breakers.cooldown must be at least breakers.half_open_after"
    for name, of_type in own.overrides.items():
        first = own.half_open_after if of_type.half_open_after is None else of_type.half_open_after
        longest = own.cooldown if of_type.cooldown is None else of_type.cooldown
        if longest < first:
            yield f"breakers.overrides.{name}: cooldown must be at least half_open_after"


def _of_sizes(size: Sizes) -> Iterator[str]:
    if not frames.FRAME_BYTES_MAX <= size.frame <= FRAME_BYTES_MAX:
        yield f"limits.size.frame must be from {frames.FRAME_BYTES_MAX:,} to {FRAME_BYTES_MAX:,}, as daemons use it"
    if size.input + 2 * OBJECT_BYTES_MAX + CONTEXT_INPUT_BYTES_MAX + CHECKPOINT_BYTES_MAX > size.frame:
        yield "limits.size: input, context, payload, context_input and checkpoint go to a daemon in one frame"
    if size.result > size.frame:
        yield "limits.size.result must be at most limits.size.frame"
    if max(size.input + 2 * OBJECT_BYTES_MAX, size.result, CHECKPOINT_BYTES_MAX) > size.request:
        yield "limits.size.request must have room for what limits.size lets it hold"


def _of_orders(settings: "FileSettings") -> Iterator[str]:
    """Pairs of which the second is the most that the first may grow to."""
    retry, suspects, priorities = settings.retry, settings.suspects, settings.priorities
    pairs = (
        ("retry.rate_limit_s", retry.rate_limit_s, "retry.rate_limit_max_s", retry.rate_limit_max_s),
        ("suspects.avoid_first_s", suspects.avoid_first_s, "suspects.avoid_max_s", suspects.avoid_max_s),
        (
            "priorities.assign_critical_factor",
            priorities.assign_critical_factor,
            "priorities.assign_high_factor",
            priorities.assign_high_factor,
        ),
        ("schedules.probe_s", settings.schedules.probe_s, "schedules.probe_max_s", settings.schedules.probe_max_s),
    )
    for small, less, large, more in pairs:
        if less > more:
            yield f"{small} must be at most {large}"


def _of_cluster(cluster: "Cluster") -> Iterator[str]:
    if not CLUSTER_LEASE_S_MIN <= cluster.lease_s <= CLUSTER_LEASE_S_MAX:
        yield f"cluster.lease_s must be from {CLUSTER_LEASE_S_MIN} to {CLUSTER_LEASE_S_MAX}"
    host, _, port = cluster.link.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not host or (":" in host and not is_bracketed) or not _is_port(port):
        yield (
            f"cluster.link must be HOST:PORT with a port from 0 to {PORT_MAX}, such as 10.0.0.5:8421; an IPv6 address "
            "stands in brackets"
        )
    elif _is_any(host.strip("[]")):
        yield "cluster.link must be the address under which the other hubs reach this one, not a wildcard"


def _of_notifications(notifications: Notifications) -> Iterator[str]:
    if notifications.retry_first_s > notifications.retry_max_s:
        yield "notifications.retry_first_s must be at most notifications.retry_max_s"
    if 1000 * notifications.give_up_s < REST_MS:
        yield f"notifications.give_up_s must be at least {REST_MS // 1000}: so long a host that fails is left alone"
    if not all(0 < port <= PORT_MAX for port in notifications.ports):
        yield f"notifications.ports: a port is a number from 1 to {PORT_MAX}"
    try:
        read_allowed(notifications.allow, notifications.ports)
    except BadDestination as bad:
        yield f"notifications.allow: {bad}"


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(PORT_MAX)) and int(text) <= PORT_MAX


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
