"""What a new user does, with the commands a new user types; and what they read when it goes wrong.

Every error is one sentence that says what to do, has the exit code that `wire.md` gives it, and changes nothing.
"""

import json
import os
import re
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.engines import Engine
from tests.support.live import LiveHub, LiveYard, Said, free_port, live_yard, mounted, taskyard, wait_until

pytestmark = pytest.mark.takes(75)

NO, WRONG_USE, HUB_NOT_THERE, NOT_ALLOWED = 1, 2, 3, 4


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, engine: Engine, gateways: int) -> Iterator[LiveHub]:
    """As `taskyard up` brings it: with its local daemon, and settings of its own."""
    with live_yard(tmp_path_factory.mktemp("first"), engine, gateways=gateways) as yard:
        yield yard.hub(options=(), settings="")


def at(hub: LiveHub, *arguments: str, prefix: Sequence[str] = ()) -> Said:
    """Where this hub keeps everything."""
    known = {"TASKYARD_DATABASE": hub.database} if hub.database else {}
    return taskyard(*arguments, "--data", str(hub.data), prefix=prefix, **known)


def is_one_sentence(said: Said, *, about: str) -> None:
    lines = said.err.strip().splitlines()
    assert len(lines) == 1, said.err
    assert lines[0].startswith("taskyard: "), lines[0]
    assert lines[0].endswith("."), lines[0]
    assert re.search(about, lines[0]), lines[0]
    assert said.out == ""


# --- the way that works ------------------------------------------------------------------------------------


def test_up_prints_where_it_is_and_a_link_that_signs_in_once(hub: LiveHub) -> None:
    said = wait_until(lambda: re.search(r"\S+/\?ticket=\S+", hub.process.said), within_s=10, what="the link")
    assert said[0].startswith(hub.url)
    assert f"Taskyard is up at {hub.url}" in hub.process.said
    assert "taskyard submit" in hub.process.said


def test_the_key_is_for_its_owner_only(hub: LiveHub) -> None:
    path = hub.data / "credentials.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["hub"] == hub.url


def test_submit_wait_prints_the_answer_and_nothing_else(hub: LiveHub) -> None:
    said = at(hub, "submit", "hello", "--type", "echo", "--wait")
    assert (said.code, said.out) == (0, "hello\n")


def test_a_task_can_be_found_again(hub: LiveHub) -> None:
    ref = json.loads(at(hub, "submit", "find me", "--type", "echo", "--wait", "--json").out)["ref"]
    assert ref in at(hub, "ls").out
    shown = at(hub, "show", ref)
    assert shown.code == 0
    assert "completed" in shown.out
    assert json.loads(at(hub, "show", ref, "--json").out)["result"] == "find me"


def test_a_task_that_waits_can_be_cancelled(hub: LiveHub) -> None:
    ref = json.loads(at(hub, "submit", "later", "--type", "echo", "--at", "1h", "--json").out)["ref"]
    assert at(hub, "cancel", ref).code == 0
    assert json.loads(at(hub, "show", ref, "--json").out)["status"] == "cancelled"
    is_one_sentence(at(hub, "retry", ref), about="cancelled")


def test_a_dead_letter_is_listed_tried_again_and_discarded(hub: LiveHub) -> None:
    sent = at(hub, "submit", "nobody", "--type", "echo", "--daemon", "nowhere", "--wait", "--json")
    assert sent.code == NO
    ref = json.loads(at(hub, "ls", "--status", "dead-letter", "--json").out)[0]["ref"]
    assert ref in at(hub, "dlq", "ls").out
    assert at(hub, "retry", ref).code == 0
    wait_until(lambda: ref in at(hub, "dlq", "ls").out, within_s=20, what="a dead letter again", every_s=0.2)
    assert at(hub, "dlq", "discard", ref, "--reason", "no such daemon").code == 0
    assert ref not in at(hub, "dlq", "ls").out


def test_doctor_finds_nothing_wrong(hub: LiveHub) -> None:
    said = at(hub, "doctor", "--json")
    assert said.code == 0, said.out
    assert {finding["state"] for finding in json.loads(said.out)} <= {"ok", "warning"}


def test_a_hub_that_is_told_to_stop_leaves_and_comes_back_with_everything(yard: LiveYard) -> None:
    hub = yard.hub()
    ref = json.loads(at(hub, "submit", "stay", "--json").out)["ref"]
    assert hub.process.terminate() == 0
    hub.start()
    assert json.loads(at(hub, "show", ref, "--json").out)["status"] == "queued"


# --- the ways that do not ----------------------------------------------------------------------------------


def test_an_unknown_task_is_a_no(hub: LiveHub) -> None:
    said = at(hub, "show", "T-9999")
    assert said.code == NO
    is_one_sentence(said, about="T-9999|no such task|not found")


