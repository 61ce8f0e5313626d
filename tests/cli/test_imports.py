"""How what importers have read is carried to a hub, and what the commands say of it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskyard.cli.imports import loki
from taskyard.cli.imports.cargo import BATCH_TASKS_MAX, Cargo, Circular, arrange, carry
from taskyard.wire.imports import CarriedTask, Import, ImportAnswer
from taskyard.wire.tasks import Rejected
from tests.cli.conftest import Cli
from tests.support.cargo import plain
from tests.support.foreign_queues import (
    a_loki_task,
    a_queue_file,
    a_queued_task,
    written,
)
from tests.support.http_stub import Reply, StubHub

# --- carrying ----------------------------------------------------------------------------------------------


class Taker:
    """Takes what it is given, and remembers how it came."""

    def __init__(self, *, there: tuple[str, ...] = (), refuses: str | None = None) -> None:
        self.there = set(there)
        self.refuses = refuses
        self.pieces: list[Import] = []

    def import_piece(self, piece: Import) -> ImportAnswer:
        self.pieces.append(piece)
        names = [task.id for task in piece.tasks]
        new = [name for name in names if name not in self.there]
        if not piece.dry_run:
            self.there.update(new)
        rejected = [
            Rejected(index=names.index(n), status=422, code="X", detail="no") for n in names if n == self.refuses
        ]
        return ImportAnswer(new=new, there=[name for name in names if name not in new], rejected=rejected)


def a_task(id: str, *depends_on: str, **fields: Any) -> CarriedTask:
    return CarriedTask(id=id, input="do it", depends_on=list(depends_on), **fields)


def test_a_large_import_comes_in_pieces_each_after_what_it_needs() -> None:
    chain = [a_task(f"t{n}", *([f"t{n + 1}"] if n < 2500 else [])) for n in range(2501)]
    taker = Taker(there=("t7",))
    told: list[tuple[int, int]] = []
    carried = carry(taker, Cargo(origin="o", tasks=chain), dry_run=False, told=lambda *at: told.append(at))  # type: ignore[arg-type]
    assert (carried.new, carried.there) == (2500, 1)
    taken = [piece for piece in taker.pieces if not piece.dry_run]
    assert [len(piece.tasks) for piece in taken] == [BATCH_TASKS_MAX, BATCH_TASKS_MAX, 500]
    assert [piece.open_left for piece in taken] == [2500, 1500, 500]
    assert list(taken[1].elsewhere) == ["t1501"]
    assert told == [(1000, 2500), (2000, 2500), (2500, 2500)]


def test_large_tasks_make_small_pieces() -> None:
    large = msgspec.Raw(b'"' + b"x" * 3_000_000 + b'"')
    tasks = [a_task(f"t{n}", result=large) for n in range(3)]
    taker = Taker()
    carry(taker, Cargo(origin="o", tasks=tasks), dry_run=True, told=lambda *_: None)  # type: ignore[arg-type]
    assert [len(piece.tasks) for piece in taker.pieces] == [2, 1]


def test_what_somebody_else_has_brought_meanwhile_is_counted_as_there() -> None:
    class Contested(Taker):
        def import_piece(self, piece: Import) -> ImportAnswer:
            if not piece.dry_run:
                self.there.add("b")
            return super().import_piece(piece)

    cargo = Cargo(origin="o", tasks=[a_task("a"), a_task("b"), a_task("c")])
    carried = carry(Contested(there=("c",)), cargo, dry_run=False, told=lambda *_: None)  # type: ignore[arg-type]
    assert (carried.new, carried.there) == (1, 2)


def test_nothing_is_taken_if_anything_is_in_the_way() -> None:
    taker = Taker(refuses="b")
    carried = carry(taker, Cargo(origin="o", tasks=[a_task("a"), a_task("b")]), dry_run=False, told=lambda *_: None)  # type: ignore[arg-type]
    assert carried.rejected == ["b: no"]
    assert all(piece.dry_run for piece in taker.pieces)


@pytest.mark.parametrize(
    ("fields", "said"), [({"goal": "a\0b"}, "U+0000"), ({"title": 5}, "Expected `str | null`")], ids=["nul", "shape"]
)
def test_what_no_hub_reads_is_named_before_any_is_asked(fields: dict[str, Any], said: str) -> None:
    taker, cargo = Taker(), Cargo(origin="o", tasks=[a_task("a"), a_task("b", **fields)], files={"b": "q/b.json"})
    carried = carry(taker, cargo, dry_run=False, told=lambda *_: None)  # type: ignore[arg-type]
    assert taker.pieces == []
    assert carried.rejected[0].startswith("b in q/b.json: ")
    assert said in carried.rejected[0]


def test_an_import_of_no_task_still_brings_its_breakers() -> None:
    taker = Taker()
    carry(taker, Cargo(origin="o"), dry_run=False, told=lambda *_: None)  # type: ignore[arg-type]
    assert [piece.dry_run for piece in taker.pieces] == [True, False]


def test_a_circle_is_named() -> None:
    with pytest.raises(Circular, match="a, b"):
        arrange([a_task("a", "b"), a_task("b", "a"), a_task("c")])
    assert [task.id for task in arrange([a_task("child", parent_task_id="p"), a_task("p")])] == ["p", "child"]


# --- the commands ------------------------------------------------------------------------------------------


def everything_is_new(hub: StubHub, names: list[str]) -> None:
    looked = Reply(body={"new": names, "there": ["x"], "rejected": []})
    hub.on("POST", "import", looked, Reply(body={"new": names, "there": [], "rejected": []}))


def test_an_import_looks_first_then_takes_and_says_what_came_of_it(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    everything_is_new(hub, ["a"])
    assert cli("import", "loki", str(tmp_path)) == (0, "1 task was taken in; 1 is there already.\n", "")
    assert [call.body["dry_run"] for call in hub.calls] == [True, False]


def test_a_dry_run_takes_nothing(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "a.json", a_queue_file("a", [], [a_queued_task("T-1", "a")]))
    everything_is_new(hub, ["a/T-1"])
    said = cli("import", "model-queues", str(tmp_path), "--dry-run", "--origin", "mine")
    assert said.out == "1 task would be taken in; 1 is there already.\n"
    assert [(call.body["dry_run"], call.body["origin"]) for call in hub.calls] == [(True, "mine")]


@pytest.mark.parametrize(("arguments", "verb"), [((), "were"), (("--dry-run",), "would be")])
def test_queues_that_are_made_are_named(
    hub: StubHub, cli: Cli, tmp_path: Path, arguments: tuple[str, ...], verb: str
) -> None:
    written(tmp_path / "gpu.json", a_queue_file("gpu", [], [a_queued_task("T-1", "gpu")]))
    hub.on("POST", "import", *[Reply(body={"new": ["gpu/T-1"], "there": [], "rejected": [], "queues": ["gpu"]})] * 2)
    assert cli("import", "model-queues", str(tmp_path), *arguments).err == f"Queues that {verb} made: gpu.\n"


def test_a_corrupt_file_makes_it_done_in_part(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    written(tmp_path / "completed.json", "[\n{]")
    everything_is_new(hub, ["a"])
    said = cli("import", "loki", str(tmp_path))
    assert said.code == 6
    assert "completed.json:2:2: " in said.err


@pytest.mark.parametrize("kind", ["loki", "model-queues"])
def test_tasks_of_the_same_name_in_one_file_are_told_and_the_first_is_taken(
    hub: StubHub, cli: Cli, tmp_path: Path, kind: str
) -> None:
    if kind == "loki":
        path = written(tmp_path / "pending.json", [a_loki_task("a", priority=n) for n in (3, 4, 5)])
    else:
        tasks = [a_queued_task("a", "q", priority=n) for n in (3, 4, 5)]
        path = written(tmp_path / "q.json", a_queue_file("q", [], tasks))
    everything_is_new(hub, ["a" if kind == "loki" else "q/a"])
    said = cli("import", kind, str(tmp_path))
    name = hub.calls[-1].body["tasks"][0]["id"]
    assert said.code == 6
    assert said.err == f"{path} has {name} more than once: the first one is taken, the others are left out.\n"
    assert [task["priority"] for task in hub.calls[-1].body["tasks"]] == [3]


def test_what_is_in_the_way_is_told_and_is_a_no(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task(f"a{n:02d}") for n in range(30)])
    rejected = [{"index": n, "status": 422, "code": "X", "detail": "cannot be"} for n in range(30)]
    hub.on("POST", "import", Reply(body={"new": [], "there": [], "rejected": rejected}))
    said = cli("import", "loki", str(tmp_path))
    assert (said.code, said.out) == (1, "Nothing was taken in. 10 more are in the way.\n")
    assert f"In the way: a00 in {tmp_path}/pending.json: cannot be" in said.err


def test_what_is_said_in_passing_has_an_end(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "in-progress.json", [a_loki_task("a")])
    written(
        tmp_path / "pending.json",
        [a_loki_task("a")] * 25 + [a_loki_task(f"b{n}", dependencies=["x"]) for n in range(25)],
    )
    written(tmp_path / "completed.json", "[")
    everything_is_new(hub, ["a"])
    said = cli("import", "loki", str(tmp_path)).err
    assert said.count("/pending.json; it is taken from") == 20
    assert "5 more such remarks" in said
    assert "and 5 more." in said


def test_too_many_to_be_pending_is_a_limit(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    rejected = [{"index": 0, "status": 400, "code": "TOO_MANY_PENDING", "detail": "You have 50 of at most 50."}]
    hub.on("POST", "import", Reply(body={"new": [], "there": [], "rejected": rejected}))
    assert cli("import", "loki", str(tmp_path)).code == 5


@pytest.mark.parametrize("arguments", [("loki",), ("model-queues",)])
def test_what_is_not_there_is_a_no(hub: StubHub, cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    said = cli("import", *arguments, str(tmp_path / "nowhere"))
    assert said.code == 1
    assert "No such file" in said.err
    assert hub.calls == []


@pytest.mark.parametrize("origin", ["", "x" * 300])
def test_an_origin_is_a_name(hub: StubHub, cli: Cli, tmp_path: Path, origin: str) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    said = cli("import", "loki", str(tmp_path), "--origin", origin)
    assert said.code == 2
    assert "a name has 1 to" in said.err
    assert hub.calls == []


def test_a_name_makes_no_lines_of_its_own(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    name = "a\nAll is well."
    written(tmp_path / "in-progress.json", [a_loki_task(name), a_loki_task(name)])
    written(tmp_path / "pending.json", [a_loki_task(name), a_loki_task("b", payload={}), {"id": "c\nd"}])
    rejected = [{"index": 0, "status": 422, "code": "X", "detail": "cannot be"}]
    hub.on("POST", "import", Reply(body={"new": [], "there": [], "rejected": rejected}))
    said = cli("import", "loki", str(tmp_path)).err.splitlines()
    assert len(said) == 4, said


def test_a_mark_of_the_order_of_bytes_is_none_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "pending.json").write_bytes(b'\xef\xbb\xbf[{"id": "a", "payload": "x"}]')
    assert [task.id for task in loki.read(str(tmp_path)).tasks] == ["a"]


def test_programs_are_told_in_json(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    everything_is_new(hub, ["a"])
    said = plain(cli("import", "loki", str(tmp_path), "--json").out)
    assert said == {
        "new": 1,
        "there": 1,
        "damaged": [],
        "left_out": [],
        "rejected": [],
        "notes": [],
        "dry_run": False,
        "queues": [],
        "limited": False,
    }
