"""What the daemon remembers on disk, and what it makes of a disk that lost or garbled some of it."""

import os
import stat
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import Raw

from taskyard.daemon import journal as journal_module
from taskyard.daemon.journal import Journal, JournalFull, JournalLocked
from taskyard.daemon.orders import Batch, Key, Memory, Whole
from taskyard.wire.frames import Position

ONE: Key = ("t1", 1)
TWO: Key = ("t2", 1)


def ended(key: Key, outcome: bytes = b'{"n":1}') -> Batch:
    return Batch(ended=[(*key, Raw(outcome))])


def remembered(directory: Path) -> Memory:
    journal = Journal(directory)
    memory = journal.memory
    journal.close()
    return memory


def written(directory: Path, *batches: Batch) -> None:
    journal = Journal(directory)
    for batch in batches:
        journal.write([batch])
    journal.close()


def test_an_empty_directory_remembers_nothing(tmp_path: Path) -> None:
    assert remembered(tmp_path / "new") == Memory()


def test_outcomes_identity_and_position_survive_the_process(tmp_path: Path) -> None:
    written(tmp_path, ended(ONE), Batch(daemon_id="d_1"), Batch(seen=Position("c", 2, 3)))
    assert remembered(tmp_path) == Memory(daemon_id="d_1", seen=Position("c", 2, 3), ended={ONE: b'{"n":1}'})


def test_forgotten_outcomes_are_gone(tmp_path: Path) -> None:
    written(tmp_path, ended(ONE), ended(TWO), Batch(forgotten=[ONE]))
    assert list(remembered(tmp_path).ended) == [TWO]


def test_one_batch_may_end_and_forget_an_attempt(tmp_path: Path) -> None:
    written(tmp_path, Batch(ended=[(*ONE, Raw(b"1"))], forgotten=[ONE]))
    assert remembered(tmp_path).ended == {}


@pytest.mark.parametrize("torn", range(1, 40, 3))
def test_a_torn_end_is_cut_off(tmp_path: Path, torn: int) -> None:
    written(tmp_path, ended(ONE), ended(TWO))
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes()[:-torn])
    journal = Journal(tmp_path)
    assert list(journal.memory.ended) == [ONE]
    assert journal.damage is None
    journal.write([ended(TWO)])
    journal.close()
    assert list(remembered(tmp_path).ended) == [ONE, TWO]


def test_damage_in_the_middle_is_told_and_set_aside_and_the_rest_is_used(tmp_path: Path) -> None:
    written(tmp_path, ended(ONE), ended(TWO), ended(("t3", 1)))
    path = tmp_path / "journal"
    damaged = path.read_bytes().replace(b'"t2"', b'"tX"')
    path.write_bytes(damaged)
    journal = Journal(tmp_path)
    assert list(journal.memory.ended) == [ONE, ("t3", 1)]
    assert journal.damage is not None
    assert "1 bad lines" in journal.damage
    [aside] = tmp_path.glob("journal.damaged-*")
    assert aside.read_bytes() == damaged
    journal.close()
    assert list(remembered(tmp_path).ended) == [ONE, ("t3", 1)]


def test_damage_at_the_end_is_told_too(tmp_path: Path) -> None:
    written(tmp_path, ended(ONE), ended(TWO), ended(("t3", 1)))
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes().replace(b'"t2"', b'"tX"').replace(b'"t3"', b'"tX"'))
    journal = Journal(tmp_path)
    assert list(journal.memory.ended) == [ONE]
    assert journal.damage is not None
    assert "2 bad lines" in journal.damage
    journal.close()


@pytest.mark.parametrize("garbled", [b'"t2"', b"nothing"])
def test_what_is_owed_is_read_on_a_full_disk_and_a_start_there_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, garbled: bytes
) -> None:
    # Given a journal with a torn end, with and without damage, on a disk that has no room for another one
    written(tmp_path, ended(ONE), ended(TWO), ended(("t3", 1)))
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes().replace(garbled, b'"tX"') + b"torn")
    before = [ONE, ("t3", 1)] if garbled in b'"t2"' else [ONE, TWO, ("t3", 1)]
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full_disk)

        # When a daemon starts, then it knows what it owes
        journal = Journal(tmp_path)
        assert list(journal.memory.ended) == before
    # And it goes on when there is room, and the next one knows all of it
    journal.write([ended(("t4", 1))])
    journal.close()
    assert list(remembered(tmp_path).ended) == [*before, ("t4", 1)]


