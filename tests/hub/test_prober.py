"""Probes by HTTP: what leaves, what comes back, and what that means."""

import asyncio
from collections.abc import Coroutine

import pytest

from taskyard.core.commands import Command
from taskyard.core.effects import AskProbe
from taskyard.core.schedule_commands import AnswerProbe
from taskyard.core.settings import Settings
from taskyard.gateway.destinations import Allowed
from taskyard.hub.outbound import Answer, Outbound, Request, Unreached
from taskyard.hub.prober import AT_ONCE_MAX, Prober, objection_in
from taskyard.vocabulary.schedules import SkipReason

pytestmark = pytest.mark.anyio
URL = "https://example.com/new"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class World(Outbound):
    """Answers what it is told to, once it may."""

    def __init__(self, answer: Answer | Unreached) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[Request] = []
        self.may = asyncio.Event()

    async def fetch(self, request: Request, allowed: Allowed) -> Answer | Unreached:
        self.asked.append(request)
        await self.may.wait()
        return self.answer


class Leader:
    def __init__(self) -> None:
        self.settings = Settings()
        self.told: list[Command] = []
        self.tasks: list[asyncio.Task[None]] = []

    def tell(self, command: Command) -> None:
        self.told.append(command)

    def watch(self, work: Coroutine[None, None, None]) -> None:
        self.tasks.append(asyncio.create_task(work))


def an_answer(status: int = 200, body: bytes = b"1") -> Answer:
    return Answer(status=status, body=body)


async def test_an_answer_comes_back_as_a_command() -> None:
    leader, world = Leader(), World(an_answer())
    world.may.set()

    Prober(leader, world).ask(AskProbe("s-1", 60_000, URL, 5000))
    await asyncio.gather(*leader.tasks)

    assert leader.told == [AnswerProbe("s-1", 60_000)]
    [request] = world.asked
    assert (request.url, request.method, request.timeout_s) == (URL, "GET", 5.0)


@pytest.mark.parametrize(
    ("answer", "objection", "code"),
    [
        (an_answer(200, b"[1]"), None, None),
        (an_answer(200, b"there is work"), None, None),
        (an_answer(200, b"[]\n"), SkipReason.PROBE_SAID_NO, None),
        (an_answer(204, b""), SkipReason.PROBE_SAID_NO, None),
        (an_answer(404, b"no"), SkipReason.PROBE_FAILED, "HTTP_404"),
        (an_answer(302, b"elsewhere"), SkipReason.PROBE_FAILED, "HTTP_302"),
        (Unreached("nobody is there"), SkipReason.PROBE_FAILED, "NOT_REACHED"),
        (Unreached("not for you", is_refused=True), SkipReason.PROBE_FAILED, "ADDRESS_REFUSED"),
    ],
)
async def test_success_with_a_body_that_is_not_empty_says_yes(
    answer: Answer | Unreached, objection: SkipReason | None, code: str | None
) -> None:
    assert objection_in(answer) == (objection, code)


async def test_so_many_are_asked_at_once_and_who_waits_too_long_is_not_asked() -> None:
    leader, world = Leader(), World(an_answer())
    prober = Prober(leader, world)

    for number in range(AT_ONCE_MAX):
        prober.ask(AskProbe("s-1", number, URL, 60_000))
    prober.ask(AskProbe("s-2", 1, URL, 20))
    await leader.tasks[-1]
    assert len(world.asked) == AT_ONCE_MAX
    world.may.set()
    await asyncio.gather(*leader.tasks)

    assert len(leader.told) == AT_ONCE_MAX
