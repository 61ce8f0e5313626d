"""What an attempt says of itself over HTTP, vouched for by its token or by its user's daemon key."""

from taskyard.core.commands import BeatTask, Command, ReportProgress, SaveCheckpoint
from taskyard.core.settings import Sizes
from taskyard.gateway.call import Call, OfUser, Reply, RequestRefused, refuse_fields, task_not_found
from taskyard.gateway.rest.tasks import ask, find
from taskyard.gateway.sizes import oversize_of
from taskyard.gateway.translate import ending_of
from taskyard.vocabulary import Refusal
from taskyard.wire.problems import FieldError
from taskyard.wire.submission import CheckpointReport, Completion, HeartbeatReport, ProgressReport
from taskyard.wire.tasks import OkAnswer


async def complete(call: Call[OfUser], body: Completion) -> Reply:
    task_id, attempt = await _spoken_for(call, body.attempt)
    size = call.door.size
    _check_size(body, size)
    return await _ok(call, ending_of(body, task_id=task_id, attempt=attempt, now_ms=call.hub.now_ms(), size=size))


async def progress(call: Call[OfUser], body: ProgressReport) -> Reply:
    task_id, attempt = await _spoken_for(call, body.attempt)
    return await _ok(
        call,
        ReportProgress(
            daemon_id=None,
            task_id=task_id,
            attempt=attempt,
            percent=body.percent,
            message=body.message,
            log=body.log,
        ),
    )


async def checkpoint(call: Call[OfUser], body: CheckpointReport) -> Reply:
    task_id, attempt = await _spoken_for(call, body.attempt)
    _check_size(body, call.door.size)
    return await _ok(call, SaveCheckpoint(daemon_id=None, task_id=task_id, attempt=attempt, data=bytes(body.data)))


async def heartbeat(call: Call[OfUser], body: HeartbeatReport) -> Reply:
    task_id, attempt = await _spoken_for(call, body.attempt)
    return await _ok(call, BeatTask(task_id=task_id, attempt=attempt))


async def _spoken_for(call: Call[OfUser], said: int | None) -> tuple[str, int]:
    """The task and attempt the caller may speak for."""
    spoken_for = call.principal.attempt
    if spoken_for is None:
        stored = await find(call, call.query.user)
        if said is None:
            raise refuse_fields([FieldError("attempt", "is required with a key; a task's token says it by itself")])
        return stored.task.id, said
    task_id, attempt = spoken_for
    if call.id != task_id:
        # Perhaps by its ref.
        user_id = call.principal.user_id
        stored_or_none = await call.hub.read(lambda reader: reader.find(user_id=user_id, task=call.id))
        if stored_or_none is None or stored_or_none.task.id != task_id:
            raise task_not_found()
    if said is not None and said != attempt:
        raise RequestRefused(Refusal.FORBIDDEN, "This token speaks for another attempt.")
    return spoken_for


def _check_size(body: Completion | CheckpointReport, size: Sizes) -> None:
    if faults := oversize_of(body, size):
        raise refuse_fields(faults, Refusal.TOO_LARGE)


async def _ok(call: Call[OfUser], command: Command) -> Reply:
    await ask(call, command)
    return Reply(OkAnswer())
