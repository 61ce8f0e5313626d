"""The client for asyncio programs.

    async with AsyncClient() as client:
        task = await client.submit("hello", type="echo")
        await task.wait()

The same calls as `Client`, awaited. It belongs to the event loop it first called from.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date
from http import HTTPStatus
from itertools import count
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import aiohttp
from yarl import URL

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
from taskyard.sdk.client import CONNECT_S, STREAM_SILENCE_S, TIMEOUT_S
from taskyard.sdk.credentials import Credentials, find_credentials
from taskyard.sdk.errors import BadAnswer, HubUnreachable, Limited, TaskyardError, refusal
from taskyard.sdk.events import EventReader
from taskyard.sdk.hooks import AsyncHookCalls
from taskyard.sdk.many import AsyncManyCalls
from taskyard.sdk.notifications import AsyncNotificationCalls
from taskyard.sdk.people import AsyncPeopleCalls
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
from taskyard.sdk.schedules import AsyncScheduleCalls
from taskyard.sdk.submission import NewTask, TaskOptions
from taskyard.sdk.task import AsyncTask, bind, warn_of_repetitions
from taskyard.sdk.templates import AsyncTemplateCalls
from taskyard.wire.addresses import Turn, each_hub
from taskyard.wire.imports import Import, ImportAnswer
from taskyard.wire.report import ReportAnswer

T = TypeVar("T")


class AsyncClient(
    AsyncHookCalls, AsyncManyCalls, AsyncNotificationCalls, AsyncPeopleCalls, AsyncScheduleCalls, AsyncTemplateCalls
):
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
        """As `Client`."""
        self.credentials: Credentials = find_credentials(data, hub, key)
        self._turn = Turn(each_hub(self.credentials.hub))
        self._user = user
        self._timeout_s = timeout_s
        self._retry = retry
        self._patience = patience
        self._on_limited = on_limited
        self._headers = {
            "Authorization": f"Bearer {self.credentials.key}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        self._session: aiohttp.ClientSession | None = None
        self._urls: dict[tuple[str, str], URL] = {}

    @property
    def hub(self) -> str:
        """The address that is called: of several hubs, the one that answered last."""
        return self._turn.hub

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- submitting and reading ----------------------------------------------------------------------------

    async def submit(self, input: str | None = None, *, wait: bool = True, **options: Unpack[TaskOptions]) -> AsyncTask:
        """Hand in one task; a `template` may have its input.

        With a key that was used before it is the task of then, with `deduplicated`: a warning (`SubmittedBefore`) says
        so where that was cancelled or skipped.

        A limit (429) is waited out for a while and said to `on_limited`; with `wait=False` it is raised at once, as
        `Limited` with its `backpressure`.
        """
        task = await self.call(requests.submit_task(AsyncTask, {"input": input, **options}, wait=wait))
        warn_of_repetitions([task])
        return task

    async def submit_batch(
        self, tasks: Sequence[NewTask], *, partial: bool = False, wait: bool = True
    ) -> Batch[AsyncTask]:
        batch = await self.call(requests.submit_batch(AsyncTask, tasks, partial=partial, wait=wait))
        warn_of_repetitions(batch.tasks)
        return batch

    async def say(self, text: str, *, channel: str | None = None, dry_run: bool = False) -> Said[AsyncTask]:
        """A chat message, in English or Chinese: its tasks are added, its commands done, and it is answered."""
        return await self.call(requests.say(AsyncTask, text, channel=channel, dry_run=dry_run))

    async def import_piece(self, piece: Import) -> ImportAnswer:
        """A piece of an import, or a look at what it would do; asked again it changes nothing."""
        return await self.call(requests.import_piece(piece))

    async def report(self, *, since: str | None = None) -> ReportAnswer:
        """What happened since an instant (ISO 8601), or in the last twelve hours."""
        return await self.call(requests.report(since=since))

    def export(self, *, archived: bool = False) -> AsyncIterator[AsyncTask]:
        """All one's tasks in full, newest first: those that are not archived, or those that are."""
        return self._pages(requests.export_tasks(AsyncTask, archived=archived))

    async def task(self, task: str, *, wait_s: float | None = None) -> AsyncTask:
        """By id or ref. With `wait_s`: when it has ended, or when the time is up."""
        return await self.call(requests.get_task(AsyncTask, task, wait_s=wait_s))

    def tasks(self, **filters: Any) -> AsyncIterator[AsyncTask]:
        """Newest first; page after page is fetched as you go. Filters as in `requests.list_tasks`."""
        return self._pages(requests.list_tasks(AsyncTask, **filters))

    async def task_events(self, task: str) -> list[Event]:
        return await self.call(requests.task_events(task))

    async def why(self, task: str) -> Why:
        """Why it is not running, what would change that, and when."""
        return await self.call(requests.why(task))

    async def overview(self) -> Overview:
        """How many of one's tasks run and wait, and what holds most of them back."""
        return await self.call(requests.overview())

    async def log(self, task: str, *, attempt: int | None = None, after: str | None = None) -> list[LogLine]:
        return [piece async for piece in self._pages(requests.task_log(task, attempt=attempt, after=after))]

    # --- changing ------------------------------------------------------------------------------------------

    async def cancel(self, task: str, *, reason: str | None = None) -> Cancellation:
        return await self.call(requests.cancel_task(task, reason=reason))

    async def change(self, task: str, **changes: Any) -> AsyncTask:
        """`priority`, `deadline` or `scheduled_for` of a task that has not started."""
        return await self.call(requests.patch_task(AsyncTask, task, changes))

    async def retry(self, task: str) -> AsyncTask:
        return await self.call(requests.retry_task(AsyncTask, task))

    async def skip(self, task: str, *, reason: str | None = None) -> AsyncTask:
        return await self.call(requests.skip_task(AsyncTask, task, reason=reason))

    async def claim(self, name: str, **terms: Any) -> Claimed | None:
        """One task to work on, as `requests.claim` says; None if none came in time. Needs a key of scope `daemon`."""
        return await self.call(requests.claim(name, **terms))

    async def complete(self, task: str, **outcome: Any) -> Acknowledged:
        return await self.call(requests.complete_task(task, **outcome))

    async def progress(self, task: str, **progress: Any) -> Acknowledged:
        return await self.call(requests.report_progress(task, **progress))

    async def checkpoint(self, task: str, data: Any, *, attempt: int | None = None) -> Acknowledged:
        return await self.call(requests.save_checkpoint(task, data, attempt=attempt))

    async def heartbeat(self, task: str, *, attempt: int | None = None) -> Acknowledged:
        return await self.call(requests.beat(task, attempt=attempt))

    def dead_letters(self, *, fingerprint: str | None = None) -> AsyncIterator[AsyncTask]:
        return self._pages(requests.dead_letters(AsyncTask, fingerprint=fingerprint))

    async def review(self, task: str, verdict: str, *, reason: str, **terms: Any) -> AsyncTask:
        return await self.call(requests.review(AsyncTask, task, {"verdict": verdict, "reason": reason, **terms}))

    async def review_pattern(self, fingerprint: str, verdict: str, *, reason: str, **terms: Any) -> PatternReview:
        return await self.call(requests.review_pattern(fingerprint, {"verdict": verdict, "reason": reason, **terms}))

    async def reviews(self, day: date) -> list[AuditEntry]:
        """The verdicts of a day in UTC, newest first."""
        return await self.call(requests.reviews(day))

    # --- daemons, queues, breakers, the hub ----------------------------------------------------------------

    async def daemons(self) -> list[DaemonRecord]:
        return await self.call(requests.daemons())

    async def daemon(self, daemon: str) -> DaemonRecord:
        return await self.call(requests.get_daemon(daemon))

    async def drain(self, daemon: str) -> Acknowledged:
        return await self.call(requests.drain_daemon(daemon))

    async def resume_daemon(self, daemon: str) -> Acknowledged:
        """Take a drain back."""
        return await self.call(requests.resume_daemon(daemon))

    async def forget_daemon(self, daemon: str) -> Acknowledged:
        """Delete what is known of a daemon that does not come back."""
        return await self.call(requests.forget_daemon(daemon))

    async def queues(self) -> list[QueueRecord]:
        """With their state, and how many of one's own tasks wait and run in each."""
        return await self.call(requests.queues())

    async def put_queue(
        self, name: str, *, models: Sequence[str] = (), max_concurrent: int | None = None
    ) -> QueueRecord:
        """Set what a queue serves and how many it runs; this wins over the hub's file."""
        return await self.call(requests.put_queue(name, models=models, max_concurrent=max_concurrent))

    async def delete_queue(self, name: str) -> Acknowledged:
        """Remove what was set; what the hub's file says holds again."""
        return await self.call(requests.delete_queue(name))

    async def pause_queue(self, name: str) -> QueueRecord:
        return await self.call(requests.pause_queue(name))

    async def resume_queue(self, name: str) -> QueueRecord:
        return await self.call(requests.resume_queue(name))

    async def backpressure(self) -> Backpressure:
        """Whether to slow down."""
        return await self.call(requests.backpressure())

    async def breakers(self) -> list[BreakerRecord]:
        """Those that count failures or hold tasks back."""
        return await self.call(requests.breakers())

    async def reset_breaker(self, type: str) -> BreakerRecord:
        return await self.call(requests.reset_breaker(type))

    async def open_breaker(self, type: str) -> BreakerRecord:
        return await self.call(requests.open_breaker(type))

    async def hubs(self) -> list[HubRecord]:
        """Those that were there within a day; one of them leads."""
        return await self.call(requests.hubs())

    async def metrics(self) -> Metrics:
        """How the hub does, over everybody's tasks: for admins."""
        return await self.call(requests.metrics())

    async def healthz(self) -> dict[str, Any]:
        return await self.call(requests.healthz())

    # --- events --------------------------------------------------------------------------------------------

    async def events(
        self,
        task: str | None = None,
        types: Sequence[str] | None = None,
        last_event_id: str | None = None,
    ) -> AsyncIterator[Event]:
        """As `Client.events`."""
        reader = EventReader(last_event_id)
        while True:
            try:
                async for event in self._stream(task, types, reader):
                    yield event
            except TaskyardError as error:
                reader.broken()
                await self._pause(error, self._patience, attempt=reader.failures, idempotent=True)

    async def _stream(self, task: str | None, types: Sequence[str] | None, reader: EventReader) -> AsyncIterator[Event]:
        """One connection's worth of events."""
        request = requests.events(task=task, types=types, last_event_id=reader.last_event_id)
        request = on_behalf(request, self._user)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout_s, sock_read=STREAM_SILENCE_S)
        hub = self._turn.hub
        response = await self._send(request, hub, timeout, whole=False)
        try:
            if response.status >= 400:
                raise refusal(response.status, response.headers, await response.read())
            if "text/event-stream" not in response.headers.get("Content-Type", ""):
                raise BadAnswer(f"{hub} answered with no event stream.")
            async for chunk in response.content.iter_any():
                for event in reader.feed(chunk):
                    yield event
        except (aiohttp.ClientError, TimeoutError) as error:
            self._turn.pass_over(hub)
            raise HubUnreachable(f"The event stream of {hub} broke off.") from error
        finally:
            response.close()
        raise HubUnreachable(f"The hub at {hub} ended the event stream.")

    # --- carrying ------------------------------------------------------------------------------------------

    async def call(self, request: Request[T]) -> T:
        """Carry a request; again where that is safe and can help."""
        return (await self._exchange(request))[0]

    async def _exchange(self, request: Request[T]) -> tuple[T, Mapping[str, str]]:
        request = on_behalf(request, self._user)
        policy = policy_for(request, prompt=self._retry, patient=self._patience)
        connect_s = min(CONNECT_S, self._timeout_s)
        timeout = aiohttp.ClientTimeout(total=self._timeout_s + request.wait_s, sock_connect=connect_s)
        for attempt in count(1):
            try:
                response = await self._send(request, self._turn.hub, timeout)
                answer = settle(request, response.status, response.headers, await response.read())
            except TaskyardError as error:
                await self._pause(error, policy, attempt=attempt, idempotent=request.idempotent)
            else:
                bind(answer, self)
                return answer, response.headers
        raise AssertionError("count() has no end")

    async def _pages(self, request: Request[list[T]]) -> AsyncIterator[T]:
        page: Request[list[T]] | None = request
        while page is not None:
            answer, headers = await self._exchange(page)
            for entry in answer:
                yield entry
            page = next_page(page, headers)

    async def _send(
        self, request: Request[Any], hub: str, timeout: aiohttp.ClientTimeout, *, whole: bool = True
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = aiohttp.ClientSession(headers=self._headers, cookie_jar=aiohttp.DummyCookieJar())
        try:
            response = await self._session.request(
                request.method,
                self._url(hub, request.target),
                data=request.body,
                headers=request.headers,
                allow_redirects=False,
                timeout=timeout,
            )
            if whole:
                await response.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            self._turn.pass_over(hub)
            raise HubUnreachable(f"No hub answers at {hub}.", sent=False) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            self._turn.pass_over(hub)
            raise HubUnreachable(f"The hub at {hub} did not answer {request.method} {request.path}.") from error
        if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
            self._turn.pass_over(hub)
        return response

    def _url(self, hub: str, target: str) -> URL:
        """Parsing an address costs as much as sending to it, and the one for submissions never changes."""
        url = self._urls.get((hub, target))
        if url is None:
            url = URL(hub + target, encoded=True)
            if "?" not in target and len(self._urls) < 64:
                self._urls[hub, target] = url
        return url

    async def _pause(self, error: TaskyardError, policy: RetryPolicy, *, attempt: int, idempotent: bool) -> None:
        """Sleep before the next attempt, or raise the error if there is none."""
        pause_s = policy.pause_s(error, attempt=attempt, idempotent=idempotent, dice=random.random())
        if pause_s is None:
            raise error
        if isinstance(error, Limited):
            self._on_limited(error, pause_s)
        await asyncio.sleep(pause_s)
