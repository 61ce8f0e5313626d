"""The log: one object a line, bounded, and nothing in it that was not meant for it."""

import io
import json
import logging
import os
import stat
from pathlib import Path

from taskyard.core.changes import Event
from taskyard.core.commands import CancelTask
from taskyard.hub.observe import Log, LogFile, Records, set_aside
from taskyard.store.port import StoreBroken
from taskyard.vocabulary import EventName, Status
from tests.support.hub_scene import USER, a_scene

HOSTILE = "a\r\nb\x1b[31m\x00\x7f\x85\u202e\u2028\u2066\ufeff\U000e0041 ü 漢"


class Full(io.BytesIO):
    def write(self, lines: bytes) -> int:  # type: ignore[override]
        raise OSError(28, "No space left on device")


def test_an_event_is_one_line_with_what_is_known_of_it() -> None:
    sink = io.BytesIO()
    event = Event(EventName.TASK_STARTED, 1_800_000_000_000, "u_1", "t_1", 7, 2, Status.SCHEDULED, Status.RUNNING)
    Log(sink).events([event, Event(EventName.DAEMON_CONNECTED, 1_800_000_000_001, data={"name": "mac"})])
    first, second = map(json.loads, sink.getvalue().splitlines())
    assert first == {
        "at": "2027-01-15T08:00:00.000Z",
        "event": "task.started",
        "user_id": "u_1",
        "task_id": "t_1",
        "attempt": 2,
        "from": "scheduled",
        "to": "running",
    }
    assert second["data"] == {"name": "mac"}


def test_no_events_are_no_line() -> None:
    sink = io.BytesIO()
    Log(sink).events([])
    assert sink.getvalue() == b""


def test_whatever_would_move_a_cursor_turn_the_writing_or_end_a_line_is_escaped() -> None:
    sink = io.BytesIO()
    log = Log(sink)
    log.say("hub.said", text=HOSTILE)
    log.events([Event(EventName.DAEMON_CONNECTED, 1, data={"name": HOSTILE})])
    text = sink.getvalue().decode()
    assert len(text.splitlines()) == 2
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "ü 漢" in text
    assert [json.loads(line)["data"] for line in text.splitlines()] == [{"text": HOSTILE}, {"name": HOSTILE}]


def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    log = Log(Full())
    log.say("hub.started")
    log.events([Event(EventName.TASK_CREATED, 1)])


def test_of_a_fault_the_place_is_told_and_not_what_it_quotes() -> None:
    sink = io.BytesIO()
    try:
        int("tyk_a key that somebody sent")
    except ValueError as error:
        Log(sink).fault("hub.failed", error)
    said = json.loads(sink.getvalue())
    assert (said["level"], said["data"]["error"]) == ("critical", "ValueError")
    assert said["data"]["places"][0].startswith("test_observe.py:")
    assert b"tyk_" not in sink.getvalue()


def test_what_a_store_says_of_itself_is_told() -> None:
    sink = io.BytesIO()
    Log(sink).fault("store.broken", StoreBroken("disk I/O error"))
    assert json.loads(sink.getvalue())["data"]["reason"] == "disk I/O error"


def test_what_libraries_say_becomes_lines_without_what_they_quote() -> None:
    sink = io.BytesIO()
    logger = logging.Logger("a.library")
    logger.addHandler(Records(Log(sink)))
    logger.info("not worth a line")
    logger.warning("odd header %s", "tyk_secret")
    try:
        int("tyk_secret")
    except ValueError:
        logger.exception("a request failed\nfuture: <Task tyk_secret>")
    first, second = map(json.loads, sink.getvalue().splitlines())
    assert (first["event"], first["level"], first["data"]) == ("a.library", "warning", {"message": "odd header %s"})
    assert (second["level"], second["data"]["message"], second["data"]["error"]) == (
        "error",
        "a request failed",
        "ValueError",
    )
    assert b"tyk_secret" not in sink.getvalue()


# --- the file ----------------------------------------------------------------------------------------------


def test_the_file_is_its_owners_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        file = LogFile(tmp_path / "hub.log")
    finally:
        os.umask(old)
    file.write(b"{}\n")
    file.close()
    assert stat.S_IMODE((tmp_path / "hub.log").stat().st_mode) == 0o600


def test_a_file_goes_on_where_it_ended(tmp_path: Path) -> None:
    for line in (b"one\n", b"two\n"):
        file = LogFile(tmp_path / "hub.log")
        file.write(line)
        file.close()
    assert (tmp_path / "hub.log").read_bytes() == b"one\ntwo\n"


def test_a_running_log_is_bounded(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "hub.log", bytes_max=100)
    for n in range(1000):
        file.write(b'{"n":%d}\n' % n)
    file.close()
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(kept) == {"hub.log", "hub.old.log"}
    assert all(len(content) <= 110 for content in kept.values())
    numbers = [json.loads(line)["n"] for line in (kept["hub.old.log"] + kept["hub.log"]).splitlines()]
    assert numbers == list(range(numbers[0], 1000))


def test_a_log_that_is_too_long_at_a_start_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "hub.log"
    path.write_bytes(b"x" * 200)
    file = LogFile(path, bytes_max=100)
    file.write(b"new\n")
    file.close()
    assert path.read_bytes() == b"new\n"
    assert (tmp_path / "hub.old.log").read_bytes() == b"x" * 200


def test_a_log_that_is_not_there_is_not_set_aside(tmp_path: Path) -> None:
    set_aside(tmp_path / "hub.log")
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_was_cut_short_does_not_spoil_the_next(tmp_path: Path) -> None:
    """A pipe that takes no more than it has room for is cut as a full disk is."""
    read, write = os.pipe2(os.O_NONBLOCK)
    file = LogFile(tmp_path / "hub.log")
    os.dup2(write, file._file)
    file.write(b"x" * (1 << 20))
    os.read(read, 1 << 20)
    file.write(b"whole\n")
    assert os.read(read, 1 << 20) == b"\nwhole\n"
    file.close()
    os.close(read)
    os.close(write)


# --- what a hub's log never has ----------------------------------------------------------------------------


async def test_no_line_of_a_task_has_its_input_its_key_or_its_token() -> None:
    async with a_scene() as scene:
        await scene.a_key("k_1", "tyk_secret of ada")
        daemon = await scene.daemon()
        task_id = await scene.submit(body=b'{"type":"echo","input":"the canary sings"}', key="idem-canary")
        token = (await daemon.message("task.execute"))["token"]
        attempt = await scene.run(daemon, task_id)
        scene.progress(daemon, task_id, 50, log="the canary coughs")
        scene.complete(daemon, task_id, attempt)
        await daemon.message("ack")
        other = await scene.submit(type="nobody's")
        await scene.ask(CancelTask(USER, other, actor="test"))
        text = scene.log.text
        assert '"event":"task.completed"' in text
        for secret in ("canary", "tyk_secret", token):
            assert secret not in text
