"""Positions in the log as daemons keep them: sealed by a hub of the yard, so that none can be made up."""

from collections.abc import Callable
from typing import Final

import msgspec

from taskyard.core.daemon_commands import Seen
from taskyard.core.eras import Place
from taskyard.wire import frames

PURPOSE: Final = "position"

_encode: Final = msgspec.json.Encoder().encode
_ids: Final = msgspec.json.Decoder(tuple[str, int, int, str, str]).decode


def sealed_position(seal: Callable[[str, str], str], place: Place) -> str:
    """For a daemon to keep beside the numbers."""
    named = (place.cluster_id, place.epoch, place.seq, place.takeover, place.batch_id)
    return seal(PURPOSE, _encode(named).decode())


def seen_of(unseal: Callable[[str, str], str | None], position: frames.Position) -> Seen:
    """What a daemon has seen. With ids only if this yard sealed exactly these numbers: any other seal is none."""
    plain = Seen(position.cluster_id, position.epoch, position.seq)
    text = None if position.sealed is None else unseal(PURPOSE, position.sealed)
    if text is None:
        return plain
    seen = Seen(*_ids(text))
    is_same = (seen.cluster_id, seen.epoch, seen.seq) == (plain.cluster_id, plain.epoch, plain.seq)
    return seen if is_same else plain
