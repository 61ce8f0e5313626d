"""A yard in a file: what is written can be read again, and what was changed or cut off is noticed."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskyard.cli.imports.files import Damaged
from taskyard.cli.imports.yard_file import Sum, lines_of, read
from taskyard.vocabulary import AttemptStatus, Status
from taskyard.wire.imports import CarriedAttempt, CarriedBreaker, CarriedQueue, CarriedTask, CarriedUser
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub

AT = datetime(2026, 3, 4, 16, 51, tzinfo=UTC)


def a_task(number: int, **fields: Any) -> CarriedTask:
    return CarriedTask(id=f"id-{number}", number=number, input=f"do {number}", created_at=AT, **fields)


def a_file(path: Path, *tasks: CarriedTask) -> Path:
    breaker = CarriedBreaker(type="eng", failures=2)
    queues = {"gpu": CarriedQueue(models=["m"], max_concurrent=2)}
    lines = lines_of(AT, queues, [(CarriedUser(name="ann", plan="pro"), [breaker], tasks)])
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    context = msgspec.Raw(b'{\n  "a": "line\\nbreak"\n}')
    tasks = (a_task(1, context=context), a_task(2, depends_on=["id-1"], status=Status.WAITING))
    (cargo,) = read(str(a_file(tmp_path / "y.jsonl", *tasks)))
    assert [task.id for task in cargo.tasks] == ["id-1", "id-2"]
    assert msgspec.json.decode(cargo.tasks[0].context) == {"a": "line\nbreak"}
    assert cargo.user is not None
    assert (cargo.origin, cargo.user.name, cargo.user.plan) == ("yard", "ann", "pro")
    assert (cargo.breakers[0].type, cargo.queues["gpu"].max_concurrent) == ("eng", 2)


def replaced(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"do 2", b"do 3", "do not add up"),
        (b'"max_concurrent":2', b'"max_concurrent":9', "do not add up"),
        (b'"plan":"pro"', b'"plan":"max"', "do not add up"),
        (b'"failures":2', b'"failures":9', "do not add up"),
        (b'"digest":"', b'"digest":"0', "do not add up"),
        (b'{"kind":"end"', b'{"kind":"end","x":1', ":7:1: Object contains unknown field `x`"),
        (b'"number":2', b'"number":oops', ":6:1: JSON is malformed"),
        (b'{"kind":"taskyard","version":1', b'{"kind":"taskyard","version":9', "has the version 9"),
        (b'{"kind":"user"', b'{"kind":"taskyard","version":1,"at":"2026-01-01T00:00:00Z"}\n{"kind":"user"', ":3:1: "),
        (b'{"kind":"queue"', b'{"kind":"breaker","breaker":{"type":"x"}}\n{"kind":"queue"', "before any user"),
    ],
    ids=["task", "queue", "user", "breaker", "digest", "unknown", "broken", "version", "two-heads", "nobodys"],
)
def test_a_file_that_was_changed_is_not_believed(tmp_path: Path, old: bytes, new: bytes, said: str) -> None:
    path = a_file(tmp_path / "y.jsonl", a_task(1), a_task(2))
    replaced(path, old, new)
    with pytest.raises(Damaged, match=said):
        read(str(path))


def test_a_file_that_was_cut_off_or_goes_on_is_not_believed(tmp_path: Path) -> None:
    path = a_file(tmp_path / "y.jsonl", a_task(1), a_task(2))
    whole = path.read_bytes()
    for lines in range(len(whole.splitlines())):
        path.write_bytes(b"\n".join(whole.splitlines()[:lines]))
        with pytest.raises(Damaged):
            read(str(path))
    path.write_bytes(whole + whole.splitlines()[-2] + b"\n")
    with pytest.raises(Damaged, match="something follows the end"):
        read(str(path))
    path.write_text('{"kind":"end","tasks":0,"digest":"","checksum":""}')
    with pytest.raises(Damaged, match="begins with a line that says so"):
        read(str(path))


def summed(*tasks: CarriedTask, user: str = "ann") -> str:
    total = Sum()
    total.add(user, tasks)
    return total.digest()


def test_tasks_add_up_to_the_same_whatever_ids_and_order_they_have() -> None:
    first, second = a_task(1), a_task(2, depends_on=["id-1"], parent_task_id="id-1")
    moved = a_task(2, depends_on=["other"], parent_task_id="other", order=7)
    moved.id = "another"
    renamed = a_task(1)
    renamed.id = "other"
    assert summed(first, second) == summed(moved, renamed)
    assert summed(first, second) != summed(first, second, user="bob")
    assert summed(first) != summed(a_task(1, priority=7))
    assert summed(first) == summed(a_task(1, archived=True))


def test_what_ran_adds_up_to_what_it_becomes_elsewhere() -> None:
    running = [CarriedAttempt(daemon="mac", status=AttemptStatus.RUNNING, started_at=AT)]
    lost = [CarriedAttempt(daemon="mac", status=AttemptStatus.LOST, started_at=AT, ended_at=AT)]
    ran = a_task(1, status=Status.RUNNING, attempts=running, queued_at=AT, scheduled_at=AT, started_at=AT)
    assert summed(ran) == summed(a_task(1, status=Status.QUEUED, attempts=lost, started_at=AT))


# --- the commands ------------------------------------------------------------------------------------------

ME = {"id": "u_1", "name": "ann", "plan": None, "scopes": ["tasks"], "profile": "local"}
QUEUE = {
    "name": "gpu",
    "models": ["m"],
    "max_concurrent": 2,
    "state": "open",
    "until": None,
    "waiting": 0,
    "running": 0,
}


def a_hub_with(hub: StubHub, *, admin: bool = False) -> None:
    task = {"id": "id-1", "number": 1, "input": "do it", "created_at": "2026-03-04T16:51:00Z"}
    ours = {**task, "id": "id-2", "number": 2, "archived": True, "status": "completed"}
    users = [{"id": "u_1", "name": "ann", "plan": "pro", "overrides": {"max_pending": 3}, "created_at": None}]
    breaker = {"type": "eng", "state": "closed", "failures": 2, "failure_threshold": 5, "cooldown": 300.0}
    hub.on("GET", "users/me", Reply(body={**ME, "scopes": ["tasks", "admin"] if admin else ["tasks"]}))
    hub.on("GET", "users", Reply(body=users))
    hub.on("GET", "queues", Reply(body=[QUEUE]))
    hub.on("GET", "breakers", Reply(body=[breaker]))
    hub.on("GET", "export", Reply(body=[task]), Reply(body=[ours, task]))


def test_an_export_is_a_file_for_its_owner_alone(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with(hub)
    path = tmp_path / "y.jsonl"
    said = cli("export", str(path))
    assert (said.code, said.err) == (0, f"7 lines were written to {path}.\n")
    (cargo,) = read(str(path))
    assert [task.number for task in cargo.tasks] == [1, 2]
    assert cargo.user is None
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["y.jsonl"]


def test_an_export_goes_to_standard_output_unless_a_file_is_named(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with(hub)
    said = cli("export")
    (tmp_path / "y.jsonl").write_text(said.out)
    assert [task.number for task in read(str(tmp_path / "y.jsonl"))[0].tasks] == [1, 2]
    assert said.err == "7 lines were written.\n"


def test_an_admin_exports_everybody_with_their_plans(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with(hub, admin=True)
    cli("export", str(tmp_path / "y.jsonl"))
    (cargo,) = read(str(tmp_path / "y.jsonl"))
    assert cargo.user is not None
    assert (cargo.user.name, cargo.user.plan) == ("ann", "pro")
    assert cargo.user.overrides is not None
    assert cargo.user.overrides.max_pending == 3
    assert {call.query.get("user") for call in hub.asked("GET", "export")} == {"u_1"}


def test_nothing_is_written_over(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with(hub)
    path = tmp_path / "y.jsonl"
    path.write_text("mine")
    assert cli("export", str(path)).code == 2
    assert path.read_text() == "mine"


def test_an_export_that_breaks_off_leaves_no_file(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with(hub)
    hub.on("GET", "export", Reply(status=403, body={"status": 403, "code": "FORBIDDEN", "title": "no", "detail": "no"}))
    assert cli("export", str(tmp_path / "y.jsonl")).code == 4
    assert list(tmp_path.iterdir()) == []


def test_whoever_may_not_export_is_refused_before_anything_is_written(hub: StubHub, cli: Cli) -> None:
    a_hub_with(hub)
    hub.on("GET", "export", Reply(status=403, body={"status": 403, "code": "FORBIDDEN", "title": "no", "detail": "no"}))
    said = cli("export")
    assert (said.code, said.out) == (4, "")


def test_what_a_killed_export_left_is_in_nobodys_way(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with(hub)
    (tmp_path / "y.jsonl.part").write_text("half of it")
    assert cli("export", str(tmp_path / "y.jsonl")).code == 0
    assert (tmp_path / "y.jsonl.part").read_text() == "half of it"


def test_a_file_that_cannot_be_written_is_called_as_it_was_named(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with(hub)
    said = cli("export", str(tmp_path / "nosuch" / "y.jsonl"))
    assert said.code == 2
    assert f"{tmp_path}/nosuch/y.jsonl cannot be written: No such file or directory" in " ".join(said.err.split())


def test_an_import_of_a_yard_goes_to_its_users_if_an_admin_brings_it(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    path = a_file(tmp_path / "y.jsonl", a_task(1))
    hub.on("GET", "users/me", Reply(body={**ME, "scopes": ["admin"]}))
    hub.on("POST", "import", *[Reply(body={"new": ["id-1"], "there": [], "rejected": []})] * 2)
    assert cli("import", "yard", str(path)).out == "1 task was taken in; 0 are there already.\n"
    assert [call.body["user"]["name"] for call in hub.asked("POST", "import")] == ["ann", "ann"]


def test_an_import_of_a_yard_is_ones_own_if_one_is_no_admin(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    path = a_file(tmp_path / "y.jsonl", a_task(1))
    hub.on("GET", "users/me", Reply(body=ME))
    hub.on("POST", "import", *[Reply(body={"new": ["id-1"], "there": [], "rejected": []})] * 2)
    assert cli("import", "yard", str(path)).code == 0
    assert {call.body["user"] for call in hub.asked("POST", "import")} == {None}


def test_an_import_of_a_yard_may_come_by_standard_input(
    hub: StubHub, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = a_file(tmp_path / "y.jsonl", a_task(1)).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(written)))
    hub.on("GET", "users/me", Reply(body=ME))
    hub.on("POST", "import", *[Reply(body={"new": ["id-1"], "there": [], "rejected": []})] * 2)
    assert cli("import", "yard", "-").code == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(written[:-9])))
    said = cli("import", "yard", "-")
    assert (said.code, said.err[:14]) == (1, "taskyard: -:6:")


def several_users(path: Path) -> Path:
    parts: list[Any] = [(CarriedUser(name=name), [], [a_task(1)]) for name in ("ann", "bob")]
    path.write_bytes(b"\n".join(lines_of(AT, {}, parts)))
    return path


def test_several_users_are_an_admins_to_bring(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    hub.on("GET", "users/me", Reply(body=ME))
    said = cli("import", "yard", str(several_users(tmp_path / "y.jsonl")))
    assert said.code == 4
    assert "an admin can import it" in said.err


def test_of_several_users_all_are_looked_at_before_the_first_is_taken(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    hub.on("GET", "users/me", Reply(body={**ME, "scopes": ["admin"]}))
    fine = {"new": ["id-1"], "there": [], "rejected": []}
    refused = {"new": [], "there": [], "rejected": [{"index": 0, "status": 422, "code": "X", "detail": "no"}]}
    hub.on("POST", "import", Reply(body=fine), Reply(body=refused))
    said = cli("import", "yard", str(several_users(tmp_path / "y.jsonl")))
    assert (said.code, said.out) == (1, "Nothing was taken in.\n")
    assert [call.body["dry_run"] for call in hub.asked("POST", "import")] == [True, True]
