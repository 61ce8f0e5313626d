"""Files of other queues that are broken or hostile, and words and times in any form."""

import os
from pathlib import Path

import pytest

from taskyard.cli.imports import loki, model_queues
from taskyard.cli.imports.files import DEPTH_MAX, FILES_MAX, Damaged, NotADirectory, directory, placed
from taskyard.cli.imports.foreign import error_of, instant_of, metadata_of, origin_of, text_of
from taskyard.wire.fields import FIELD_BYTES_MAX, INPUT_BYTES_MAX
from tests.support.cargo import by_name, plain
from tests.support.foreign_queues import (
    a_loki_directory,
    a_queue_file,
    written,
)

# --- broken and hostile ------------------------------------------------------------------------------------


def test_a_broken_file_is_named_with_line_and_column_and_the_others_are_read(tmp_path: Path) -> None:
    a_loki_directory(tmp_path)
    broken = written(tmp_path / "queue" / "dead-letter.json", '{"tasks": [\n  {"id": "dead",\n   "type": oops}]}')
    cargo = loki.read(str(tmp_path))
    assert cargo.damaged[0].startswith(f"{broken}:3:12: ")
    assert cargo.left_out == ["Left out, since they depend on what could not be read: blocked, orphan."]
    assert "dead" not in by_name(cargo)
    assert "blocked" not in by_name(cargo), "it depends on what could not be read"
    assert "waits" in by_name(cargo)
    assert broken.read_text().endswith("oops}]}")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"tasks": [\n  {"id": "a"},\n  {"id": "b", "retries": "many"}\n]}', ":3:3: Expected `int | null`"),
        ('{"tasks": [', ":1:12: "),
        ("", ":1:1: "),
        ('{"tasks": 3}', ":1:1: "),
        ('{"task": []}', ":1:1: has no `tasks`"),
        ('[{"type": "x"}]', ":1:2: "),
        ("[" * (DEPTH_MAX + 9), "nested deeper"),
        ('{"tasks": [{"id": "é", "x": }]}', ":1:29: "),
    ],
    ids=["shape", "cut", "empty", "no-list", "no-tasks", "no-id", "deep", "letters"],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, content: str, place: str) -> None:
    written(tmp_path / "pending.json", content)
    (damage,) = loki.read(str(tmp_path)).damaged
    assert place in damage


def test_only_regular_files_of_a_sane_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("[]")
    os.symlink(tmp_path / "real.json", tmp_path / "pending.json")
    os.mkfifo(tmp_path / "completed.json")
    (tmp_path / "cancelled.json").mkdir()
    with (tmp_path / "dead-letter.json").open("wb") as file:
        file.truncate(1 << 30)
    damaged = "\n".join(loki.read(str(tmp_path)).damaged)
    assert "pending.json: is a link, and none is followed" in damaged
    assert "completed.json: is no regular file" in damaged
    assert "cancelled.json: is no regular file" in damaged
    assert "dead-letter.json: has 1,073,741,824 bytes" in damaged


def test_a_queue_or_an_archive_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    os.symlink("/etc", tmp_path / "archive")
    assert "archive: is no directory of its own" in model_queues.read(str(tmp_path)).damaged[0]
    os.symlink("/etc", tmp_path / "queue")
    with pytest.raises(Damaged, match="queue: is no directory of its own"):
        loki.read(str(tmp_path))


def test_a_directory_without_a_queue_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(NotADirectory, match="holds neither `queue`"):
        loki.read(str(tmp_path))
    with pytest.raises(NotADirectory, match="holds no queue's file"):
        model_queues.read(str(tmp_path))
    with pytest.raises(NotADirectory, match="No such file"):
        loki.read(str(tmp_path / "nowhere"))


def test_json_of_something_else_is_no_queue(tmp_path: Path) -> None:
    written(tmp_path / "package.json", {"name": "app", "scripts": {}})
    written(tmp_path / "tsconfig.json", {"compilerOptions": {}})
    with pytest.raises(NotADirectory, match=r"no queue's file: none of package\.json, tsconfig\.json has `tasks`"):
        model_queues.read(str(tmp_path))
    written(tmp_path / "gpu.json", a_queue_file("gpu", [], []))
    cargo = model_queues.read(str(tmp_path))
    assert (list(cargo.queues), len(cargo.damaged)) == (["gpu"], 2)


def test_a_file_that_is_written_to_meanwhile_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "pending.json", [])
    really_read = os.read

    def read_while_somebody_writes(fd: int, size: int) -> bytes:
        content = really_read(fd, size)
        os.utime(path, ns=(1, 1))
        return content

    monkeypatch.setattr(os, "read", read_while_somebody_writes)
    with directory(str(tmp_path)) as found, pytest.raises(Damaged, match="written to while it was read"):
        found.read("pending.json")


def test_a_directory_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda fd: [f"{n}.json" for n in range(FILES_MAX + 1)])
    with directory(str(tmp_path)) as found, pytest.raises(Damaged, match="has 10,001 files"):
        found.names(".json")


def test_a_place_is_counted_in_letters_from_one() -> None:
    assert placed("é\nab".encode(), "f", 0) == "f:1:1"
    assert placed("é\nab".encode(), "f", 4) == "f:2:2"


# --- words and times ---------------------------------------------------------------------------------------


def test_times_are_read_in_either_form_and_nothing_else() -> None:
    assert instant_of("2026-03-04T16:51:00") == instant_of("2026-03-04T16:51:00Z") == instant_of(1772643060)
    assert instant_of(1772643060000) == instant_of(1772643060.0)
    assert [instant_of(said) for said in (None, "soon", True, -5, 1e300, [])] == [None] * 6


def test_errors_are_read_in_any_form() -> None:
    assert error_of(None) is error_of("") is None
    said = [error_of(one) for one in ("no", {"message": "m", "code": "C"}, {"message": "m"}, {"x": 1})]
    assert [(one.code, one.message) for one in said if one is not None] == [
        ("IMPORTED_FAILURE", "no"),
        ("C", "m"),
        ("IMPORTED_FAILURE", "m"),
        ("IMPORTED_FAILURE", '{"x":1}'),
    ]


def test_what_is_kept_beside_a_task_is_bounded() -> None:
    raw = metadata_of("loki", {"id": "a", "long": "x" * 100_000, "payload": 1}, left_out=("payload",))
    assert len(bytes(raw)) < FIELD_BYTES_MAX
    assert plain(raw) == {"loki": {"id": "a"}, "left_out": 1}
    many = metadata_of("loki", {f"k{n}": "x" * 100 for n in range(20_000)}, left_out=())
    assert FIELD_BYTES_MAX - 1000 < len(bytes(many)) < FIELD_BYTES_MAX
    assert len(text_of("é" * INPUT_BYTES_MAX).encode()) <= INPUT_BYTES_MAX


def test_a_directory_is_known_by_its_path_unless_it_is_given_a_name(tmp_path: Path) -> None:
    assert origin_of("loki", str(tmp_path / "a" / ".."), None) == f"loki:{tmp_path.resolve()}"
    assert origin_of("loki", "anywhere", "mine") == "mine"
    assert len(origin_of("loki", "/" + "long/" * 100, None)) < 255
