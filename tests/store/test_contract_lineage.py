"""The contract of every engine: takeovers, and which log may be led by what was seen of it."""

from typing import Any

import pytest
from msgspec.structs import replace

from taskyard.core.changes import UserRecord
from taskyard.store.rewind import Rewound, Sighting
from taskyard.vocabulary import REFS_PER_ERA
from tests.support.records import NOW, USER, Yard, a_task, an_event


def seen_of(yard: Yard, **other: Any) -> Sighting:
    return Sighting("hub h_1", replace(yard.identity, **other))


def test_each_opening_is_a_takeover_that_stays_when_the_log_is_cut(yard: Yard) -> None:
    first = yard.identity
    for at in (10, 20, 30):
        yard.write(events=[an_event(a_task())], at=at)
    yard.write(archive=(0, NOW), at=40)
    last = yard.identity
    yard.store.close()
    second = yard.store.open()
    lineage = yard.reader.lineage([first.seq + 1, last.seq])
    assert lineage.end == second
    assert [(takeover.epoch, takeover.id) for takeover in lineage.takeovers] == [
        (1, first.takeover),
        (2, second.takeover),
    ]
    assert lineage.takeovers[1].after == last.seq
    # Of what was cut nothing is held, of the newest commit the batch's id is
    assert first.seq + 1 not in lineage.held
    assert lineage.held[last.seq] == last.batch_id
    assert yard.store.load().takeovers == lineage.takeovers


def test_a_store_that_lacks_what_was_seen_is_not_opened_and_is_left_as_it_is(yard: Yard) -> None:
    yard.has(a_task())
    yard.store.close()
    before = yard.reader.lineage([yard.identity.seq])
    lost = yard.identity.seq + 3
    for sighting, said in (
        (seen_of(yard, seq=lost, batch_id="lost"), "lacks 3 commits that hub h_1 saw; the last was commit"),
        (seen_of(yard, takeover="another's"), "lacks at least [12] commits?"),
        (seen_of(yard, batch_id="another's"), "lacks at least 1 commit"),
        # Of a hub of an older version, by number alone
        (seen_of(yard, seq=lost, takeover="", batch_id=""), "lacks at least 3 commits"),
    ):
        with pytest.raises(Rewound, match=said):
            yard.store.open(seen=[seen_of(yard), sighting])
        assert yard.reader.lineage([yard.identity.seq]) == before
    assert yard.store.open(seen=[seen_of(yard)]).epoch == 2


def test_a_log_that_grew_as_long_as_the_lost_one_is_told_from_it(yard: Yard) -> None:
    yard.has(a_task())
    seen = seen_of(yard, seq=yard.identity.seq + 1, batch_id="lost")
    # Given a takeover by a hub that knew nothing of it, and more commits than were lost
    yard.store.close()
    wrong = Yard(yard.store)
    wrong.write(events=[an_event(a_task())])
    wrong.write(events=[an_event(a_task())])
    wrong.reader.close()
    yard.store.close()
    with pytest.raises(Rewound, match="lacks 1 commit that"):
        yard.store.open(seen=[seen])


def test_a_new_era_is_begun_whatever_was_seen_and_gives_no_number_of_the_lost_time_again(yard: Yard) -> None:
    people = [UserRecord(id=id_, name=id_, created_at=NOW) for id_ in (USER, "u_bob")]
    yard.has(a_task(number=7), users=people)
    lost = seen_of(yard, seq=yard.identity.seq + 3, batch_id="lost")
    yard.store.close()
    end = yard.store.open(new_era=True, seen=[lost])
    assert yard.store.load().numbers == {USER: 7 + REFS_PER_ERA, "u_bob": REFS_PER_ERA}
    # What an earlier era saw stands in no way any more
    yard.store.close()
    again = yard.store.open(seen=[lost, Sighting("hub h_2", end)])
    assert again.epoch == end.epoch + 1
    assert yard.store.load().numbers[USER] == 7 + REFS_PER_ERA
