"""What a new user does, with the commands a new user types; and what they read when it goes wrong.

What each command prints and refuses is tested in `tests/cli`, what a hub refuses to start with in `tests/hub`.
"""

import json
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.support.engines import Engine
from tests.support.live import START_S, LiveHub, LiveYard, Said, free_port, live_yard, mounted, taskyard, wait_until

pytestmark = pytest.mark.takes(10)

NO = 1


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Iterator[LiveHub]:
    """As `taskyard up` brings it: with its local daemon, and settings of its own."""
    with live_yard(tmp_path_factory.mktemp("first"), engine) as yard:
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
    said = wait_until(lambda: re.search(r"\S+/\?ticket=\S+", hub.process.said), within_s=START_S, what="the link")
    assert said[0].startswith(hub.url)
    assert f"Taskyard is up at {hub.url}" in hub.process.said
    assert "taskyard submit" in hub.process.said


def test_the_key_is_for_its_owner_only(hub: LiveHub) -> None:
    path = hub.data / "credentials.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["hub"] == hub.url


def test_nothing_that_the_hub_and_its_daemon_write_can_be_read_by_others(hub: LiveHub) -> None:
    at(hub, "submit", "hello", "--type", "echo", "--wait")
    found = [path for path in (hub.data, *hub.data.rglob("*")) if path.is_file() or path.is_dir()]
    written = [path for path in found if path.name != "taskyard.toml"]
    assert len(written) > 5
    assert [path for path in written if path.stat().st_mode & 0o077] == []


def test_submit_wait_prints_the_answer_and_nothing_else(hub: LiveHub) -> None:
    said = at(hub, "submit", "hello", "--type", "echo", "--wait")
    assert (said.code, said.out) == (0, "hello\n")


def test_doctor_finds_nothing_wrong(hub: LiveHub) -> None:
    said = at(hub, "doctor", "--json")
    assert said.code == 0, said.out
    assert {finding["state"] for finding in json.loads(said.out)} <= {"ok", "warning"}


# --- the ways that do not ----------------------------------------------------------------------------------


def test_a_second_hub_on_the_same_data(hub: LiveHub) -> None:
    kept = (hub.data / "credentials.json").read_bytes()
    said = at(hub, "up", "--port", str(free_port()), "--no-daemon")
    assert said.code == NO
    is_one_sentence(said, about="Another hub.*Stop")
    assert (hub.data / "credentials.json").read_bytes() == kept
    assert at(hub, "submit", "hello", "--type", "echo", "--wait").out == "hello\n"


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
