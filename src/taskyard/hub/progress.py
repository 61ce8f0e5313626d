"""Progress and log lines on their way to whoever watches: soft, merged, at most once a second per task."""

import asyncio
from collections.abc import Callable

from taskyard.core.changes import Data, Event
from taskyard.core.effects import Progressed
from taskyard.gateway.port import ProgressView
from taskyard.hub.clock import read_clock
from taskyard.vocabulary import EventName

INTERVAL_S = 1.0
LOG_CHARACTERS_MAX = 64 * 1024
# What is told of a log within one interval; the whole of it is in the store.


class ProgressBoard:
    """The last word of each running task, and the news that has yet to be told."""

    def __init__(self, tell: Callable[[list[Event]], None]) -> None:
        self._tell = tell
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
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._on_timer)

    def forget(self, task_id: str) -> None:
        if task_id in self._last or task_id in self._news:
            self.flush()
            self._last.pop(task_id, None)

    def flush(self) -> None:
        """Tell what has come since the last time."""
        news, self._news = self._news, {}
        logs, self._logs = self._logs, {}
        events: list[Event] = []
        for task_id, one in news.items():
            view = self._last.get(task_id)
            if view is not None:
                data: Data = {"percent": view.percent, "message": view.message}
                events.append(self._event(EventName.TASK_PROGRESS, one, data))
            if task_id in logs:
                text = "".join(logs[task_id])[-LOG_CHARACTERS_MAX:]
                events.append(self._event(EventName.TASK_LOG, one, {"text": text}))
        if events:
            self._tell(events)

    def _event(self, name: EventName, news: Progressed, data: Data) -> Event:
        return Event(name, read_clock().wall, news.user_id, news.task_id, news.number, news.attempt, data=data)

    def _on_timer(self) -> None:
        self._timer = None
        if self._news:
            self.flush()
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._on_timer)
