"""A model behind a real server process: each way in which an answer comes, breaks or is refused."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskyard.daemon.context import Context
from taskyard.daemon.openai.agent import OpenAIAgent
from taskyard.daemon.openai.configuration import BadEndpoint, Endpoint
from taskyard.daemon.orders import Key
from taskyard.daemon.task import Result, Task, TaskError
from tests.hub.test_outbound import _certificate as certificate
from tests.support.live import free_port
from tests.support.openai_server import ANSWER, MODELS, OpenAIServer, an_openai_server

KEY = "sk-canary-0123456789abcdef"
PATIENCE_S = 60.0
WHOLE = "".join(ANSWER)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAIServer]:
    with an_openai_server(tmp_path_factory.mktemp("openai")) as running:
        yield running


class Told:
    """What the work said while it ran."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.log = ""
        self.checkpoints: list[bytes] = []

    def progressed(self, key: Key, percent: float | None, message: str | None, log: str) -> None:
        self.messages += [message] if message else []
        self.log += f"{log}\n" if log else ""

    def checkpointed(self, key: Key, data: bytes) -> None:
        self.checkpoints.append(data)


def an_endpoint(server: OpenAIServer, behaviour: str, **more: Any) -> Endpoint:
    return Endpoint(base_url=server.url(behaviour), **{"models": ("small",), **more})


def a_task(**more: Any) -> Task:
    return Task(id="t1", type="ask", **{"input": "Say hello.", **more})


def ask(endpoint: Endpoint, task: Task | None = None, *, key: str | None = None, told: Told | None = None) -> Result:
    """One attempt from beginning to end."""

    async def main() -> Result:
        context = Context(("t1", 1), told or Told(), asyncio.get_running_loop())
        agent = OpenAIAgent(endpoint, environment={"TASKYARD_OPENAI_KEY": key} if key else {})
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await agent(task or a_task(), context)
        finally:
            context.deliver()

    return asyncio.run(main())


def failure(endpoint: Endpoint, task: Task | None = None, **more: Any) -> TaskError:
    with pytest.raises(TaskError) as caught:
        ask(endpoint, task, **more)
    return caught.value


@pytest.mark.parametrize("behaviour", ["well", "whole", "pieces"])
def test_an_answer_is_the_result_however_it_comes(server: OpenAIServer, behaviour: str) -> None:
    result = ask(an_endpoint(server, behaviour))

    assert result.value == WHOLE
    assert result.summary == "Grüße from the"
    assert result.status == "success"


def test_what_was_used_is_told_and_the_answer_can_be_watched(server: OpenAIServer) -> None:
    told = Told()

    result = ask(an_endpoint(server, "well"), told=told)

    assert result.usage == {"input_tokens": 11, "output_tokens": 4}
    assert told.log == f"{WHOLE}\n"
    assert told.messages[-1] == f"{len(WHOLE)} characters so far"


def test_the_model_hears_the_task_its_goal_and_what_came_before(server: OpenAIServer) -> None:
    # Given a task that was tried before, has a checkpoint, and depends on another
    task = a_task(
        goal="a greeting",
        constraints=["short"],
        context_input=[{"ref": "T-001", "result_status": "success", "result": "the name is Ada"}],
        previous_attempts=[{"number": 1, "status": "failed", "error": {"code": "CONNECTION_LOST", "message": "gone"}}],
        checkpoint={"so_far": "Dear"},
    )

    # When it is asked
    said = ask(an_endpoint(server, "echo", system="Be kind.", options={"temperature": 0}), task).value

    # Then all of it is in the words of the user, and what the operator set is in the request
    assert isinstance(said, str)
    for part in ("Say hello.", "a greeting", "short", "the name is Ada", "CONNECTION_LOST: gone", '"so_far": "Dear"'):
        assert part in said
    asked = server.requests("echo")[-1]["body"]
    assert asked["messages"][0] == {"role": "system", "content": "Be kind."}
    assert (asked["temperature"], asked["model"], asked["stream"]) == (0, "small", True)


