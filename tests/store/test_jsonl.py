"""The file form of a yard: equal whichever engine wrote it, and refused whole wherever it was cut or changed."""

import hashlib
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest

from taskyard.core.changes import UserRecord
from taskyard.store import jsonl
from taskyard.store.copy import copy
from taskyard.store.dump import KINDS
from taskyard.store.port import Store, StoreRefused
from tests.support.moving import HOSTILE, at, database_place, file_place, found_at, lines_place, live, moved, quietly
from tests.support.postgres import new_yard
from tests.support.records import NOW, USER, Yard, a_body, a_task

SECRET = b"\xff" * 40


def sealed(kind: str, content: object) -> bytes:
    """A line as the format has it, written here once more."""
    opening = msgspec.json.encode([kind, content])[:-1]
    return opening + b",%d]\n" % crc32(opening)


def resealed(lines: list[list[Any]]) -> bytes:
    """A file with these lines whose checksums are right, and the hash of its records too."""
    header, *records, trailer = lines
    written = [sealed(kind, content) for kind, content, *_ in records]
    sha256 = hashlib.sha256(b"".join(written)).hexdigest()
    return b"".join([sealed(*header[:2]), *written, sealed(trailer[0], {**trailer[1], "sha256": sha256})])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a yard with two tasks, one user and a secret: short enough to spoil every byte of it."""
    directory = tmp_path_factory.mktemp("small")
    place = file_place(directory / "yard.db")

    def write(store: Store) -> None:
        yard = Yard.of(store)
        tasks = [a_task(number=1), a_task(number=2)]
        yard.write(
            created=tasks,
            bodies=[a_body(task, text="é") for task in tasks],
            checkpoints=[(tasks[0].id, b"\xff")],
            users=[UserRecord(id=USER, name="Ada", created_at=NOW)],
        )
        yard.reader.close()

    at(place, write)
    path = directory / "yard.jsonl"
    with place.opened() as source, lines_place(path).made() as target:
        copy(source, target, tell=quietly)
        target.keep_secret(SECRET)
        target.commit()
    return path.read_bytes()


def refusal(path: Path, content: bytes) -> str | None:
    """Why a file with this content is refused; None: it is not."""
    path.write_bytes(content)
    try:
        with jsonl.opened(path, tell=quietly):
            return None
    except StoreRefused as error:
        return str(error)


# --- what is written ---


def test_a_yard_goes_through_files_and_both_engines_and_is_as_it_was(tmp_path: Path) -> None:
    # Given a yard with everything a name or a content may be
    names = ("here.db", "first.jsonl", "second.jsonl", "there.db")
    here, first, second, there = (
        lines_place(tmp_path / name) if name.endswith(".jsonl") else file_place(tmp_path / name) for name in names
    )
    database = database_place(new_yard())
    live(here)
    before = found_at(here)

    # When it goes from SQLite to a file, to PostgreSQL, to another file and back to SQLite
    way = [here, first, database, second, there]
    copies = [moved(old, new) for old, new in pairwise(way)]

    # Then the files are equal, all saw the same rows, and a hub finds what it left
    assert (tmp_path / "first.jsonl").read_bytes() == (tmp_path / "second.jsonl").read_bytes()
    assert len({copied.digest for copied in copies}) == 1
    assert set(copies[0].counts) == {kind.name for kind in KINDS}
    assert found_at(there) == before


def test_the_lines_are_what_the_format_says(small: bytes) -> None:
    header, *records, trailer = map(json.loads, small.splitlines())
    assert header[0] == "header"
    assert {name: value for name, value in header[1].items() if name != "counts"} == {
        "format": "taskyard yard",
        "version": 2,
        "written_at": NOW,
        "cluster_id": "c_new",
        "epoch": 1,
        "seq": 1,
        "batch_id": "b1-1",
    }
    assert header[1]["counts"] == {
        **{kind.name: 0 for kind in KINDS},
        **{"active_tasks": 2, "checkpoints": 1, "commits": 1, "task_numbers": 1, "users": 1, "takeovers": 1},
    }
    assert [(kind, next(iter(content.values()))) for kind, content, _ in records] == [
        ("active_tasks", a_task(number=1).id),
        ("active_tasks", a_task(number=2).id),
        ("checkpoints", a_task(number=1).id),
        ("commits", 1),
        ("task_numbers", USER),
        ("users", USER),
        ("takeovers", 1),
        ("secret", {"base64": "/" * 53 + "w=="}),
    ]
    assert json.loads(records[0][1]["body"]) == {"title": None, "input": "é"}
    assert records[2][1]["content"] == {"base64": "/w=="}
    lines = small.splitlines(keepends=True)
    assert trailer[1] == {"sha256": hashlib.sha256(b"".join(lines[1:-1])).hexdigest()}
    assert small == resealed(list(map(json.loads, lines)))


def test_the_file_is_for_its_owner_and_comes_back_with_its_secret(tmp_path: Path, small: bytes) -> None:
    path = tmp_path / "yard.jsonl"
    path.write_bytes(small)
    again = tmp_path / "again.jsonl"
    with jsonl.opened(path, tell=quietly) as source, jsonl.made(again, now_ms=NOW) as target:
        assert source.secret == SECRET
        copy(source, target, tell=quietly)
        target.keep_secret(SECRET)
        target.commit()
    assert again.read_bytes() == small
    assert again.stat().st_mode & 0o777 == 0o600
    assert sorted(tmp_path.iterdir()) == [again, path]


def test_a_file_of_the_version_before_is_read_which_had_no_takeovers(tmp_path: Path, small: bytes) -> None:
    lines = [line for line in map(json.loads, small.splitlines()) if line[0] != "takeovers"]
    lines[0][1]["version"] = 1
    del lines[0][1]["counts"]["takeovers"]
    (tmp_path / "old.jsonl").write_bytes(resealed(lines))
    there = file_place(tmp_path / "there.db")
    copied = moved(lines_place(tmp_path / "old.jsonl"), there)
    assert (copied.counts["active_tasks"], copied.counts.get("takeovers", 0)) == (2, 0)

    def look(store: Store) -> list[int]:
        return [takeover.epoch for takeover in store.load().takeovers]

    # What led before is judged by number; from here on it is known.
    assert at(there, look) == [2]


def test_who_waits_hears_how_much_was_checked(tmp_path: Path, small: bytes) -> None:
    (tmp_path / "yard.jsonl").write_bytes(small)
    told: list[tuple[str, int, int]] = []
    with jsonl.opened(tmp_path / "yard.jsonl", tell=lambda *said: told.append(said)):
        assert told[-1] == ("checked", 7, 7)


# --- where it is refused ---


def test_a_file_that_exists_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "yard.jsonl"
    path.write_text("another's")
    with pytest.raises(StoreRefused, match="nothing is copied over a file"), lines_place(path).made():
        pass
    assert path.read_text() == "another's"


def test_what_was_not_committed_leaves_no_file(tmp_path: Path) -> None:
    here = file_place(tmp_path / "yard.db")
    live(here)
    (tmp_path / "out").mkdir()
    with here.opened() as source, lines_place(tmp_path / "out" / "yard.jsonl").made() as target:
        copy(source, target, tell=quietly)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.slow
def test_a_file_that_was_cut_anywhere_is_refused(tmp_path: Path, small: bytes) -> None:
    assert refusal(tmp_path / "whole.jsonl", small) is None
    lines = [small[:length].count(b"\n") + 1 for length in range(len(small))]
    said = [refusal(tmp_path / "cut.jsonl", small[:length]) for length in range(len(small))]
    assert [length for length, why in enumerate(said) if why is None] == []
    assert [why for why, line in zip(said, lines, strict=True) if f"cut.jsonl, line {line}: " not in str(why)] == []


@pytest.mark.slow
def test_a_file_with_any_byte_changed_is_refused(tmp_path: Path, small: bytes) -> None:
    for place, byte in enumerate(small):
        other = (byte + 1 + place * 37 % 255) % 256
        changed = small[:place] + bytes([other]) + small[place + 1 :]
        assert refusal(tmp_path / "changed.jsonl", changed), (place, chr(byte), chr(other))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{}\n",
        b"SQLite format 3\0" * 9000,
        b"[1,2]",
        sealed("header", {"format": "other"}),
        sealed("header", {"format": "taskyard yard", "version": 0}),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    why = refusal(tmp_path / "foreign.jsonl", content)
    assert "foreign.jsonl, line 1: it is not the header of a file that `taskyard copy` wrote" in str(why)


def test_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="There is no file"), lines_place(tmp_path / "none.jsonl").opened():
        pass


Lines = list[list[Any]]


def newer(lines: Lines) -> None:
    lines[0][1] = {"format": "taskyard yard", "version": 3, "something": "new"}


def miscounted(lines: Lines) -> None:
    lines[0][1]["counts"]["users"] = 2


def without_a_count(lines: Lines) -> None:
    del lines[0][1]["counts"]["users"]


def with_a_strange_header(lines: Lines) -> None:
    lines[0][1]["extra"] = 1


def repeated(lines: Lines) -> None:
    lines.insert(2, lines[1])


def out_of_order(lines: Lines) -> None:
    lines[1:3] = [lines[2], lines[1]]


def with_kinds_out_of_order(lines: Lines) -> None:
    lines[5:7] = [lines[6], lines[5]]


def without_a_record(lines: Lines) -> None:
    del lines[2]


def of_unknown_kind(lines: Lines) -> None:
    lines[1][0] = "dreams"


def without_a_column(lines: Lines) -> None:
    del lines[1][1]["body"]


def without_a_value(lines: Lines) -> None:
    lines[1][1]["body"] = None


def with_another_type(lines: Lines) -> None:
    lines[5][1]["number"] = "2"


def with_too_large_a_number(lines: Lines) -> None:
    lines[5][1]["number"] = 2**63


def with_a_name_of_bytes(lines: Lines) -> None:
    lines[6][1]["id"] = {"base64": "/w=="}


def with_a_fraction(lines: Lines) -> None:
    lines[5][1]["number"] = 1.5


def of_another_task(lines: Lines) -> None:
    lines[1][1]["record"] = lines[2][1]["record"]


def with_no_record_of_a_task(lines: Lines) -> None:
    lines[1][1]["record"] = "{}"


def with_a_strange_trailer(lines: Lines) -> None:
    lines[-1][1]["extra"] = 1


@pytest.mark.parametrize(
    ("spoil", "line", "said"),
    [
        (newer, 1, "it was written by a newer Taskyard, in version 3 of the format; this one reads version 2"),
        (miscounted, 10, "the header counts other records than the file has"),
        (without_a_record, 9, "the header counts other records than the file has"),
        (without_a_count, 1, "it does not count every kind of record"),
        (with_a_strange_header, 1, "it cannot be read: "),
        (repeated, 3, "it repeats a record or stands in the wrong place"),
        (out_of_order, 3, "it repeats a record or stands in the wrong place"),
        (with_kinds_out_of_order, 7, "it repeats a record or stands in the wrong place"),
        (of_unknown_kind, 2, "there is no kind of record 'dreams'"),
        (without_a_column, 2, "its columns are not those of active tasks"),
        (without_a_value, 2, "its body is not of the right type"),
        (with_another_type, 6, "its number is not of the right type"),
        (with_too_large_a_number, 6, "its number is not of the right type"),
        (with_a_name_of_bytes, 7, "its id is not of the right type"),
        (with_a_fraction, 6, "it cannot be read: "),
        (of_another_task, 2, "the row of task "),
        (with_no_record_of_a_task, 2, "the record of task "),
        (with_a_strange_trailer, 10, "it cannot be read: "),
    ],
)
def test_a_file_whose_checksums_are_right_may_be_wrong_otherwise(
    tmp_path: Path, small: bytes, *, spoil: Callable[[Lines], None], line: int, said: str
) -> None:
    lines = [json.loads(text) for text in small.splitlines()]
    spoil(lines)
    assert f"spoilt.jsonl, line {line}: {said}" in str(refusal(tmp_path / "spoilt.jsonl", resealed(lines)))


def test_records_that_are_sound_by_themselves_are_not_all_that_were_written(tmp_path: Path, small: bytes) -> None:
    lines = small.splitlines(keepends=True)
    header = json.loads(lines[0])
    header[1]["counts"]["users"] = 0
    without = b"".join([sealed(*header[:2]), *lines[1:6], *lines[7:]])
    assert "line 9: the records above are not those that were written" in str(refusal(tmp_path / "y.jsonl", without))


def test_nothing_may_follow_the_trailer(tmp_path: Path, small: bytes) -> None:
    for more in (b"\n", b"x", small):
        assert "line 11: something follows the trailer" in str(refusal(tmp_path / "yard.jsonl", small + more))


def test_a_file_that_changes_while_it_is_copied_is_noticed(tmp_path: Path, small: bytes) -> None:
    path = tmp_path / "yard.jsonl"
    path.write_bytes(small)
    there = file_place(tmp_path / "there.db")
    with jsonl.opened(path, tell=quietly) as source:
        path.write_bytes(small.replace(b"Ada", b"Eve"))
        with pytest.raises(StoreRefused, match="line 7: it was cut or changed"), there.made() as target:
            copy(source, target, tell=quietly)
    assert not (tmp_path / "there.db").exists()


def test_hostile_names_are_in_the_file_as_they_are(tmp_path: Path) -> None:
    here, path = file_place(tmp_path / "yard.db"), tmp_path / "yard.jsonl"
    live(here)
    moved(here, lines_place(path))
    ids = [content["id"] for kind, content, _ in map(json.loads, path.read_bytes().splitlines()) if kind == "users"]
    assert HOSTILE in ids
    assert ids == sorted(ids)
