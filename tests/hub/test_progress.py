"""Progress: soft, merged, and never more often than it should be."""

import asyncio
from collections.abc import Iterator

import pytest

from taskyard.core.changes import Event
from taskyard.core.effects import Progressed
from taskyard.gateway.views import ProgressView
from taskyard.hub.progress import LOG_CHARACTERS_MAX, ProgressBoard
from tests.support.hub_scene import Told, a_scene

LONG_S = 3600.0


class Board:
    def __init__(self, interval_s: float = LONG_S) -> None:
        self.told = Told()
        self.board = ProgressBoard(self._tell, interval_s=interval_s)

    def _tell(self, events: list[Event]) -> None:
        for event in events:
            self.told.add(event)

    def note(
        self, task_id: str = "t_1", percent: float | None = None, message: str | None = None, log: str | None = None
    ) -> None:
        self.board.note(Progressed(task_id, "u_ada", 7, 1, percent, message, log))

    @property
    def said(self) -> list[tuple[str | None, object]]:
        return [(event.task_id, event.data) for event in self.told.all]


@pytest.fixture
def board() -> Iterator[Board]:
    board = Board()
    yield board
    board.board.close()


async def test_the_first_news_is_told_at_once_and_the_rest_of_its_second_together(board: Board) -> None:
    board.note(percent=1)
    board.note(percent=2)
    board.note(percent=3, message="nearly")
    board.note("t_2", percent=9)
    assert board.said == [("t_1", {"percent": 1, "message": None})]
    board.board.flush()
    assert board.said[1:] == [
        ("t_1", {"percent": 3, "message": "nearly"}),
        ("t_2", {"percent": 9, "message": None}),
    ]


async def test_what_came_within_a_second_is_told_when_it_is_over() -> None:
    board = Board(interval_s=0.01)
    board.note(percent=1)
    board.note(percent=2)
    await board.told.first(lambda event: event.data["percent"] == 2)
    board.note(percent=3)
    await board.told.first(lambda event: event.data["percent"] == 3)
    assert len(board.said) == 3
    board.board.close()


async def test_after_a_quiet_second_news_is_told_at_once_again() -> None:
    board = Board(interval_s=0.0)
    board.note(percent=1)
    while board.board._timer is not None:
        await asyncio.sleep(0)
    board.note(percent=2)
    assert len(board.said) == 2
    board.board.close()


async def test_a_percentage_and_a_message_are_remembered_apart(board: Board) -> None:
    board.note(percent=40)
    board.note(message="reading")
    assert board.board.view("t_1") == ProgressView(40, "reading")
    board.note(percent=50)
    assert board.board.view("t_1") == ProgressView(50, "reading")


async def test_a_log_is_told_as_text_and_its_end_if_it_is_long(board: Board) -> None:
    board.note(log="a\n")
    board.note(log="b\n")
    board.note(log="c\n" * LOG_CHARACTERS_MAX)
    board.board.close()
    assert board.said[0] == ("t_1", {"text": "a\n"})
    (_, data) = board.said[1]
    assert isinstance(data, dict)
    assert len(data["text"]) == LOG_CHARACTERS_MAX
    assert board.board.view("t_1") is None


async def test_lines_that_came_apart_are_told_as_lines(board: Board) -> None:
    """A daemon sends what was written since the last time, without a break at its end; others send one."""
    board.note(percent=1)
    for piece in ("one\ntwo", "three", "four\n", "", "five"):
        board.note(log=piece)
    board.board.close()
    assert board.said[-1] == ("t_1", {"text": "one\ntwo\nthree\nfour\nfive"})


async def test_the_end_of_one_task_tells_nothing_early_of_another(board: Board) -> None:
    """Else a busy fleet, where something ends all the time, would tell everything at once."""
    board.note(percent=1)
    board.note("t_1", percent=50)
    board.note("t_2", percent=60)
    board.board.forget("t_2")
    board.board.forget("t_3")
    assert [task for task, _ in board.said] == ["t_1", "t_2"]
    assert board.board.view("t_2") is None
    assert board.board.view("t_1") == ProgressView(50, None)


async def test_nothing_is_known_any_more_when_the_state_is_loaded_anew(board: Board) -> None:
    board.note(percent=1)
    board.note(percent=2, log="x")
    board.board.clear()
    assert board.board.is_empty
    board.board.close()
    assert len(board.said) == 1


async def test_progress_is_forgotten_when_the_attempt_ends() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        task_id = await scene.submit()
        attempt = await scene.run(daemon, task_id)
        watcher = scene.watcher()
        scene.progress(daemon, task_id, 30)
        await watcher.event("task.progress")
        scene.progress(daemon, task_id, 90)
        scene.complete(daemon, task_id, attempt)
        await daemon.message("ack")
        told = [one.event.data["percent"] for one in watcher.told.all if one.event.name == "task.progress"]
        assert told == [30, 90]
        assert watcher.names.index("task.completed") > watcher.names.index("task.progress")
        assert await scene.hub.progress([task_id]) == {}


async def test_progress_of_an_attempt_that_never_started_is_forgotten_too() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        task_id = await scene.submit()
        await daemon.message("task.execute")
        watcher = scene.watcher()
        scene.progress(daemon, task_id, 1)
        await watcher.event("task.progress")
        assert await scene.hub.progress([task_id, "nowhere"]) == {task_id: ProgressView(1, None)}
        await scene.daemon(holds=())
        await watcher.event("task.lost")
        assert await scene.hub.progress([task_id]) == {}