def test_a_checkpoint_of_a_cut_answer_reaches_the_next_attempt(server: OpenAIServer) -> None:
    # Given a first attempt whose answer broke off
    told = Told()
    first = failure(an_endpoint(server, "keeps"), told=told)
    assert (first.code, first.retryable) == ("CONNECTION_LOST", None)

    # When the next one is given what it saved
    checkpoint = msgspec.json.decode(told.checkpoints[-1])
    said = ask(an_endpoint(server, "keeps"), a_task(checkpoint=checkpoint)).value

    # Then its model is shown what there was, and asked for the whole
    assert isinstance(said, str)
    assert "half an answer" in said
    assert "Give the whole answer anew" in said


@pytest.mark.parametrize("behaviour", ["cut", "torn"])
def test_an_answer_that_breaks_off_is_a_failure_that_is_tried_again(server: OpenAIServer, behaviour: str) -> None:
    error = failure(an_endpoint(server, behaviour))

    assert (error.code, error.retryable) == ("CONNECTION_LOST", None)
    assert "the answer was cut off" in error.message


def test_a_part_that_is_no_json_fails_the_attempt_and_not_the_daemon(server: OpenAIServer) -> None:
    error = failure(an_endpoint(server, "malformed"))

    assert (error.code, error.retryable) == ("BAD_ANSWER", None)
    assert "is not JSON" in error.message


def test_a_complaint_in_the_middle_is_read_as_a_refusal(server: OpenAIServer) -> None:
    error = failure(an_endpoint(server, "complains"))

    assert (error.code, error.retryable) == ("ENDPOINT_ERROR", None)
    assert "The engine is overloaded" in error.message


@pytest.mark.parametrize("behaviour", ["endless", "one_line"])
def test_an_answer_without_an_end_is_left(server: OpenAIServer, behaviour: str) -> None:
    told = Told()

    error = failure(an_endpoint(server, behaviour, answer_bytes_max=200_000, log_bytes_max=1000), told=told)

    assert (error.code, error.retryable) == ("ANSWER_TOO_LONG", False)
    assert len(told.log) < 2000 + 16 * 1024


@pytest.mark.parametrize(
    ("behaviour", "more", "code", "said"),
    [
        ("silent", {"first_byte_s": 0.2}, "CONNECTION_LOST", "no answer began within 0.2 s"),
        ("slow", {"between_s": 0.2}, "CONNECTION_LOST", "fell silent for 0.2 s after 4 characters"),
        ("slow", {"timeout_s": 0.3}, "EXECUTION_TIMEOUT", "longer than 0.3 s"),
    ],
)
def test_each_wait_has_an_end(
    server: OpenAIServer, behaviour: str, more: dict[str, float], code: str, said: str
) -> None:
    error = failure(an_endpoint(server, behaviour, **more))

    assert error.code == code
    assert said in error.message


def test_nobody_at_the_address_is_a_failure_that_is_tried_again() -> None:
    error = failure(Endpoint(base_url=f"http://127.0.0.1:{free_port()}/v1", models=("small",)))

    assert (error.code, error.retryable) == ("CONNECTION_LOST", None)


def test_a_certificate_that_nobody_trusts_is_said(tmp_path: Path) -> None:
    async def main() -> str:
        server, _ = certificate(tmp_path, "models.test")
        async with await asyncio.start_server(
            lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=server
        ) as listening:
            port = listening.sockets[0].getsockname()[1]
            agent = OpenAIAgent(Endpoint(base_url=f"https://127.0.0.1:{port}/v1", models=("small",)), environment={})
            with pytest.raises(TaskError) as caught:
                await agent(a_task(), Context(("t1", 1), Told(), asyncio.get_running_loop()))
            return caught.value.message

    assert "its certificate is not trusted" in asyncio.run(main())


