"""The inbox: who goes first, and who is told that there is no room."""

import pytest

from taskyard.core.commands import Command, CompleteTask, ReportProgress, SaveCheckpoint, SubmitTasks
from taskyard.core.daemon_commands import Beat
from taskyard.hub.inbox import NEW_BYTES_MAX, NEW_COMMANDS_MAX, NEW_LOOKUPS_MAX, URGENT_BYTES_MAX, Inbox
from tests.support.hub_scene import a_draft


def a_submission(size: int = 10) -> SubmitTasks:
    return SubmitTasks("u_ada", [a_draft("t", body=b"x" * size)])


def room() -> bool:
    return True


def no_room() -> bool:
    return False


def test_what_ends_work_goes_before_what_begins_it() -> None:
    inbox, work, beat = Inbox(), a_submission(), Beat(1, "d_one")
    inbox.submit(work)
    inbox.hear(beat)
    assert [inbox.take(room), inbox.take(room), inbox.take(room)] == [beat, work, None]


def test_without_room_only_what_ends_work_is_taken() -> None:
    inbox, beat = Inbox(), Beat(1, "d_one")
    inbox.submit(a_submission())
    inbox.hurry(beat)
    assert inbox.take(no_room) is beat
    assert inbox.take(no_room) is None


def test_new_work_is_refused_beyond_a_number() -> None:
    inbox = Inbox()
    assert all(inbox.submit(a_submission()) for _ in range(NEW_COMMANDS_MAX))
    assert not inbox.submit(a_submission())
    taken = inbox.take(room)
    assert taken is not None
    inbox.look_up(taken)
    assert not inbox.submit(a_submission()), "taken is not decided"
    inbox.looked_up(taken)
    assert inbox.submit(a_submission())
    assert not inbox.submit(a_submission())


def test_new_work_is_refused_beyond_a_number_of_bytes() -> None:
    inbox, big = Inbox(), a_submission(NEW_BYTES_MAX - 5)
    assert inbox.submit(big)
    assert not inbox.submit(a_submission())
    assert inbox.submit(a_submission(5))
    taken = inbox.take(room)
    assert taken is big
    inbox.look_up(big)
    assert not inbox.submit(a_submission())
    inbox.looked_up(big)
    assert inbox.submit(a_submission(NEW_BYTES_MAX - 5))


def test_at_most_so_much_new_work_is_looked_up_at_a_time() -> None:
    inbox = Inbox()
    commands = [a_submission() for _ in range(NEW_LOOKUPS_MAX + 1)]
    for command in commands:
        inbox.submit(command)
    for _ in range(NEW_LOOKUPS_MAX):
        taken = inbox.take(room)
        assert taken is not None
        inbox.look_up(taken)
    assert inbox.take(room) is None
    inbox.looked_up(commands[0])
    assert inbox.take(room) is commands[-1]


@pytest.mark.parametrize(
    "command",
    [
        CompleteTask("d_one", "t", 1, 1, outcome=b"x" * URGENT_BYTES_MAX),
        SaveCheckpoint("d_one", "t", 1, b"x" * URGENT_BYTES_MAX),
        ReportProgress("d_one", "t", 1, 1, log="x" * URGENT_BYTES_MAX),
    ],
    ids=lambda command: type(command).__name__,
)
def test_what_daemons_say_is_bounded_by_bytes_too(command: Command) -> None:
    inbox = Inbox()
    assert inbox.hear(command)
    assert not inbox.hear(command)
    assert inbox.hear(Beat(1, "d_one")), "a heartbeat weighs nothing"
    assert inbox.take(room) is command
    inbox.look_up(command)
    assert not inbox.hear(command), "taken is not decided"
    inbox.looked_up(command)
    assert inbox.hear(command)
