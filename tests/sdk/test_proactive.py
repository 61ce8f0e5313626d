"""Both submitters against a hub that says what it is told to."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from taskyard.sdk.answers import Rejected
from taskyard.sdk.async_client import AsyncClient
from taskyard.sdk.async_proactive import AsyncProactiveSubmitter
from taskyard.sdk.client import Client
from taskyard.sdk.proactive import ProactiveSubmitter
from taskyard.sdk.retry import CANDID
from taskyard.sdk.submission import NewTask
from tests.support.http_stub import KEY, Reply, StubHub, a_task, problem, running_stub

LONG_S = 3600.0
SOON_S = 0.01
WAIT_S = 60.0


def at(level: str) -> Reply:
    return Reply(body={"type": "backpressure", "level": level, "scope": "user", "queue_depth": 9})


def taken(*rejected: dict[str, Any]) -> Reply:
    return Reply(status=201, body={"tasks": [a_task()], "rejected": list(rejected)})


LIMITED = {"index": 1, "status": 429, "code": "RATE_LIMITED", "detail": ""}
INVALID = {"index": 0, "status": 422, "code": "INVALID_INPUT", "detail": ""}


@pytest.fixture
def hub() -> Iterator[StubHub]:
    with running_stub() as stub:
        stub.on("GET", "backpressure", at("normal"))
        stub.on("POST", "tasks/batch", taken())
        yield stub


def sent(hub: StubHub) -> list[list[str]]:
    return [[task["input"] for task in call.body["tasks"]] for call in hub.asked("POST", "tasks/batch")]


class Engine:
    """Either submitter, spoken to as the plain one; with a window too long to matter unless told."""

    def __init__(self, hub: StubHub, *, asynchronous: bool, **options: Any) -> None:
        options.setdefault("window_s", LONG_S)
        self._runner = asyncio.Runner() if asynchronous else None
        if self._runner is None:
            self.client: Any = Client(hub.url, KEY, retry=CANDID)
            self.submitter: Any = ProactiveSubmitter(self.client, **options)
        else:
            self._runner.run(self._open(hub.url, options))

    async def _open(self, url: str, options: dict[str, Any]) -> None:
        self.client = AsyncClient(url, KEY, retry=CANDID)
        self.submitter = await AsyncProactiveSubmitter(self.client, **options).__aenter__()

    def do(self, name: str, *arguments: Any) -> Any:
        called = getattr(self.submitter, name)
        if self._runner is None:
            return called(*arguments)
        return self._runner.run(self._awaited(called, arguments))

    async def _awaited(self, called: Any, arguments: Any) -> Any:
        answer = called(*arguments)
        return await answer if asyncio.iscoroutine(answer) else answer

    def wait_for(self, happened: threading.Event) -> None:
        if self._runner is None:
            assert happened.wait(WAIT_S)
        else:
            assert self._runner.run(asyncio.to_thread(happened.wait, WAIT_S))

    def close(self) -> list[NewTask]:
        left: list[NewTask] = self.do("close")
        if self._runner is None:
            self.client.close()
        else:
            self._runner.run(self.client.close())
            self._runner.close()
        return left


@pytest.fixture(params=[False, True], ids=["ProactiveSubmitter", "AsyncProactiveSubmitter"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_tasks_leave_in_batches_as_the_engines_own(hub: StubHub, asynchronous: bool) -> None:
    engine = Engine(hub, asynchronous=asynchronous, batch_max=2)
    for name in "abc":
        engine.do("submit", name)
    assert engine.do("flush") == 0
    assert sent(hub) == [["a", "b"], ["c"]]
    body = hub.asked("POST", "tasks/batch")[0].body
    assert body["partial"] is True
    assert body["tasks"][0]["source"] == {"type": "proactive"}
    assert engine.close() == []


def test_a_batch_leaves_by_itself_when_its_window_is_over(hub: StubHub, asynchronous: bool) -> None:
    happened = threading.Event()
    engine = Engine(hub, asynchronous=asynchronous, window_s=SOON_S, on_submitted=lambda _task: happened.set())
    engine.do("submit", "a")
    engine.wait_for(happened)
    assert sent(hub) == [["a"]]
    engine.close()


def test_at_warning_batches_are_half_as_large(hub: StubHub, asynchronous: bool) -> None:
    hub.on("GET", "backpressure", at("warning"))
    engine = Engine(hub, asynchronous=asynchronous, batch_max=4)
    for name in "abc":
        engine.do("submit", name)
    engine.do("flush")
    assert engine.submitter.level == "warning"
    assert sent(hub) == [["a", "b"], ["c"]]
    engine.close()


def test_at_critical_it_pauses_and_afterwards_goes_on_as_before(hub: StubHub, asynchronous: bool) -> None:
    hub.on("GET", "backpressure", at("critical"), at("critical"), at("normal"))
    engine = Engine(hub, asynchronous=asynchronous, batch_max=2)
    for name in "ab":
        engine.do("submit", name)
    assert engine.do("flush") == 2
    assert engine.do("flush") == 2
    assert sent(hub) == []
    assert engine.do("flush") == 0
    assert sent(hub) == [["a", "b"]]
    engine.close()


def test_a_paused_engine_recovers_by_itself(hub: StubHub, asynchronous: bool) -> None:
    happened = threading.Event()
    hub.on("GET", "backpressure", at("critical"), at("critical"), at("warning"))
    engine = Engine(hub, asynchronous=asynchronous, window_s=SOON_S, on_submitted=lambda _task: happened.set())
    engine.do("submit", "a")
    engine.wait_for(happened)
    assert len(hub.asked("GET", "backpressure")) >= 3
    engine.close()


def test_what_is_limited_stays_and_keeps_its_key(hub: StubHub, asynchronous: bool) -> None:
    hub.on("POST", "tasks/batch", taken(LIMITED), taken())
    engine = Engine(hub, asynchronous=asynchronous)
    for name in "ab":
        engine.do("submit", name)
    assert engine.do("flush") == 0
    first, second = (call.body["tasks"] for call in hub.asked("POST", "tasks/batch"))
    assert [task["input"] for task in second] == ["b"]
    assert second[0]["idempotency_key"] == first[1]["idempotency_key"]
    engine.close()


def test_a_hub_that_refuses_all_is_not_pestered(hub: StubHub, asynchronous: bool) -> None:
    refusal = problem(429, "RATE_LIMITED", "Too fast.", retry_after=60, backpressure={"level": "critical"})
    hub.on("POST", "tasks/batch", refusal)
    engine = Engine(hub, asynchronous=asynchronous)
    engine.do("submit", "a")
    assert engine.do("flush") == 1
    assert engine.submitter.level == "critical"
    assert len(sent(hub)) == 1
    hub.on("GET", "backpressure", at("critical"))
    left = engine.close()
    assert [task["input"] for task in left] == ["a"]


def test_what_the_hub_will_never_take_is_told(hub: StubHub, asynchronous: bool) -> None:
    told: list[tuple[str, str]] = []

    def hear(task: NewTask, why: Rejected) -> None:
        told.append((task["input"], why.code))

    hub.on("POST", "tasks/batch", taken(INVALID))
    engine = Engine(hub, asynchronous=asynchronous, on_rejected=hear)
    engine.do("submit", "a")
    assert engine.do("flush") == 0
    assert told == [("a", "INVALID_INPUT")]
    engine.close()


def test_unheard_refusals_are_logged_without_the_task(
    hub: StubHub, asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hub.on("POST", "tasks/batch", taken(INVALID))
    engine = Engine(hub, asynchronous=asynchronous)
    engine.do("submit", "a secret")
    engine.do("flush")
    assert "INVALID_INPUT" in caplog.text
    assert "secret" not in caplog.text
    engine.close()


def test_who_is_not_known_hears_of_it_and_gets_everything_back(
    hub: StubHub, asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hub.on("GET", "backpressure", problem(401, "UNAUTHENTICATED", "No key."))
    engine = Engine(hub, asynchronous=asynchronous)
    engine.do("submit", "a")
    assert engine.do("flush") == 1
    assert [task["input"] for task in engine.close()] == ["a"]
    assert [task["input"] for task in engine.submitter.left] == ["a"]
    assert "No key." in caplog.text
    assert "Traceback" not in caplog.text


def test_one_flush_gets_past_whatever_the_hub_will_never_take(hub: StubHub, asynchronous: bool) -> None:
    # Given eight tasks, the third and the seventh of which make the hub refuse whatever they come with
    told: list[str] = []
    too_large = problem(413, "TOO_LARGE", "Too large.")
    hub.on(
        "POST",
        "tasks/batch",
        *(too_large, too_large, taken(), too_large, too_large, too_large, taken()),
        *(too_large, too_large, too_large, taken()),
    )
    engine = Engine(hub, asynchronous=asynchronous, batch_max=8, on_rejected=lambda task, _: told.append(task["input"]))
    engine.do("submit_all", [{"input": name} for name in "abcdefgh"])
    assert engine.do("flush") == 0
    assert told
    assert engine.close() == []


def test_a_callback_that_fails_stops_nothing_and_is_named(
    hub: StubHub, asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_task: NewTask, _why: Rejected) -> None:
        raise LookupError("mine")

    hub.on("POST", "tasks/batch", taken(INVALID))
    engine = Engine(hub, asynchronous=asynchronous, on_rejected=fails)
    engine.do("submit", "a")
    assert engine.do("flush") == 0
    assert "a callback of the submitter failed" in caplog.text
    assert "not sent" not in caplog.text
    engine.close()


def test_what_goes_wrong_in_the_background_is_logged_and_it_goes_on(
    hub: StubHub, asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    happened = threading.Event()
    hub.on("GET", "backpressure", problem(401, "UNAUTHENTICATED", "No key."), at("normal"))
    engine = Engine(hub, asynchronous=asynchronous, window_s=SOON_S, on_submitted=lambda _task: happened.set())
    engine.do("submit", "a")
    engine.wait_for(happened)
    assert "proactive tasks wait (1), failure 1: No key." in caplog.text
    engine.close()


def test_after_its_end_it_takes_nothing(hub: StubHub, asynchronous: bool) -> None:
    engine = Engine(hub, asynchronous=asynchronous)
    engine.do("submit", "a")
    assert engine.close() == []
    assert sent(hub) == [["a"]]
    with pytest.raises(RuntimeError):
        engine.submitter.submit("b")
    assert engine.submitter.pending == 0


def test_what_an_engine_left_in_its_spool_is_sent_by_the_next_one_under_the_same_key(
    hub: StubHub, asynchronous: bool, tmp_path: Path
) -> None:
    # Given an engine whose hub took one task, and of whose second nobody knows
    hub.on("POST", "tasks/batch", taken(), Reply(status=201, body="what?"))
    engine = Engine(hub, asynchronous=asynchronous, spool=tmp_path / "spool", batch_max=1)
    engine.do("submit_all", [{"input": "a"}, {"input": "b", "deadline": datetime(2099, 1, 1, tzinfo=UTC)}])
    engine.do("submit", "c")
    engine.do("flush")

    # When it ends without having been heard, and another opens its spool
    hub.on("GET", "backpressure", at("critical"))
    assert engine.close() == []
    hub.on("GET", "backpressure", at("normal"))
    hub.on("POST", "tasks/batch", taken())
    engine = Engine(hub, asynchronous=asynchronous, spool=tmp_path / "spool")
    assert (engine.submitter.pending, engine.do("flush")) == (2, 0)

    # Then that one sends what the hub may not have, in its order and as it was
    first, doubtful, again = (call.body["tasks"] for call in hub.asked("POST", "tasks/batch"))
    assert [task["input"] for task in first + again] == ["a", "b", "c"]
    assert again[0] == doubtful[0]
    assert again[0]["deadline"] == "2099-01-01T00:00:00Z"
    assert engine.do("close") == []
    assert engine.close() == []


def test_it_finds_the_hub_by_itself_and_ends_with_its_block(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKYARD_HUB", hub.url)
    monkeypatch.setenv("TASKYARD_KEY", KEY)
    with ProactiveSubmitter() as engine:
        engine.submit("a")

    async def scenario() -> None:
        async with AsyncProactiveSubmitter() as other:
            other.submit("b")

    asyncio.run(scenario())
    assert sent(hub) == [["a"], ["b"]]