def test_a_cancel_closes_the_connection_at_once_and_saves_what_there_is(tmp_path: Path) -> None:
    told = Told()

    async def main(server: OpenAIServer) -> None:
        # Given a model that has begun to answer
        context = Context(("t1", 1), told, asyncio.get_running_loop())
        work = asyncio.ensure_future(OpenAIAgent(an_endpoint(server, "slow"), environment={})(a_task(), context))
        await until(lambda: bool(told.messages))

        # When it is cancelled
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

        # Then the server sees that nobody listens any more
        await until(lambda: server.was_left("slow"))
        context.deliver()

    with an_openai_server(tmp_path) as server:
        asyncio.run(main(server))
    assert b'"unfinished_answer":"wait"' in told.checkpoints[-1]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("style", "wait_s"),
    [
        ("seconds", 7),
        ("milliseconds", 1.5),
        ("date", 90),
        ("openai", 360.5),
        ("anthropic", 90),
        ("epoch", 90),
        ("delta", 45),
        ("draft", 33),
        ("words", 72.5),
        ("google", 34.5),
    ],
)
def test_a_provider_that_refuses_for_now_says_when_to_come_back(
    server: OpenAIServer, style: str, wait_s: float
) -> None:
    began = time.monotonic()
    error = failure(an_endpoint(server, f"limited-{style}"))
    # By a date it is so much less as it took to hear of it.
    took_s = time.monotonic() - began

    assert error.code == "RATE_LIMITED"
    assert error.details is not None
    assert wait_s - took_s - 3 <= error.details["retry_after"] <= wait_s + 3


def test_a_refusal_without_a_time_leaves_the_time_to_the_hub(server: OpenAIServer) -> None:
    error = failure(an_endpoint(server, "limited-nothing"))

    assert (error.code, error.details) == ("RATE_LIMITED", None)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "ENDPOINT_REFUSED", False),
        (401, "PERMISSION_DENIED", False),
        (403, "PERMISSION_DENIED", False),
        (404, "MODEL_NOT_FOUND", False),
        (408, "ENDPOINT_ERROR", None),
        (500, "ENDPOINT_ERROR", None),
        (503, "ENDPOINT_ERROR", None),
    ],
)
def test_a_refusal_says_whether_another_try_has_any_use(
    server: OpenAIServer, status: int, code: str, retryable: bool | None
) -> None:
    error = failure(an_endpoint(server, f"refused-{status}"), key=KEY)

    assert (error.code, error.retryable) == (code, retryable)
    assert f"answered {status}" in error.message
    assert KEY not in error.message
    assert KEY not in str(error)


def test_a_task_too_long_for_its_model_is_not_tried_again(server: OpenAIServer) -> None:
    error = failure(an_endpoint(server, "too_long"))

    assert (error.code, error.retryable) == ("CONTEXT_TOO_LONG", False)


def test_a_redirect_is_not_followed_since_the_key_would_go_along(server: OpenAIServer) -> None:
    error = failure(an_endpoint(server, "redirect"), key=KEY)

    assert (error.code, error.retryable) == ("ENDPOINT_MISCONFIGURED", False)
    assert "at http://elsewhere.example: set base_url" in error.message
    assert "hush" not in error.message


def test_the_key_is_sent_and_is_in_nothing_that_comes_back(server: OpenAIServer) -> None:
    told = Told()

    result = ask(an_endpoint(server, "echo"), key=KEY, told=told)

    headers = server.requests("echo")[-1]["headers"]
    assert (headers["authorization"], headers["accept-encoding"]) == (f"Bearer {KEY}", "identity")
    assert result.value == "Bearer [hidden] Say hello."
    assert KEY not in told.log


def test_a_key_can_go_in_another_header(server: OpenAIServer) -> None:
    ask(an_endpoint(server, "well", key_header="api-key"), key=KEY)

    headers = server.requests("well")[-1]["headers"]
    assert headers["api-key"] == KEY
    assert "authorization" not in headers


