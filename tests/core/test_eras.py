"""Which log is an older copy, by its lineage or by numbers alone."""

import pytest

from taskyard.core.daemon_commands import Seen
from taskyard.core.eras import Lack, Takeover, is_behind, lost_with_era, next_epoch, objection_of, raised_numbers
from taskyard.vocabulary import EPOCHS_PER_ERA

ERA = EPOCHS_PER_ERA

TAKEOVERS = [Takeover(1, "A", 0), Takeover(2, "B", 20), Takeover(4, "D", 60)]
"""Of a log whose third epoch began under a hub that wrote no such rows."""
END = Seen("c", 4, 80, "D", "b80")


def seen(epoch: int, seq: int, takeover: str, batch_id: str | None = None) -> Seen:
    return Seen("c", epoch, seq, takeover, f"b{seq}" if batch_id is None else batch_id)


@pytest.mark.parametrize(
    ("end", "seen", "is_older"),
    [
        (Seen("c", 3, 10), Seen("c", 3, 10), False),
        (Seen("c", 3, 10), Seen("c", 3, 11), True),
        (Seen("c", 3, 10), Seen("c", 2, 11), True),
        (Seen("c", 3, 10), Seen("c", 4, 9), True),
        (Seen("c", 3, 10), Seen("other", 4, 99), False),
        (Seen("c", ERA, 10), Seen("c", ERA - 1, 99), False),
        (Seen("c", ERA - 1, 99), Seen("c", ERA, 10), True),
    ],
)
def test_a_log_that_lacks_what_somebody_has_seen_is_an_older_copy(end: Seen, seen: Seen, is_older: bool) -> None:
    assert is_behind(end, seen) is is_older
    # Also of a log whose takeovers are known, as long as the position has no ids.
    assert (objection_of(end, TAKEOVERS, seen, held=None) is not None) is is_older


@pytest.mark.parametrize(
    ("position", "held"),
    [
        (END, "b80"),
        (seen(4, 70, "D"), "b70"),
        (seen(1, 20, "A"), "b20"),
        # At its takeover nothing is committed yet: the newest batch is of the epoch before.
        (seen(2, 20, "B"), "b20"),
        # The log no longer holds these: the takeovers decide.
        (seen(1, 5, "A"), None),
        (seen(2, 60, "B"), None),
        (seen(4, 61, "D", ""), "b61"),
    ],
)
def test_a_position_of_its_own_history_is_no_objection(position: Seen, held: str | None) -> None:
    assert objection_of(END, TAKEOVERS, position, held=held) is None


@pytest.mark.parametrize(
    ("position", "held", "lack"),
    [
        # Past the end of its epoch here: the next takeover took the lost commits' numbers.
        (seen(1, 21, "A"), "b21", Lack(1, is_exact=True)),
        (seen(1, 23, "A"), None, Lack(3, is_exact=True)),
        (seen(2, 61, "B"), "b61", Lack(1, is_exact=True)),
        (seen(4, 83, "D"), None, Lack(3, is_exact=True)),
        # Another takeover has its epoch, or none has.
        (seen(2, 22, "X"), "b22", Lack(2, is_exact=False)),
        (seen(2, 5, "X"), None, Lack(1, is_exact=False)),
        (seen(3, 65, "C"), "b65", Lack(5, is_exact=False)),
        (seen(4, 80, "X"), "b80", Lack(20, is_exact=False)),
        (seen(5, 85, "E"), None, Lack(5, is_exact=False)),
        # The same takeover, and another batch in its place.
        (seen(4, 70, "D", "other"), "b70", Lack(1, is_exact=False)),
    ],
)
def test_a_position_that_is_not_in_the_history_is_found_out_however_long_the_log_has_become(
    position: Seen, held: str | None, lack: Lack
) -> None:
    assert objection_of(END, TAKEOVERS, position, held=held) == lack


def test_a_position_of_another_yard_says_nothing_of_this_one() -> None:
    assert objection_of(END, TAKEOVERS, Seen("other", 9, 99, "X", "b"), held=None) is None


def test_what_an_earlier_era_lost_is_no_objection_and_is_still_known() -> None:
    lost, kept = seen(1, 21, "A"), seen(1, 20, "A")
    end, takeovers = Seen("c", ERA, 90, "N", "b90"), [*TAKEOVERS, Takeover(ERA, "N", 80)]
    assert objection_of(end, takeovers, lost, held="b21") is None
    assert lost_with_era(end, takeovers, lost, held="b21") == Lack(1, is_exact=True)
    assert lost_with_era(end, takeovers, kept, held="b20") is None
    # Of the era that goes on nothing is given up, and numbers alone prove nothing.
    assert lost_with_era(END, TAKEOVERS, lost, held="b21") is None
    assert lost_with_era(end, takeovers, Seen("c", 1, 99), held=None) is None


def test_a_position_of_a_later_era_is_an_objection() -> None:
    assert objection_of(END, TAKEOVERS, seen(ERA, 10, "N"), held="b10") == Lack(1, is_exact=False)


def test_a_new_era_begins_past_every_epoch_of_the_one_before() -> None:
    assert next_epoch(7, new_era=False) == 8
    assert next_epoch(7, new_era=True) == ERA
    assert next_epoch(ERA + 7, new_era=True) == 2 * ERA


def test_a_new_era_raises_every_users_highest_number_also_of_those_who_have_no_task_yet() -> None:
    assert raised_numbers({"ann": 7}, ["ann", "bob"]) == {"ann": 10_007, "bob": 10_000}
