"""Positions that a yard seals for its daemons: only the yard that sealed exactly these numbers believes them."""

import pytest
from msgspec.structs import replace

from taskyard.core.daemon_commands import Seen
from taskyard.gateway.daemon_positions import sealed_position, seen_of
from taskyard.hub.tokens import Tokens
from taskyard.wire.frames import Position

TOKENS = Tokens(b"0123456789abcdef0123456789abcdef")
OTHERS = Tokens(b"another secret of another yard's")
PLACE = Seen("c_1", 4, 17, "a takeover", "a batch")
SEALED = Position("c_1", 4, 17, sealed_position(TOKENS.seal, PLACE))


def test_what_the_yard_sealed_comes_back_with_its_ids() -> None:
    assert seen_of(TOKENS.unseal, SEALED) == PLACE


@pytest.mark.parametrize(
    "position",
    [
        Position("c_1", 4, 17),
        replace(SEALED, sealed=""),
        replace(SEALED, sealed="made.up"),
        replace(SEALED, sealed=sealed_position(OTHERS.seal, PLACE)),
        replace(SEALED, sealed=TOKENS.seal("session", "[]")),
        replace(SEALED, sealed=f"{SEALED.sealed}x"),
        # A true seal beside other numbers
        replace(SEALED, seq=18),
        replace(SEALED, epoch=5),
        replace(SEALED, cluster_id="c_2"),
    ],
)
def test_what_it_did_not_seal_is_known_by_its_numbers_alone(position: Position) -> None:
    assert seen_of(TOKENS.unseal, position) == Seen(position.cluster_id, position.epoch, position.seq)
