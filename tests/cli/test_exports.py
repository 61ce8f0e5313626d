"""`taskyard export`: one's own tasks, a line of JSON each, in a file for their owner alone."""

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, a_task

NOT_ALLOWED = Reply(status=403, body={"status": 403, "code": "FORBIDDEN", "title": "no", "detail": "no"})


def a_hub_with_tasks(hub: StubHub) -> None:
    """The second was archived between the two lists."""
    new, old, older = (a_task(id=id_, ref=ref) for id_, ref in (("c", "T-003"), ("b", "T-002"), ("a", "T-001")))
    hub.on("GET", "export", Reply(body=[new, old]), Reply(body=[old, older]))


def refs_in(text: str) -> list[Any]:
    return [json.loads(line)["ref"] for line in text.splitlines()]


def test_an_export_is_a_file_for_its_owner_alone(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with_tasks(hub)
    path = tmp_path / "mine.jsonl"
    said = cli("export", str(path))
    assert (said.code, said.err) == (0, f"3 tasks were written to {path}.\n")
    assert refs_in(path.read_text()) == ["T-003", "T-002", "T-001"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["mine.jsonl"]


def test_an_export_goes_to_standard_output_unless_a_file_is_named(hub: StubHub, cli: Cli) -> None:
    a_hub_with_tasks(hub)
    said = cli("export")
    assert (refs_in(said.out), said.err) == (["T-003", "T-002", "T-001"], "3 tasks were written.\n")


def test_an_admin_exports_the_tasks_of_one_user(hub: StubHub, cli: Cli) -> None:
    a_hub_with_tasks(hub)
    cli("export", "--user", "ann")
    assert {call.query.get("user") for call in hub.asked("GET", "export")} == {"ann"}


def test_nothing_is_written_over(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with_tasks(hub)
    path = tmp_path / "mine.jsonl"
    path.write_text("mine")
    assert cli("export", str(path)).code == 2
    assert path.read_text() == "mine"


def test_whoever_may_not_export_is_refused_before_anything_is_written(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    hub.on("GET", "export", NOT_ALLOWED, NOT_ALLOWED)
    assert cli("export", str(tmp_path / "mine.jsonl")).code == 4
    assert list(tmp_path.iterdir()) == []
    said = cli("export")
    assert (said.code, said.out) == (4, "")


def test_an_export_that_breaks_off_leaves_no_file(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    hub.on("GET", "export", Reply(body=[a_task()]), NOT_ALLOWED)
    assert cli("export", str(tmp_path / "mine.jsonl")).code == 4
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_export_left_is_in_nobodys_way(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with_tasks(hub)
    (tmp_path / "mine.jsonl.part").write_text("half of it")
    assert cli("export", str(tmp_path / "mine.jsonl")).code == 0
    assert (tmp_path / "mine.jsonl.part").read_text() == "half of it"


def test_a_file_that_cannot_be_written_is_called_as_it_was_named(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    a_hub_with_tasks(hub)
    said = cli("export", str(tmp_path / "nosuch" / "mine.jsonl"))
    assert said.code == 2
    assert f"{tmp_path}/nosuch/mine.jsonl cannot be written: No such file or directory" in " ".join(said.err.split())