def test_a_directory_that_could_not_be_read_is_not_in_use(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    with pytest.raises(OSError, match="directory"):
        Journal(tmp_path)
    (tmp_path / "journal").rmdir()
    Journal(tmp_path).close()


def test_any_flipped_bit_is_noticed_or_harmless(tmp_path: Path) -> None:
    written(tmp_path, ended(ONE), ended(TWO))
    path = tmp_path / "journal"
    good = path.read_bytes()
    for offset in range(0, len(good), 5):
        path.write_bytes(good[:offset] + bytes([good[offset] ^ 1]) + good[offset + 1 :])
        assert set(remembered(tmp_path).ended.items()) <= {(ONE, b'{"n":1}'), (TWO, b'{"n":1}')}


def test_a_second_daemon_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(JournalLocked, match="another daemon uses"):
        Journal(tmp_path)
    journal.close()
    Journal(tmp_path).close()


def test_nobody_else_may_read_the_journal(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    written(directory, ended(ONE))
    assert stat.S_IMODE((directory / "journal").stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_directory_that_was_there_is_closed_if_nothing_else_lies_in_it_and_reported_if_not(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    directory.chmod(0o755)
    for name in ("journal", "daemon.log", "lock"):
        (directory / name).touch(mode=0o644)
    with closing(Journal(directory)) as journal:
        assert journal.exposures == []
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700

    directory.chmod(0o755)
    (directory / "holiday.jpg").touch()
    with closing(Journal(directory)) as journal:
        assert [one.command for one in journal.exposures] == [f"chmod 700 {directory}"]


def test_a_journal_that_is_mostly_dead_is_rewritten(tmp_path: Path) -> None:
    journal = Journal(tmp_path, compact_bytes=10_000)
    journal.write([ended(TWO)])
    for number in range(500):
        key = (f"x{number}", 1)
        journal.write([ended(key, b'"' + b"x" * 100 + b'"'), Batch(forgotten=[key])])
    assert (tmp_path / "journal").stat().st_size < 20_000
    journal.close()
    assert list(remembered(tmp_path).ended) == [TWO]


def test_a_journal_that_is_mostly_alive_is_left_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path, compact_bytes=1_000)
    inode = (tmp_path / "journal").stat().st_ino
    for number in range(100):
        journal.write([ended((f"x{number}", 1), b'"' + b"x" * 100 + b'"')])
    assert (tmp_path / "journal").stat().st_ino == inode
    journal.close()


def test_many_batches_share_one_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path)
    syncs: list[int] = []
    monkeypatch.setattr(os, "fdatasync", syncs.append)
    journal.write([ended(ONE), ended(TWO), Batch(forgotten=[ONE])])
    assert len(syncs) == 1
    journal.close()


def test_a_result_too_large_for_the_wire_is_kept_as_a_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write([ended(ONE)], [Whole("t1-1.json", b'"all of it"')])
    journal.close()
    assert (tmp_path / "results" / "t1-1.json").read_bytes() == b'"all of it"'


def test_kept_results_do_not_grow_without_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "WHOLE_FILES_MAX", 3)
    journal = Journal(tmp_path)
    for number in range(6):
        journal.write([ended(ONE)], [Whole(f"{number}.json", b"1")])
        os.utime(tmp_path / "results" / f"{number}.json", ns=(number, number))
    journal.close()
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["3.json", "4.json", "5.json"]


def test_what_somebody_put_among_the_kept_results_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "WHOLE_FILES_MAX", 1)
    (tmp_path / "results" / "notes").mkdir(parents=True)
    (tmp_path / "results" / "gone").symlink_to("nowhere")
    with closing(Journal(tmp_path)) as journal:
        journal.write([Batch()], [Whole("t1-1.json", b"[]")])
    assert (tmp_path / "results" / "t1-1.json").read_bytes() == b"[]"


def test_kept_results_are_bounded_in_bytes_too_and_the_newest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "WHOLE_BYTES_MAX", 100)
    journal = Journal(tmp_path)
    for number, size in enumerate((60, 60, 30, 200)):
        journal.write([ended(ONE)], [Whole(f"{number}.json", b"x" * size)])
        os.utime(tmp_path / "results" / f"{number}.json", ns=(number, number))
        if number == 2:
            assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["1.json", "2.json"]
    journal.close()
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["3.json"]


def test_half_a_result_does_not_stay_on_the_disk_that_it_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full_disk)
        with pytest.raises(JournalFull):
            journal.write([ended(ONE)], [Whole("1.json", b"x" * 100)])
    assert list((tmp_path / "results").iterdir()) == []
    journal.write([ended(ONE)], [Whole("1.json", b"x" * 100)])
    journal.close()
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["1.json"]


def full_disk(*_: object) -> int:
    raise OSError(28, "No space left on device")


def test_a_full_disk_changes_nothing_and_can_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(os, "write", full_disk)
        with pytest.raises(JournalFull, match="No space left"):
            journal.write([ended(ONE)])
    journal.write([ended(ONE)])
    journal.close()
    assert list(remembered(tmp_path).ended) == [ONE]


def test_a_disk_without_room_to_tidy_up_is_written_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path, compact_bytes=1)
    monkeypatch.setattr(os, "fsync", full_disk)
    journal.write([ended(ONE)])
    journal.write([Batch(forgotten=[ONE])])
    monkeypatch.undo()
    journal.close()
    assert remembered(tmp_path).ended == {}


def test_each_line_begins_with_its_checksum(tmp_path: Path) -> None:
    written(tmp_path, ended(ONE))
    for line in (tmp_path / "journal").read_bytes().splitlines():
        assert int(line[:8], 16) == zlib.crc32(line[9:])
