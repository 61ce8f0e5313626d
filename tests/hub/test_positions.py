"""What a hub remembers of the log, in a file of its own."""

from pathlib import Path

import msgspec

from taskyard.hub.positions import NOTHING, POSITION, TOLD_MAX, Remembered, positions_in
from taskyard.store.port import Identity
from taskyard.store.rewind import Sighting
from taskyard.vocabulary import EPOCHS_PER_ERA

NEWER = Identity("c_1", 2, 9, "b", "b9")


def told(seq: int) -> Sighting:
    return Sighting("hub h_2", Identity("c_1", 1, seq, "a", f"b{seq}"))


def test_what_was_written_is_remembered_by_the_next_process(tmp_path: Path) -> None:
    first = Remembered(tmp_path, "hub h_1")
    assert (first.positions, first.sightings, first.is_written) == (NOTHING, [], True)
    first.see(NEWER)
    first.hear(told(5))
    first.hear(told(5))
    assert not first.is_written
    first.write()
    second = Remembered(tmp_path, "hub h_1")
    assert second.sightings == [Sighting("hub h_1", NEWER), told(5)]
    assert second.is_written


def test_an_older_position_is_not_remembered_in_place_of_a_newer_one(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path, "hub h_1")
    remembered.see(NEWER)
    remembered.see(Identity("c_1", 2, 8, "b", "b8"))
    remembered.see(Identity("", 0, 0))
    assert remembered.sightings == [Sighting("hub h_1", NEWER)]


def test_objections_are_kept_until_an_era_settles_them_and_not_without_bound(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path, "hub h_1")
    for seq in range(TOLD_MAX + 3):
        remembered.hear(told(seq))
    assert remembered.sightings == [told(seq) for seq in range(3, TOLD_MAX + 3)]
    remembered.settle(NEWER)
    assert len(remembered.sightings) == TOLD_MAX
    remembered.settle(Identity("c_1", EPOCHS_PER_ERA, 9, "c", "c9"))
    assert remembered.sightings == []


def test_the_file_of_the_version_before_is_read(tmp_path: Path) -> None:
    (tmp_path / POSITION).write_bytes(msgspec.json.encode({"cluster_id": "c_1", "epoch": 2, "seq": 9}))
    assert positions_in(tmp_path).seen_by("hub h_1") == [Sighting("hub h_1", Identity("c_1", 2, 9))]
    (tmp_path / POSITION).write_text("{")
    assert positions_in(tmp_path) == NOTHING
