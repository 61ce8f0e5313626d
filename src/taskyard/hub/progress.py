"""Progress and log lines on their way to whoever watches: soft, merged, at most once a second per task."""

import asyncio
from collections.abc import Callable, Iterable

from taskyard.core.changes import Data, Event
from taskyard.core.effects import Progressed
from taskyard.gateway.views import ProgressView
from taskyard.hub.clock import read_clock
from taskyard.vocabulary import EventName

INTERVAL_S = 1.0
LOG_CHARACTERS_MAX = 64 * 1024
# What is told of a log within one interval; the whole of it is in the store.


class ProgressBoard:
    """The last word of each running task, and the news that has yet to be told."""

    def __init__(self, tell: Callable[[list[Event]], None], *, interval_s: float = INTERVAL_S) -> None:
        self._tell = tell
        self._interval_s = interval_s
        self._last: dict[str, ProgressView] = {}
        self._news: dict[str, Progressed] = {}
        self._logs: dict[str, list[str]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_empty(self) -> bool:
        return not self._last and not self._news

    def view(self, task_id: str) -> ProgressView | None:
        return self._last.get(task_id)

    def note(self, news: Progressed) -> None:
        if news.percent is not None or news.message is not None:
            last = self._last.get(news.task_id) or ProgressView(None, None)
            percent = last.percent if news.percent is None else news.percent
            message = last.message if news.message is None else news.message
            self._last[news.task_id] = ProgressView(percent, message)
        self._news[news.task_id] = news
        if news.log:
            self._logs.setdefault(news.task_id, []).append(news.log)
        if self._timer is None:
            # The first news of a quiet second goes out at once, what follows within it together.
            self.flush()
            self._set_timer()

    def forget(self, task_id: str) -> None:
        """Its attempt ended: what is untold of it is told now, and of it alone."""
        if task_id in self._news:
            self._tell_of((task_id,))
        self._last.pop(task_id, None)

    def clear(self) -> None:
        """The state was loaded anew: nobody knows any more whose these were."""
        self._last, self._news, self._logs = {}, {}, {}

    def close(self) -> None:
        self.flush()
        if self._timer is not None:
            self._timer.cancel()

    def flush(self) -> None:
        """Tell what has come since the last time."""
        self._tell_of(tuple(self._news))

    def _tell_of(self, task_ids: Iterable[str]) -> None:
        events: list[Event] = []
        for task_id in task_ids:
            news, log, view = self._news.pop(task_id), self._logs.pop(task_id, None), self._last.get(task_id)
            if view is not None:
                data: Data = {"percent": view.percent, "message": view.message}
                events.append(self._event(EventName.TASK_PROGRESS, news, data))
            if log is not None:
                events.append(self._event(EventName.TASK_LOG, news, {"text": _lines(log)[-LOG_CHARACTERS_MAX:]}))
        if events:
            self._tell(events)

    def _event(self, name: EventName, news: Progressed, data: Data) -> Event:
        return Event(name, read_clock().wall, news.user_id, news.task_id, news.number, news.attempt, data=data)

    def _set_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._interval_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._news:
            self.flush()
            self._set_timer()


def _lines(pieces: list[str]) -> str:
    """A piece is whole lines, with a break after its last one or without."""
    *earlier, last = pieces
    return "".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in earlier) + last
