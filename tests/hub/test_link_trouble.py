"""Links that break, that are full, and that somebody else is on."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from taskyard.core.commands import EndWait
from taskyard.core.effects import Submitted
from taskyard.hub.link.remote import LeaderFailed
from taskyard.hub.link.wire import FRAME_BYTES, HEADER_BYTES, LENGTH_BYTES, MAGIC, NONCE_BYTES, LinkLost
from taskyard.vocabulary import Refusal
from tests.support.hub_scene import WAIT_S, refused_with
from tests.support.linked import HERE, linked

NONCE = MAGIC + b"x" * NONCE_BYTES


# --- who is on it ------------------------------------------------------------------------------------------


async def test_somebody_who_does_not_know_the_secret_is_not_let_in() -> None:
    async with linked(connected=False) as both:
        with pytest.raises(LinkLost):
            await both.dial(b"another secret, of the same length")
        assert both.lead.hub.ready


LONG = FRAME_BYTES.to_bytes(LENGTH_BYTES) + bytes(HEADER_BYTES - LENGTH_BYTES)
"""The head of a frame that has yet to come."""


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", NONCE + b"\xff" * 64, b"\0" * 4096, NONCE + LONG])
async def test_a_stranger_on_the_port_is_cut_off(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    # At once, not when its time to introduce itself is over.
    monkeypatch.setattr("taskyard.hub.link.wire.OPENING_S", 3600.0)
    async with linked(connected=False) as both:
        reader, writer = await asyncio.open_connection(HERE, both.port)
        writer.write(said)
        async with asyncio.timeout(WAIT_S):
            with suppress(ConnectionResetError):
                await reader.read()
        writer.close()
        await both.connect()
        assert await both.far.submit()


async def test_somebody_who_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.link.wire.OPENING_S", 0.05)
    async with linked(connected=False) as both:
        reader, writer = await asyncio.open_connection(HERE, both.port)
        async with asyncio.timeout(WAIT_S):
            assert (await reader.read()).startswith(MAGIC)
        writer.close()


async def test_strangers_are_few_and_keep_nobody_out_once_they_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.link.wire.OPENING_S", 3600.0)
    monkeypatch.setattr("taskyard.hub.link.server.STRANGERS_MAX", 2)
    async with linked(connected=False) as both:
        strangers = [await asyncio.open_connection(HERE, both.port) for _ in range(2)]
        with pytest.raises(LinkLost):
            await both.dial()
        for _, writer in strangers:
            writer.close()
        async with asyncio.timeout(WAIT_S):
            while both.board.leader is None:
                with suppress(LinkLost):
                    await both.connect()


async def test_a_gateway_that_comes_anew_has_left_its_older_link() -> None:
    async with linked(connected=False) as both:
        other, older = await both.dial(gateway="g_2"), await both.dial(gateway="g_1")
        newer = await both.dial(gateway="g_1")
        async with asyncio.timeout(WAIT_S):
            await older.lost
        assert (other.ready, newer.ready, both.links.peers) == (True, True, 2)


# --- when it breaks ----------------------------------------------------------------------------------------


async def test_a_request_whose_answer_was_lost_is_answered_by_the_same_name_and_not_done_again() -> None:
    async with linked(connected=False) as both:
        remote = await both.connect()
        # Given a submission that is being written
        both.lead.held.writes.shut()
        asked = both.far.asked(both.far.submission())
        await both.lead.held.writes.reached()
        # When the link breaks before its answer, and another is made after the commit
        remote.close()
        both.lead.held.writes.open()
        await both.lead.held.commit(2)
        await both.connect()
        # Then it is answered with the task that it made, and there is one
        async with asyncio.timeout(WAIT_S):
            answer, _ = await asked
        assert list(both.lead.hub.state.tasks) == list(answer.ids)


async def test_a_request_that_is_asked_again_while_it_is_being_written_is_done_once() -> None:
    async with linked(connected=False) as both:
        remote = await both.connect()
        # Given a submission that is being written
        both.lead.held.writes.shut()
        asked = both.far.asked(both.far.submission())
        await both.lead.held.writes.reached()
        # When the link breaks, and its gateway asks again before the commit
        remote.close()
        await both.connect()
        await both.board.daemons()
        both.lead.held.writes.open()
        # Then both were one
        async with asyncio.timeout(WAIT_S):
            answer, tasks = await asked
        assert list(both.lead.hub.state.tasks) == list(answer.ids) == list(tasks)


async def test_whoever_waits_for_an_end_goes_on_waiting_over_the_next_link() -> None:
    async with linked(connected=False) as both:
        remote = await both.connect()
        task_id = await both.far.submit()
        waiting = asyncio.ensure_future(both.board.ended(task_id, 60.0))
        await both.board.daemons()
        remote.close()
        await both.connect()
        await both.board.daemons()
        assert not waiting.done()
        await both.lead.cancel(task_id)
        async with asyncio.timeout(WAIT_S):
            await waiting


async def test_the_time_that_a_wait_may_take_is_not_counted_anew_over_the_next_link() -> None:
    async with linked(connected=False) as both:
        remote = await both.connect()
        task_id = await both.far.submit()
        waits: list[float] = []
        both.lead.hub.ended = note_of(waits, both.lead.hub.ended)  # type: ignore[method-assign]
        waiting = asyncio.ensure_future(both.board.ended(task_id, 60.0))
        clock = asyncio.get_running_loop().time
        async with asyncio.timeout(WAIT_S):
            while not waits:
                await both.board.daemons()
            asked_at = clock()
            while clock() == asked_at:
                # It goes by milliseconds.
                await both.board.daemons()
        remote.close()
        await both.connect()
        async with asyncio.timeout(WAIT_S):
            while len(waits) < 2:
                await both.board.daemons()
        assert waits[1] < waits[0] <= 60.0
        waiting.cancel()


def note_of(waits: list[float], ended: Any) -> Any:
    async def noted(task_id: str, wait_s: float) -> None:
        waits.append(wait_s)
        await ended(task_id, wait_s)

    return noted


# --- what it bears -----------------------------------------------------------------------------------------


async def test_a_mistake_of_the_leader_is_told_to_whoever_asked_and_to_its_log() -> None:
    async with linked() as both:
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(LeaderFailed):
                await both.board.pressure("u_nobody")
        assert (await both.lead.log.line("link.failed"))["data"]["error"] == "KeyError"
        assert await both.far.submit()


async def test_more_than_a_gateway_may_wait_for_is_refused_and_the_link_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.link.remote.WAITING_MAX", 1)
    async with linked() as both:
        both.lead.held.writes.shut()
        first = both.far.asked(both.far.submission())
        await both.lead.held.writes.reached()
        assert await refused_with(both.far.asked(both.far.submission())) == Refusal.OVERLOADED
        both.lead.held.writes.open()
        assert isinstance((await first)[0], Submitted)


async def test_what_does_not_leave_is_refused_beyond_a_size_and_the_link_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.link.remote.ASKED_BYTES_MAX", 100_000)
    async with linked() as both:
        # Given a question that has not left yet
        first = both.far.asked(both.far.submission(body=b'"' + b"x" * 100_000 + b'"'))
        second = both.far.asked(both.far.submission())
        assert await refused_with(second) == Refusal.OVERLOADED
        assert isinstance((await first)[0], Submitted)
        assert await both.far.submit()


async def test_what_is_too_much_for_one_frame_leaves_in_several() -> None:
    async with linked() as both:
        body = b'"' + b"x" * FRAME_BYTES + b'"'
        asked = [both.far.asked(both.far.submission(body=body)) for _ in range(4)]
        async with asyncio.timeout(WAIT_S):
            answers = [(await one)[0] for one in asked]
        assert all(isinstance(answer, Submitted) for answer in answers)


async def test_a_message_that_cannot_be_written_spoils_no_other() -> None:
    async with linked(connected=False) as both:
        remote = await both.connect()
        asked = both.far.asked(both.far.submission())
        await asyncio.sleep(0)
        with pytest.raises(TypeError):
            remote.tell(object())  # type: ignore[arg-type]
        async with asyncio.timeout(WAIT_S):
            assert isinstance((await asked)[0], Submitted)


async def test_a_peer_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.link.wire.UNSENT_BYTES_MAX", 4 * FRAME_BYTES)
    async with linked(connected=False) as both:
        remote = await both.dial()
        for _ in range(32):
            remote.tell(EndWait("t_1", "x" * FRAME_BYTES))
        assert remote.lost.result() == "it does not read what it is sent"


async def test_who_asks_by_the_message_that_breaks_the_link_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with linked(connected=False) as both:
        remote = await both.dial()
        wire = remote._wire
        monkeypatch.setattr(wire, "post", lambda message: wire.cut("it does not read what it is sent"))
        with pytest.raises(LinkLost):
            async with asyncio.timeout(WAIT_S):
                await remote.ended("t_one", 0)


# --- a leader that hangs -----------------------------------------------------------------------------------


async def test_a_leader_that_is_there_and_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.link.remote.ANSWER_S", 0.05)
    monkeypatch.setattr("taskyard.hub.switchboard.UNANSWERED_S", 0.05)
    async with linked() as both:
        never = asyncio.Event()
        for name in ("submit", "ask", "daemons"):
            monkeypatch.setattr(both.lead.hub, name, lambda *_, **__: never.wait())
        submitted, asked = both.far.submit(), both.far.cancel("t_one")
        assert await refused_with(asyncio.ensure_future(submitted)) == Refusal.OUTCOME_UNKNOWN
        assert await refused_with(asyncio.ensure_future(asked)) == Refusal.OUTCOME_UNKNOWN
        assert await refused_with(asyncio.ensure_future(both.board.daemons())) == Refusal.NO_LEADER


async def test_who_waits_for_an_end_is_given_that_time_by_a_leader_that_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with linked() as both:
        task_id = await both.far.submit()
        monkeypatch.setattr("taskyard.hub.link.remote.ANSWER_S", 0.05)
        monkeypatch.setattr(both.lead.hub, "ended", lambda task_id, wait_s: asyncio.sleep(0.1))
        await both.board.ended(task_id, 60.0)
