"""Nothing is left of an agent that does not want to end, and what the hub has recorded is what happened.

Each kind of them is tested in `tests/daemon`, and all twelve at once, within five seconds, in `make soak`.
"""

import pytest

from tests.acceptance.hostile_yard import run
from tests.support.live import LiveYard

pytestmark = pytest.mark.takes(20)

FEW = ("setsid", "spawns-during-kill", "kills-parent")
LEASE_S, GONE_S = 8.0, 60.0
"""With room for a busy machine."""


@pytest.mark.slow
def test_nobody_is_left_of_hostile_children_whatever_ends_them(yard: LiveYard) -> None:
    assert run(yard, FEW, lease_s=LEASE_S, gone_s=GONE_S)