def test_a_wrong_word_is_wrong_use(hub: LiveHub) -> None:
    before = len(json.loads(at(hub, "ls", "--json").out))
    assert at(hub, "submit", "x", "--priority", "hgih").code == WRONG_USE
    assert at(hub, "submit", "x", "--payload", "{").code == WRONG_USE
    assert at(hub, "submit").code == WRONG_USE
    assert at(hub, "sumbit", "x").code == WRONG_USE
    assert len(json.loads(at(hub, "ls", "--json").out)) == before


def test_a_hub_that_is_not_there(tmp_path: Path) -> None:
    said = taskyard("ls", "--hub", f"http://127.0.0.1:{free_port()}", "--key", "k")
    assert said.code == HUB_NOT_THERE
    is_one_sentence(said, about="taskyard up")


def test_no_key_at_all(tmp_path: Path) -> None:
    said = taskyard("ls", "--data", str(tmp_path))
    assert said.code == NOT_ALLOWED
    is_one_sentence(said, about="--key|taskyard up")


def test_a_wrong_key(hub: LiveHub) -> None:
    said = taskyard("ls", "--hub", hub.url, "--key", "tyk_wrong")
    assert said.code == NOT_ALLOWED
    is_one_sentence(said, about="--key")


def test_a_second_hub_on_the_same_data(hub: LiveHub) -> None:
    kept = (hub.data / "credentials.json").read_bytes()
    said = at(hub, "up", "--port", str(free_port()), "--no-daemon")
    assert said.code == NO
    is_one_sentence(said, about="Another hub.*Stop")
    assert (hub.data / "credentials.json").read_bytes() == kept
    assert at(hub, "submit", "hello", "--type", "echo", "--wait").out == "hello\n"


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = taskyard("up", "--data", str(tmp_path / "d"), "--port", str(port), "--no-daemon")
    assert said.code == NO
    is_one_sentence(said, about="--port")
    assert not (tmp_path / "d" / "credentials.json").exists()


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ("[leese]\nlease_s = 3\n", "leese"),
        ("[lease]\nlease_s = 'long'\n", "lease_s"),
        ("[lease]\nheartbeat_s = 10\nlease_s = 12\n", "lease_s"),
        ("lease = [", "taskyard.toml"),
        ("[lease]\nlease_s = 1e400\n", "lease.lease_s"),
        ("[retry]\njitter = nan\n", "retry.jitter"),
        ("\udcff", "taskyard.toml"),
    ],
)
def test_bad_settings(tmp_path: Path, settings: str, names: str) -> None:
    (tmp_path / "taskyard.toml").write_bytes(settings.encode(errors="surrogateescape"))
    said = taskyard("up", "--data", str(tmp_path), "--port", str(free_port()), "--no-daemon")
    assert said.code == NO
    is_one_sentence(said, about=names)
    assert os.listdir(tmp_path) == ["taskyard.toml"]


def test_a_database_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "taskyard.db").write_bytes(b"not a database" * 1000)
    said = taskyard("up", "--data", str(tmp_path), "--port", str(free_port()), "--no-daemon")
    assert said.code == NO
    is_one_sentence(said, about="backup|damaged|not a")
    assert (tmp_path / "taskyard.db").read_bytes() == b"not a database" * 1000
    assert taskyard("doctor", "--data", str(tmp_path)).code == NO


def test_a_database_with_a_damaged_page(yard: LiveYard) -> None:
    hub = yard.hub()
    at(hub, "submit", "kept", "--json")
    hub.process.terminate()
    path = hub.data / "taskyard.db"
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    said = taskyard("up", "--data", str(hub.data), "--port", str(hub.port), "--no-daemon")
    assert said.code == NO
    is_one_sentence(said, about="backup|damaged")
    assert path.read_bytes() == content


def test_a_directory_that_cannot_be_written(yard: LiveYard) -> None:
    hub = yard.hub()
    at(hub, "submit", "kept")
    hub.process.terminate()
    files = {path.name: path.read_bytes() for path in hub.data.iterdir() if path.is_file()}
    read_only = mounted(hub.data, options=f"--bind -o ro {hub.data}")
    said = at(hub, "up", "--port", str(hub.port), "--no-daemon", prefix=read_only)
    assert said.code == NO
    is_one_sentence(said, about="--data")
    assert {path.name: path.read_bytes() for path in hub.data.iterdir() if path.is_file()} == files


def test_data_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    said = taskyard("up", "--data", str(tmp_path / "file"), "--port", str(free_port()), "--no-daemon")
    assert said.code == NO
    is_one_sentence(said, about="--data")
    assert (tmp_path / "file").read_text() == "mine"
