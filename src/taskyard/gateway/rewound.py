"""What callers are told while no hub leads because this yard's database lacks commits."""

from typing import Final

from taskyard.gateway.call import RequestRefused
from taskyard.gateway.port import Hub
from taskyard.store.rewind import sentence_of
from taskyard.vocabulary import Refusal

RETRY_S: Final = 60
"""When to ask again: longer than clients wait by themselves, so that they tell a person at once."""


def rewound(hub: Hub) -> RequestRefused | None:
    """What is missing and what to do; None: nothing that is known."""
    missing = hub.missing
    return None if missing is None else RequestRefused(Refusal.HUB_REWOUND, sentence_of(missing), retry_after_s=RETRY_S)
