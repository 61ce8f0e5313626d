"""Golden bytes of the daemon protocol: a difference here is a change of the protocol."""

import msgspec
import pytest
from msgspec import Raw

from taskyard.vocabulary import CancelReason, InventoryState, InventoryVerdict, Pressure, PressureScope, ResultStatus
from taskyard.wire import frames
from taskyard.wire.frames import FromDaemon, ToDaemon

FROM_DAEMON: list[tuple[FromDaemon, bytes]] = [
    (
        frames.Hello(protocol=1, boot_id="b", name="mac-1", inventory=[frames.Item("t", 1, InventoryState.ENDED)]),
        b'{"type":"hello","protocol":1,"boot_id":"b","name":"mac-1",'
        b'"inventory":[{"task_id":"t","attempt":1,"state":"ended"}]}',
    ),
    (
        frames.Hello(protocol=1, boot_id="b", name="n", seen=frames.Position("c", 1, 2), max_concurrent_tasks=3),
        b'{"type":"hello","protocol":1,"boot_id":"b","name":"n","max_concurrent_tasks":3,'
        b'"seen":{"cluster_id":"c","epoch":1,"seq":2}}',
    ),
    (
        frames.Heartbeat(0.5, 100, [frames.Item("t", 1)]),
        b'{"type":"heartbeat","load":0.5,"memory_free_mb":100,"running":[{"task_id":"t","attempt":1}]}',
    ),
    (frames.TaskAccepted("t", 1), b'{"type":"task.accepted","task_id":"t","attempt":1}'),
    (frames.TaskStarted("t", 1), b'{"type":"task.started","task_id":"t","attempt":1}'),
    (
        frames.TaskProgress("t", 1, 40.0, "reading", "line\n"),
        b'{"type":"task.progress","task_id":"t","attempt":1,"percent":40.0,"message":"reading","log":"line\\n"}',
    ),
    (
        frames.TaskCheckpoint("t", 1, Raw(b'{"page":3}')),
        b'{"type":"task.checkpoint","task_id":"t","attempt":1,"data":{"page":3}}',
    ),
    (
        frames.TaskCompleted("t", 1, Raw(b"[1]"), "done", ResultStatus.PARTIAL, ["a.py"]),
        b'{"type":"task.completed","task_id":"t","attempt":1,"result":[1],"summary":"done",'
        b'"result_status":"partial","files_changed":["a.py"]}',
    ),
    (frames.TaskCompleted("t", 1), b'{"type":"task.completed","task_id":"t","attempt":1}'),
    (
        frames.TaskCompleted(
            "t", 1, decision_report=frames.DecisionReport("d", "r"), usage=frames.WireUsage(cost_usd=0.5)
        ),
        b'{"type":"task.completed","task_id":"t","attempt":1,"decision_report":{"decision":"d","reasoning":"r"},'
        b'"usage":{"cost_usd":0.5}}',
    ),
    (
        frames.TaskFailed("t", 1, frames.WireError("RATE_LIMITED", "slow", None, {"retry_after": 7})),
        b'{"type":"task.failed","task_id":"t","attempt":1,'
        b'"error":{"code":"RATE_LIMITED","message":"slow","details":{"retry_after":7}}}',
    ),
    (
        frames.TaskCancelled("t", 1, "cancelled"),
        b'{"type":"task.cancelled","task_id":"t","attempt":1,"reason":"cancelled"}',
    ),
    (
        frames.TaskRejected("t", 1, "full"),
        b'{"type":"task.rejected","task_id":"t","attempt":1,"reason":"full"}',
    ),
    (frames.Drain(), b'{"type":"drain"}'),
]

TO_DAEMON: list[tuple[ToDaemon, bytes]] = [
    (
        frames.Welcome(1, "d", 5.0, 30.0, [frames.Judgement("t", 1, InventoryVerdict.ABORT)], "c", 2, 3),
        b'{"type":"welcome","protocol":1,"daemon_id":"d","heartbeat_s":5.0,"lease_s":30.0,'
        b'"inventory":[{"task_id":"t","attempt":1,"verdict":"abort"}],"cluster_id":"c","epoch":2,"seq":3}',
    ),
    (frames.Rejoin(), b'{"type":"rejoin"}'),
    (
        frames.TaskExecute(Raw(b'{"id":"t"}'), 1, 300.0, "tok", Raw(b"[]"), Raw(b"null"), Raw(b"[]")),
        b'{"type":"task.execute","task":{"id":"t"},"attempt":1,"timeout":300.0,"token":"tok","context_input":[],'
        b'"checkpoint":null,"previous_attempts":[]}',
    ),
    (
        frames.CancelTask("t", 1, CancelReason.TIMEOUT, 10.0),
        b'{"type":"cancel_task","task_id":"t","attempt":1,"reason":"timeout","grace_s":10.0}',
    ),
    (
        frames.Ack("t", 1, "c", 2, 3),
        b'{"type":"ack","task_id":"t","attempt":1,"cluster_id":"c","epoch":2,"seq":3}',
    ),
    (frames.HeartbeatAck("c", 2, 3), b'{"type":"heartbeat.ack","cluster_id":"c","epoch":2,"seq":3}'),
    (frames.SlowDown("q", 60.0), b'{"type":"slowdown","queue":"q","wait":60.0}'),
    (
        frames.Backpressure(Pressure.WARNING, PressureScope.HUB, 9, 1.5, ["Slow down."]),
        b'{"type":"backpressure","level":"warning","scope":"hub","queue_depth":9,'
        b'"estimated_wait_time":1.5,"recommendations":["Slow down."]}',
    ),
    (frames.Error("X", "y"), b'{"type":"error","code":"X","message":"y"}'),
]


@pytest.mark.parametrize(("message", "golden"), [*FROM_DAEMON, *TO_DAEMON], ids=lambda value: type(value).__name__)
def test_a_message_looks_as_written_down(message: FromDaemon | ToDaemon, golden: bytes) -> None:
    assert frames.encode(message) == golden


@pytest.mark.parametrize("golden", [golden for _, golden in FROM_DAEMON])
def test_what_a_daemon_says_is_read_back(golden: bytes) -> None:
    (decoded,) = frames.decode_from_daemon(golden)
    assert frames.encode(decoded) == golden


@pytest.mark.parametrize("golden", [golden for _, golden in TO_DAEMON])
def test_what_the_hub_says_is_read_back(golden: bytes) -> None:
    (decoded,) = frames.decode_to_daemon(golden)
    assert frames.encode(decoded) == golden


def test_every_message_has_its_golden_bytes() -> None:
    for union, rows in ((FromDaemon, FROM_DAEMON), (ToDaemon, TO_DAEMON)):
        assert {type(message) for message, _ in rows} == set(union.__args__)


def test_a_frame_is_one_message_or_many() -> None:
    one, two = (frames.encode(frames.TaskAccepted(name, 1)) for name in "ab")
    assert frames.join([one]) == one
    assert len(frames.decode_from_daemon(frames.join([one, two]))) == 2
    assert frames.decode_to_daemon(b'[{"type":"error","code":"a","message":"b"}]') == [frames.Error("a", "b")]


def test_unknown_fields_are_ignored_and_unknown_types_are_not() -> None:
    assert frames.decode_from_daemon(b'{"type":"drain","new":1}') == [frames.Drain()]
    with pytest.raises(msgspec.ValidationError, match=r"\$\.type"):
        frames.decode_from_daemon(b'{"type":"sing"}')
