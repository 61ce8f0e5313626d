"""Nothing is left of an agent that does not want to end, and what the hub has recorded is what happened."""

import pytest

from tests.acceptance.hostile_yard import FAULTS, run
from tests.support import hostile
from tests.support.engines import Engine
from tests.support.live import LiveYard

pytestmark = [pytest.mark.takes(30), pytest.mark.together("hasty")]

FEW = ("setsid", "spawns-during-kill", "kills-parent")
# The engine makes no difference to killing; that a cancel goes the whole way is shown by any of them.


@pytest.mark.slow
def test_nobody_is_left_of_twelve_hostile_children(yard: LiveYard, engine: Engine) -> None:
    is_first = engine is Engine.SQLITE
    took_s = run(yard, hostile.KINDS if is_first else FEW, tuple(FAULTS) if is_first else ("cancel",))
    assert took_s
