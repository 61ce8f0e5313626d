"""The client for programs that wait: one call, one answer.

    client = Client()                      # finds the hub of this machine's `taskyard up`
    task = client.submit("hello", type="echo").wait()
    print(task.result)

Safe to share between threads. Connections are kept open and reused.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from http import HTTPStatus
from itertools import count
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    SSLError,
)
from urllib3.response import BaseHTTPResponse

from taskyard.sdk import requests
from taskyard.sdk.answers import (
    Acknowledged,
    Backpressure,
    Cancellation,
    Claimed,
    Event,
    LogLine,
    Overview,
    PatternReview,
    Said,
    Why,
)
from taskyard.sdk.credentials import Credentials, find_credentials
from taskyard.sdk.errors import BadAnswer, HubUnreachable, Limited, TaskyardError, refusal
from taskyard.sdk.events import EventReader
from taskyard.sdk.hooks import HookCalls
from taskyard.sdk.many import ManyCalls
from taskyard.sdk.notifications import NotificationCalls
from taskyard.sdk.people import PeopleCalls
from taskyard.sdk.records import (
    AuditEntry,
    BreakerRecord,
    DaemonRecord,
    HubRecord,
    Metrics,
    QueueRecord,
)
from taskyard.sdk.request import Request, next_page, on_behalf, settle
from taskyard.sdk.requests import Batch
from taskyard.sdk.retry import PATIENT, PROMPT, OnLimited, RetryPolicy, log_limited, policy_for
from taskyard.sdk.schedules import ScheduleCalls
from taskyard.sdk.submission import NewTask, TaskOptions
from taskyard.sdk.task import Task, bind, warn_of_repetitions
from taskyard.sdk.templates import TemplateCalls
from taskyard.wire.addresses import Turn, each_hub
from taskyard.wire.imports import Import, ImportAnswer
from taskyard.wire.report import ReportAnswer

T = TypeVar("T")

TIMEOUT_S = 30.0
CONNECT_S = 5.0
# A machine that is gone answers nothing at all; another hub may.
STREAM_SILENCE_S = 60.0
# A hub writes to an idle stream every 15 s. Four of them missed: the connection is dead, take another.


class Client(HookCalls, ManyCalls, NotificationCalls, PeopleCalls, ScheduleCalls, TemplateCalls):
    def __init__(
        self,
        hub: str | None = None,
        key: str | None = None,
        *,
        data: str | None = None,
        user: str | None = None,
        timeout_s: float = TIMEOUT_S,
        retry: RetryPolicy = PROMPT,
        patience: RetryPolicy = PATIENT,
        on_limited: OnLimited = log_limited,
    ) -> None:
        """Without `hub` and `key`: as `find_credentials` says. Several hubs of one yard stand with commas between them.

        `user` is for admins: whose tasks are meant. `patience` is for waits and event streams. `on_limited` is told of
        each limit before it is waited out; without it a line of the log `taskyard.sdk` says so.
        """
        self.credentials: Credentials = find_credentials(data, hub, key)
        self._user = user
        self._timeout_s = timeout_s
        self._retry = retry
        self._patience = patience
        self._on_limited = on_limited
        hubs = each_hub(self.credentials.hub)
        self._turn = Turn(hubs)
        self._headers = {"Authorization": f"Bearer {self.credentials.key}", "Accept": "application/json"}
        self._pools = {hub: urllib3.connection_from_url(hub, maxsize=16, retries=False) for hub in hubs}
        self._prefixes = {hub: urlsplit(hub).path for hub in hubs}

    @property
    def hub(self) -> str:
        """The address that is called: of several hubs, the one that answered last."""
        return self._turn.hub

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- submitting and reading ----------------------------------------------------------------------------

    def submit(self, input: str | None = None, *, wait: bool = True, **options: Unpack[TaskOptions]) -> Task:
        """Hand in one task; a `template` may have its input.

        With a key that was used before it is the task of then, with `deduplicated`: a warning (`SubmittedBefore`) says
        so where that was cancelled or skipped.

        A limit (429) is waited out for a while and said to `on_limited`; with `wait=False` it is raised at once, as
        `Limited` with its `backpressure`.
        """
        task = self.call(requests.submit_task(Task, {"input": input, **options}, wait=wait))
        warn_of_repetitions([task])
        return task

    def submit_batch(self, tasks: Sequence[NewTask], *, partial: bool = False, wait: bool = True) -> Batch[Task]:
        batch = self.call(requests.submit_batch(Task, tasks, partial=partial, wait=wait))
        warn_of_repetitions(batch.tasks)
        return batch

    def say(self, text: str, *, channel: str | None = None, dry_run: bool = False) -> Said[Task]:
        """A chat message, in English or Chinese: its tasks are added, its commands done, and it is answered."""
        return self.call(requests.say(Task, text, channel=channel, dry_run=dry_run))

    def import_piece(self, piece: Import) -> ImportAnswer:
        """A piece of an import, or a look at what it would do; asked again it changes nothing."""
        return self.call(requests.import_piece(piece))

    def report(self, *, since: str | None = None) -> ReportAnswer:
        """What happened since an instant (ISO 8601), or in the last twelve hours."""
        return self.call(requests.report(since=since))

    def export(self, *, archived: bool = False) -> Iterator[Task]:
        """All one's tasks in full, newest first: those that are not archived, or those that are."""
        return self._pages(requests.export_tasks(Task, archived=archived))

    def task(self, task: str, *, wait_s: float | None = None) -> Task:
        """By id or ref. With `wait_s`: when it has ended, or when the time is up."""
        return self.call(requests.get_task(Task, task, wait_s=wait_s))

    def tasks(self, **filters: Any) -> Iterator[Task]:
        """Newest first; page after page is fetched as you go. Filters as in `requests.list_tasks`."""
        return self._pages(requests.list_tasks(Task, **filters))

    def task_events(self, task: str) -> list[Event]:
        return self.call(requests.task_events(task))

    def why(self, task: str) -> Why:
        """Why it is not running, what would change that, and when."""
        return self.call(requests.why(task))

    def overview(self) -> Overview:
        """How many of one's tasks run and wait, and what holds most of them back."""
        return self.call(requests.overview())

    def log(self, task: str, *, attempt: int | None = None, after: str | None = None) -> list[LogLine]:
        """What its attempts wrote, in order; with the `cursor` of a piece, what came after it."""
        return list(self._pages(requests.task_log(task, attempt=attempt, after=after)))

    # --- changing ------------------------------------------------------------------------------------------

    def cancel(self, task: str, *, reason: str | None = None) -> Cancellation:
        return self.call(requests.cancel_task(task, reason=reason))

    def change(self, task: str, **changes: Any) -> Task:
        """`priority`, `deadline` or `scheduled_for` of a task that has not started."""
        return self.call(requests.patch_task(Task, task, changes))

    def retry(self, task: str) -> Task:
        return self.call(requests.retry_task(Task, task))

    def skip(self, task: str, *, reason: str | None = None) -> Task:
        return self.call(requests.skip_task(Task, task, reason=reason))

    def claim(self, name: str, **terms: Any) -> Claimed | None:
        """One task to work on, as `requests.claim` says; None if none came in time. Needs a key of scope `daemon`."""
        return self.call(requests.claim(name, **terms))

    def complete(self, task: str, **outcome: Any) -> Acknowledged:
        return self.call(requests.complete_task(task, **outcome))

    def progress(self, task: str, **progress: Any) -> Acknowledged:
        return self.call(requests.report_progress(task, **progress))

    def checkpoint(self, task: str, data: Any, *, attempt: int | None = None) -> Acknowledged:
        return self.call(requests.save_checkpoint(task, data, attempt=attempt))

    def heartbeat(self, task: str, *, attempt: int | None = None) -> Acknowledged:
        return self.call(requests.beat(task, attempt=attempt))

    def dead_letters(self, *, fingerprint: str | None = None) -> Iterator[Task]:
        return self._pages(requests.dead_letters(Task, fingerprint=fingerprint))

    def review(self, task: str, verdict: str, *, reason: str, **terms: Any) -> Task:
        return self.call(requests.review(Task, task, {"verdict": verdict, "reason": reason, **terms}))

    def review_pattern(self, fingerprint: str, verdict: str, *, reason: str, **terms: Any) -> PatternReview:
        return self.call(requests.review_pattern(fingerprint, {"verdict": verdict, "reason": reason, **terms}))

    def reviews(self, day: date) -> list[AuditEntry]:
        """The verdicts of a day in UTC, newest first."""
        return self.call(requests.reviews(day))

    # --- daemons, queues, breakers, the hub ----------------------------------------------------------------

    def daemons(self) -> list[DaemonRecord]:
        return self.call(requests.daemons())

    def daemon(self, daemon: str) -> DaemonRecord:
        return self.call(requests.get_daemon(daemon))

    def drain(self, daemon: str) -> Acknowledged:
        return self.call(requests.drain_daemon(daemon))

    def resume_daemon(self, daemon: str) -> Acknowledged:
        """Take a drain back."""
        return self.call(requests.resume_daemon(daemon))

    def forget_daemon(self, daemon: str) -> Acknowledged:
        """Delete what is known of a daemon that does not come back."""
        return self.call(requests.forget_daemon(daemon))

    def queues(self) -> list[QueueRecord]:
        """With their state, and how many of one's own tasks wait and run in each."""
        return self.call(requests.queues())

    def put_queue(self, name: str, *, models: Sequence[str] = (), max_concurrent: int | None = None) -> QueueRecord:
        """Set what a queue serves and how many it runs; this wins over the hub's file."""
        return self.call(requests.put_queue(name, models=models, max_concurrent=max_concurrent))

    def delete_queue(self, name: str) -> Acknowledged:
        """Remove what was set; what the hub's file says holds again."""
        return self.call(requests.delete_queue(name))

    def pause_queue(self, name: str) -> QueueRecord:
        return self.call(requests.pause_queue(name))

    def resume_queue(self, name: str) -> QueueRecord:
        return self.call(requests.resume_queue(name))

    def backpressure(self) -> Backpressure:
        """Whether to slow down."""
        return self.call(requests.backpressure())

    def breakers(self) -> list[BreakerRecord]:
        """Those that count failures or hold tasks back."""
        return self.call(requests.breakers())

    def reset_breaker(self, type: str) -> BreakerRecord:
        return self.call(requests.reset_breaker(type))

    def open_breaker(self, type: str) -> BreakerRecord:
        return self.call(requests.open_breaker(type))

    def hubs(self) -> list[HubRecord]:
        """Those that were there within a day; one of them leads."""
        return self.call(requests.hubs())

    def metrics(self) -> Metrics:
        """How the hub does, over everybody's tasks: for admins."""
        return self.call(requests.metrics())

    def healthz(self) -> dict[str, Any]:
        return self.call(requests.healthz())

    # --- events --------------------------------------------------------------------------------------------

    def events(
        self,
        task: str | None = None,
        types: Sequence[str] | None = None,
        last_event_id: str | None = None,
    ) -> Iterator[Event]:
        """What happens from now on, or after `last_event_id`, without an end and without a gap.

        A stream that breaks is taken up again where it was. A `resync` event says that the hub no longer
        keeps what was missed.
        """
        reader = EventReader(last_event_id)
        while True:
            try:
                yield from self._stream(task, types, reader)
            except TaskyardError as error:
                reader.broken()
                self._pause(error, self._patience, attempt=reader.failures, idempotent=True)

    def _stream(self, task: str | None, types: Sequence[str] | None, reader: EventReader) -> Iterator[Event]:
        """One connection's worth of events."""
        request = requests.events(task=task, types=types, last_event_id=reader.last_event_id)
        request = on_behalf(request, self._user)
        hub = self._turn.hub
        response = self._send(request, hub, timeout_s=STREAM_SILENCE_S, whole=False)
        try:
            if response.status >= 400:
                raise refusal(response.status, response.headers, response.data)
            if "text/event-stream" not in response.headers.get("Content-Type", ""):
                raise BadAnswer(f"{hub} answered with no event stream.")
            while chunk := response.read1(65_536):
                yield from reader.feed(chunk)
        except HTTPError as error:
            self._turn.pass_over(hub)
            raise HubUnreachable(f"The event stream of {hub} broke off.") from error
        finally:
            response.close()
        raise HubUnreachable(f"The hub at {hub} ended the event stream.")

    # --- carrying ------------------------------------------------------------------------------------------

    def call(self, request: Request[T]) -> T:
        """Carry a request; again where that is safe and can help."""
        return self._exchange(request)[0]

    def _exchange(self, request: Request[T]) -> tuple[T, Mapping[str, str]]:
        request = on_behalf(request, self._user)
        policy = policy_for(request, prompt=self._retry, patient=self._patience)
        for attempt in count(1):
            try:
                response = self._send(request, self._turn.hub, timeout_s=self._timeout_s + request.wait_s)
                answer = settle(request, response.status, response.headers, response.data)
            except TaskyardError as error:
                self._pause(error, policy, attempt=attempt, idempotent=request.idempotent)
            else:
                bind(answer, self)
                return answer, response.headers
        raise AssertionError("count() has no end")

    def _pages(self, request: Request[list[T]]) -> Iterator[T]:
        page: Request[list[T]] | None = request
        while page is not None:
            answer, headers = self._exchange(page)
            yield from answer
            page = next_page(page, headers)

    def _send(self, request: Request[Any], hub: str, *, timeout_s: float, whole: bool = True) -> BaseHTTPResponse:
        try:
            response = self._pools[hub].urlopen(
                request.method,
                self._prefixes[hub] + request.target,
                body=request.body,
                headers={**self._headers, **request.headers},
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=min(CONNECT_S, timeout_s), read=timeout_s),
                preload_content=whole,
            )
        except (NewConnectionError, ConnectTimeoutError, SSLError) as error:
            self._turn.pass_over(hub)
            raise HubUnreachable(f"No hub answers at {hub}.", sent=False) from error
        except HTTPError as error:
            self._turn.pass_over(hub)
            raise HubUnreachable(f"The hub at {hub} did not answer {request.method} {request.path}.") from error
        if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
            self._turn.pass_over(hub)
        return response

    def _pause(self, error: TaskyardError, policy: RetryPolicy, *, attempt: int, idempotent: bool) -> None:
        """Sleep before the next attempt, or raise the error if there is none."""
        pause_s = policy.pause_s(error, attempt=attempt, idempotent=idempotent, dice=random.random())
        if pause_s is None:
            raise error
        if isinstance(error, Limited):
            self._on_limited(error, pause_s)
        time.sleep(pause_s)
