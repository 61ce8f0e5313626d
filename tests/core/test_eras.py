"""Which log is an older copy."""

import pytest

from taskyard.core.daemon_commands import Seen
from taskyard.core.eras import is_behind, next_epoch
from taskyard.vocabulary import EPOCHS_PER_ERA

ERA = EPOCHS_PER_ERA


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


def test_a_new_era_begins_past_every_epoch_of_the_one_before() -> None:
    assert next_epoch(7, new_era=False) == 8
    assert next_epoch(7, new_era=True) == ERA
    assert next_epoch(ERA + 7, new_era=True) == 2 * ERA
