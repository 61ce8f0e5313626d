"""Daemons as people see them."""

import pytest

from taskyard.core.changes import DaemonRecord
from taskyard.core.settings import Settings
from taskyard.core.state import Daemon, State
from taskyard.hub.views import daemon_views
from taskyard.vocabulary import DaemonStatus


def a_state(*, session: int, slots: int = 5, draining: bool = False) -> State:
    state = State(Settings(), cluster_id="c_test", epoch=1, seq=0)
    record = DaemonRecord("d_1", "u_1", "mac", "boot", 7, slots=slots, draining=draining, memory_mb=512)
    state.daemons["d_1"] = daemon = Daemon(record, 0)
    daemon.session = session
    return state


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (a_state(session=0), DaemonStatus.OFFLINE),
        (a_state(session=0, draining=True), DaemonStatus.OFFLINE),
        (a_state(session=1), DaemonStatus.ONLINE),
        (a_state(session=1, draining=True), DaemonStatus.DRAINING),
        (a_state(session=1, slots=0), DaemonStatus.BUSY),
    ],
)
def test_a_daemon_is_shown_as_it_is(state: State, status: DaemonStatus) -> None:
    (view,) = daemon_views(state)
    assert (view.id, view.status, view.memory_free_mb, view.running) == ("d_1", status, 512, [])
    assert view.last_heartbeat is None, "it has yet to give a sign of life"
