"""A yard's directory: made for its owner, kept over restarts."""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest

from taskyard.core.effects import Done
from taskyard.core.yard_commands import ChangeUser, RevokeKey
from taskyard.hub.yard import CannotStart, prepare, read_secret, welcome_owner, write_private, write_secret
from taskyard.vocabulary import Scope
from tests.support.hub_scene import HeldStore, a_scene

URL = "http://127.0.0.1:8420"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _careless_umask() -> object:
    """As if nothing in the environment protected a new file."""
    old = os.umask(0)
    yield
    os.umask(old)


def test_the_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    prepare(tmp_path / "a" / "yard")
    assert mode_of(tmp_path / "a" / "yard") == 0o700
    prepare(tmp_path / "a" / "yard")


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match="--data"):
        prepare(tmp_path / "file")


def test_a_private_file_is_its_owners_from_the_first_instant(tmp_path: Path) -> None:
    path = tmp_path / "credentials.json"
    path.write_text("open to all")
    path.chmod(0o666)
    (tmp_path / "credentials.new").write_text("left by a crash")
    (tmp_path / "credentials.new").chmod(0o666)
    write_private(path, "secret")
    assert path.read_text() == "secret\n"
    assert mode_of(path) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["credentials.json"]


def test_a_private_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="cannot be written"):
        write_private(tmp_path / "nowhere" / "token.secret", "x")


def test_the_secret_is_made_once(tmp_path: Path) -> None:
    first = read_secret(tmp_path)
    assert len(first) == 43
    assert read_secret(tmp_path) == first
    assert mode_of(tmp_path / "token.secret") == 0o600


@pytest.mark.parametrize("content", [b"", b"\n", b"short\n", b"x" * 65, b"hex:abc", b"hex:" + b"00" * 31, b"hex:\xff"])
def test_a_secret_that_signs_nothing_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token.secret").write_bytes(content)
    with pytest.raises(CannotStart, match="holds no secret"):
        read_secret(tmp_path)


def test_a_secret_may_be_any_bytes_that_came_from_elsewhere(tmp_path: Path) -> None:
    secret = b"\n \0\xff" * 8
    write_secret(tmp_path, secret)
    assert read_secret(tmp_path) == secret
    assert mode_of(tmp_path / "token.secret") == 0o600


def test_a_secret_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "token.secret").mkdir()
    with pytest.raises(CannotStart, match="cannot be read"):
        read_secret(tmp_path)


def credentials(tmp_path: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((tmp_path / "credentials.json").read_text())
    return found


async def test_the_owner_gets_a_key_that_opens_everything(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        user_id = await welcome_owner(scene.hub, tmp_path, URL)
        kept = credentials(tmp_path)
        assert (kept["hub"], kept["user"]) == (URL, "local")
        assert mode_of(tmp_path / "credentials.json") == 0o600
        (key,) = scene.hub.directory.keys_of(user_id)
        assert set(key.scopes) == {Scope.TASKS, Scope.DAEMON, Scope.ADMIN}
        assert kept["key"] not in str(key)
        assert kept["key"] not in scene.log.text


async def test_the_owner_keeps_the_key_over_a_restart(tmp_path: Path) -> None:
    store = HeldStore()
    async with a_scene(store, with_user=False) as scene:
        user_id = await welcome_owner(scene.hub, tmp_path, URL)
        kept = credentials(tmp_path)
    async with a_scene(store, with_user=False) as scene:
        assert await welcome_owner(scene.hub, tmp_path, "http://127.0.0.1:9000") == user_id
        assert credentials(tmp_path) == {**kept, "hub": "http://127.0.0.1:9000"}
        assert len(scene.hub.directory.keys_of(user_id)) == 1


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"key": 7}', '{"key": "tyk_of_another_yard"}', None])
async def test_a_key_that_the_yard_does_not_know_is_replaced(tmp_path: Path, content: str | None) -> None:
    async with a_scene(with_user=False) as scene:
        await welcome_owner(scene.hub, tmp_path, URL)
        kept = credentials(tmp_path)["key"]
        (tmp_path / "credentials.json").unlink()
        if content is not None:
            (tmp_path / "credentials.json").write_text(content)
        user_id = await welcome_owner(scene.hub, tmp_path, URL)
        assert credentials(tmp_path)["key"] != kept
        assert len(scene.hub.directory.keys_of(user_id)) == 2


async def test_a_revoked_key_is_replaced(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        user_id = await welcome_owner(scene.hub, tmp_path, URL)
        (key,) = scene.hub.directory.keys_of(user_id)
        assert await scene.ask(RevokeKey(key.id, "test")) == Done()
        kept = credentials(tmp_path)["key"]
        await welcome_owner(scene.hub, tmp_path, URL)
        assert credentials(tmp_path)["key"] != kept


async def test_a_renamed_owner_takes_the_key_along_and_a_new_local_user_gets_another(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        first = await welcome_owner(scene.hub, tmp_path, URL)
        kept = credentials(tmp_path)["key"]
        assert await scene.ask(ChangeUser(first, "test", name="ada")) == Done()
        second = await welcome_owner(scene.hub, tmp_path, URL)
        assert second != first
        assert credentials(tmp_path)["key"] != kept


async def test_hubs_of_one_yard_that_start_at_the_same_time_have_one_owner_and_a_key_each(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        places = [tmp_path / name for name in ("a", "b")]
        for place in places:
            place.mkdir()
        owners = await asyncio.gather(*(welcome_owner(scene.hub, place, URL) for place in places))
        assert len(set(owners)) == 1
        assert len({(place / "credentials.json").read_text() for place in places}) == 2
