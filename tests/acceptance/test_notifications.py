"""Notifications by real hubs: who is killed between commit, sending and report still tells each event, and no other."""

from pathlib import Path

import pytest

from tests.acceptance.notified import run
from tests.support.engines import Engine

pytestmark = pytest.mark.takes(15)

KILLS = {Engine.SQLITE: 2, Engine.POSTGRES: 1}
# A file's hub is restarted, a database's leader is followed by the other hub. The soak makes more of them:
# `python -m tests.acceptance.notified`.


@pytest.mark.slow
@pytest.mark.parametrize("kept_in", KILLS)
def test_killed_hubs_tell_each_event_at_least_once_and_nothing_that_was_rolled_back(
    tmp_path: Path, kept_in: Engine
) -> None:
    told = run(tmp_path / "yard", engine=kept_in, kills=KILLS[kept_in])
    assert told.broken() == []
    assert len(told.acknowledged) > KILLS[kept_in]