def test_the_key_for_openai_is_not_shown_to_anybody_else(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    ask(an_endpoint(server, "well"))

    assert "authorization" not in server.requests("well")[-1]["headers"]


@pytest.mark.parametrize("asked", ["by the operator", "by the task"])
def test_json_is_asked_for_and_read(server: OpenAIServer, asked: str) -> None:
    if asked == "by the operator":
        result = ask(an_endpoint(server, "json", output="json"))
    else:
        result = ask(an_endpoint(server, "json"), a_task(metadata={"response_format": {"type": "json_object"}}))

    assert result.value == {"answer": 42}
    assert server.requests("json")[-1]["body"]["response_format"] == {"type": "json_object"}


def test_an_answer_that_should_be_json_and_is_not_fails_with_what_it_used(server: OpenAIServer) -> None:
    error = failure(an_endpoint(server, "well", output="json"))

    assert (error.code, error.retryable) == ("INVALID_RESULT", None)
    assert error.usage == {"input_tokens": 11, "output_tokens": 4}


def test_an_answer_that_reached_its_limit_is_partial(server: OpenAIServer) -> None:
    assert ask(an_endpoint(server, "length")).status == "partial"


def test_an_answer_that_a_filter_withheld_is_not_asked_for_again(server: OpenAIServer) -> None:
    error = failure(an_endpoint(server, "filtered"))

    assert (error.code, error.retryable) == ("CONTENT_FILTERED", False)


@pytest.mark.parametrize("behaviour", ["calling", "calling_at_once"])
def test_an_answer_that_only_calls_a_tool_is_not_asked_for_again(server: OpenAIServer, behaviour: str) -> None:
    error = failure(an_endpoint(server, behaviour))

    assert (error.code, error.retryable, error.usage) == (
        "TOOL_CALL_ONLY",
        False,
        {"input_tokens": 11, "output_tokens": 4},
    )
    assert "tools" in error.message


def test_words_beside_a_call_of_a_tool_are_the_answer(server: OpenAIServer) -> None:
    assert ask(an_endpoint(server, "calling_with_words")).value == ask(an_endpoint(server, "well")).value


def test_a_server_that_cannot_count_is_asked_without(server: OpenAIServer) -> None:
    result = ask(an_endpoint(server, "old"))

    assert (result.value, result.usage) == (WHOLE, None)
    assert ["stream_options" in call["body"] for call in server.requests("old")] == [True, False]


def test_a_model_that_is_not_listed_is_never_asked_for(server: OpenAIServer) -> None:
    error = failure(an_endpoint(server, "well", models={"cheap": "small"}), a_task(model="dear"))
    ask(an_endpoint(server, "well", models={"cheap": "small"}), a_task(model="cheap"))

    assert error.code == "INVALID_INPUT"
    assert "name one of cheap" in error.message
    assert server.requests("well")[-1]["body"]["model"] == "small"


def test_without_models_of_its_own_it_has_those_of_the_server(server: OpenAIServer) -> None:
    agent = OpenAIAgent(Endpoint(base_url=server.url("well")), environment={})

    asyncio.run(agent.ask_models())

    assert agent.endpoint.models == MODELS


def test_a_server_that_refuses_to_name_its_models_may_want_another_key(server: OpenAIServer) -> None:
    agent = OpenAIAgent(Endpoint(base_url=server.url("refused-401")), environment={"TASKYARD_OPENAI_KEY": KEY})

    with pytest.raises(BadEndpoint, match=r"is its key in TASKYARD_OPENAI_KEY right\?") as said:
        asyncio.run(agent.ask_models())

    assert "start it first" not in str(said.value)
    assert KEY not in str(said.value)


@pytest.mark.parametrize("behaviour", ["empty", "nobody"])
def test_a_server_that_names_no_models_is_said_with_what_to_do(server: OpenAIServer, behaviour: str) -> None:
    url = server.url("empty") if behaviour == "empty" else f"http://127.0.0.1:{free_port()}/v1"

    with pytest.raises(BadEndpoint, match="--model"):
        asyncio.run(OpenAIAgent(Endpoint(base_url=url), environment={}).ask_models())
