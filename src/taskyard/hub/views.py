"""What people see of the live state that no row holds."""

from taskyard.core.state import Daemon, State
from taskyard.gateway.port import DaemonView
from taskyard.vocabulary import DaemonStatus


def daemon_views(state: State) -> list[DaemonView]:
    return [_view(daemon) for daemon in state.daemons.values()]


def _view(daemon: Daemon) -> DaemonView:
    record = daemon.record
    running = [(task.id, task.newest.number) for task in daemon.holding.values() if task.newest is not None]
    return DaemonView(
        id=record.id,
        name=record.name,
        user_id=record.user_id,
        shared=record.shared,
        status=_status(daemon),
        capabilities=record.capabilities,
        models=record.models,
        types=record.types,
        active_tasks=daemon.active,
        max_concurrent_tasks=record.slots,
        current_load=daemon.load,
        memory_free_mb=daemon.memory_free_mb,
        last_heartbeat=record.last_seen_at or None,
        connected_at=record.connected_at,
        version=record.version,
        running=running,
    )


def _status(daemon: Daemon) -> DaemonStatus:
    if not daemon.session:
        return DaemonStatus.OFFLINE
    if daemon.record.draining:
        return DaemonStatus.DRAINING
    return DaemonStatus.ONLINE if daemon.has_room() else DaemonStatus.BUSY
