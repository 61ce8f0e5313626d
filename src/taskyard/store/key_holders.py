"""Which ended tasks still hold their idempotency key: the core says it, and here it is made a question for a store."""

from collections.abc import Iterable
from typing import Final

from taskyard.core.endings import keeps_key
from taskyard.vocabulary import ENDED, HOOK_KEY_PREFIX, Status


def _keeping(key: str) -> tuple[Status, ...]:
    return tuple(status for status in sorted(ENDED) if keeps_key(key, status))


_OF_DELIVERIES: Final = _keeping(HOOK_KEY_PREFIX)
_OF_OTHERS: Final = _keeping("")


def by_statuses(keys: Iterable[str]) -> dict[tuple[Status, ...], list[str]]:
    """These keys, by the statuses in which a task has kept one of them."""
    asked: dict[tuple[Status, ...], list[str]] = {}
    for key in keys:
        asked.setdefault(_OF_DELIVERIES if key.startswith(HOOK_KEY_PREFIX) else _OF_OTHERS, []).append(key)
    return asked
