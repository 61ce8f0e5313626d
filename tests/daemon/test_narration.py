"""What a daemon in a terminal says of its work."""

from pathlib import Path

import msgspec
import pytest

from taskyard.daemon.narration import LINES_MAX, Narration
from taskyard.daemon.orders import Start
from taskyard.daemon.task import Task, TaskError
from taskyard.wire.frames import TaskCancelled, TaskCompleted, TaskFailed, TaskRejected, WireError
from tests.daemon.hub_stub import HubStub
from tests.daemon.live_daemon import Held, a_daemon, heard, play, serving
from tests.daemon.scene import ONE, TWO, cancel, execute


class Terminal:
    """What was said, and the clock."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.lines: list[str] = []
        self.narration = Narration(self.lines.append, lambda: self.now_s)

    def begins(self, ref: str = "T-042", type: str = "analysis", *, attempt: int = 1) -> None:
        task = Task(id="t1", ref=ref, type=type, input="a secret")
        self.narration.begins(Start(("t1", attempt), execute(("t1", attempt)), task))


def test_work_is_told_by_name_type_and_time_and_never_by_what_is_in_it() -> None:
    terminal = Terminal()
    for end in (
        TaskCompleted("t1", 1, msgspec.Raw(b'"a secret"'), summary="a secret"),
        TaskFailed("t1", 1, WireError("BOOM", "a secret was wrong")),
        TaskRejected("t1", 1, "a secret"),
    ):
        terminal.begins()
        terminal.now_s += 3.25
        terminal.narration.ends(end)
    terminal.begins(attempt=2)
    terminal.narration.stops(("t1", 2), "cancelled")
    begins = "T-042 begins: analysis, attempt 1"
    assert terminal.lines == [
        begins,
        "T-042 is done after 3.2 s",
        begins,
        "T-042 failed after 3.2 s: BOOM",
        begins,
        "T-042 is given back after 3.2 s",
        "T-042 begins: analysis, attempt 2",
        "T-042 stopped after 0.0 s: cancelled",
    ]


def test_work_that_cannot_be_read_is_told_by_its_id() -> None:
    terminal = Terminal()
    terminal.narration.begins(Start(ONE, execute(ONE)))
    terminal.narration.ends(TaskFailed(*TWO, WireError("INVALID_INPUT", "")))
    assert terminal.lines == ["t1 begins: attempt 1", "t2 failed after 0.0 s: INVALID_INPUT"]


def test_more_than_a_terminal_can_show_is_counted() -> None:
    terminal = Terminal()
    for _ in range(LINES_MAX + 5):
        terminal.begins()
    assert len(terminal.lines) == LINES_MAX
    terminal.now_s += 1
    terminal.begins("T-043")
    assert terminal.lines[LINES_MAX:] == ["… 5 more lines came too fast", "T-043 begins: analysis, attempt 1"]


def test_a_daemon_that_is_watched_says_what_begins_and_how_it_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_: Task) -> None:
        raise TaskError("BOOM", "a secret")

    async def scenario(hub: HubStub) -> None:
        daemon = a_daemon(hub, tmp_path, held := Held(), narrates=True)
        daemon.task("broken")(fails)
        async with serving(daemon), heard("t1 begins: noop, attempt 1") as begun:
            session = await hub.session()
            await session.welcome()
            await session.send(execute(ONE))
            await begun
            async with heard("t1 stopped after") as stopped, heard("t2 failed after") as failed:
                await session.send(cancel(ONE), execute(TWO, type="broken"))
                assert (await stopped).getMessage().endswith(": cancelled")
                assert (await failed).getMessage().endswith(": BOOM")
                await session.receive(TaskCancelled)
        assert held.begun == ["t1"]

    with caplog.at_level("INFO", logger="taskyard.daemon"):
        play(scenario)


def test_a_daemon_that_nobody_watches_says_nothing_of_its_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute(ONE))
            await session.receive(TaskCompleted)

    with caplog.at_level("INFO", logger="taskyard.daemon"):
        play(scenario)
    assert not [record for record in caplog.records if "t1" in record.getMessage()]
