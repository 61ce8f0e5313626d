"""A yard's directory: made for its owner, kept over restarts."""

import asyncio
import json
import os
import stat
from operator import attrgetter
from pathlib import Path

import pytest

from taskyard.core.effects import Done
from taskyard.core.yard_commands import ChangeUser, RevokeKey
from taskyard.gateway.port import Hub
from taskyard.hub.yard import (
    MAKES_ITS_OWN,
    AdminKey,
    CannotStart,
    KeyPolicy,
    exposures,
    prepare,
    read_secret,
    welcome_owner,
    write_private,
    write_secret,
)
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


def test_what_an_earlier_version_left_open_is_closed_and_so_is_its_directory(tmp_path: Path) -> None:
    # Given a directory that was there before Taskyard and holds nothing else
    for name in ("taskyard.db", "taskyard.db-wal", "hub.lock", "hub.log", "hub.old.log", "token.secret", "hub.id"):
        (tmp_path / name).touch(mode=0o644)
    (tmp_path / "daemons").mkdir(mode=0o755)
    (tmp_path / ".taskyard.db.copy").touch(mode=0o600)
    (tmp_path / "taskyard.toml").touch(mode=0o640)
    tmp_path.chmod(0o755)

    # When a hub starts there
    prepare(tmp_path)

    # Then others read none of it; the settings are the operator's file
    assert mode_of(tmp_path) == 0o700
    modes = {path.name: mode_of(path) for path in tmp_path.iterdir()}
    assert modes.pop("daemons") == 0o700
    assert modes.pop("taskyard.toml") == 0o640
    assert set(modes.values()) == {0o600}
    assert exposures(tmp_path) == []


def test_a_directory_with_files_of_others_stays_open_and_that_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "holiday.jpg").touch(mode=0o644)
    (tmp_path / "taskyard.db").touch(mode=0o644)
    prepare(tmp_path)
    assert (mode_of(tmp_path), mode_of(tmp_path / "holiday.jpg")) == (0o755, 0o644)
    assert mode_of(tmp_path / "taskyard.db") == 0o600
    assert [one.command for one in exposures(tmp_path)] == [f"chmod 700 {tmp_path}"]


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


async def welcomed(hub: Hub, data: Path, url: str = URL, policy: KeyPolicy = MAKES_ITS_OWN) -> AdminKey:
    """A hub that has an admin key."""
    key = await welcome_owner(hub, data, url, policy)
    assert key is not None
    return key


async def test_the_owner_gets_a_key_that_opens_everything(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        user_id = (await welcomed(scene.hub, tmp_path)).record.user_id
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
        user_id = (await welcomed(scene.hub, tmp_path)).record.user_id
        kept = credentials(tmp_path)
    async with a_scene(store, with_user=False) as scene:
        assert (await welcomed(scene.hub, tmp_path, "http://127.0.0.1:9000")).record.user_id == user_id
        assert credentials(tmp_path) == {**kept, "hub": "http://127.0.0.1:9000"}
        assert len(scene.hub.directory.keys_of(user_id)) == 1


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"key": 7}', '{"key": "tyk_of_another_yard"}', None])
async def test_a_key_that_the_yard_does_not_know_is_replaced(tmp_path: Path, content: str | None) -> None:
    async with a_scene(with_user=False) as scene:
        await welcomed(scene.hub, tmp_path)
        kept = credentials(tmp_path)["key"]
        (tmp_path / "credentials.json").unlink()
        if content is not None:
            (tmp_path / "credentials.json").write_text(content)
        user_id = (await welcomed(scene.hub, tmp_path)).record.user_id
        assert credentials(tmp_path)["key"] != kept
        assert len(scene.hub.directory.keys_of(user_id)) == 2


async def test_a_revoked_key_is_replaced(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        user_id = (await welcomed(scene.hub, tmp_path)).record.user_id
        (key,) = scene.hub.directory.keys_of(user_id)
        assert await scene.ask(RevokeKey(key.id, "test")) == Done()
        kept = credentials(tmp_path)["key"]
        await welcomed(scene.hub, tmp_path)
        assert credentials(tmp_path)["key"] != kept


async def test_a_renamed_owner_takes_the_key_along_and_a_new_local_user_gets_another(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        first = (await welcomed(scene.hub, tmp_path)).record.user_id
        kept = credentials(tmp_path)["key"]
        assert await scene.ask(ChangeUser(first, "test", name="ada")) == Done()
        second = (await welcomed(scene.hub, tmp_path)).record.user_id
        assert second != first
        assert credentials(tmp_path)["key"] != kept


# --- several hubs on one database --------------------------------------------------------------------------


JOINS = KeyPolicy(joins=True)
id_of = attrgetter("id")


async def test_hubs_of_one_yard_that_start_at_the_same_time_have_one_owner_and_one_key_in_all(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        places = [tmp_path / name for name in "abcd"]
        for place in places:
            place.mkdir()
        found = await asyncio.gather(*(welcome_owner(scene.hub, place, URL, JOINS) for place in places))
        [key] = [each for each in found if each is not None]
        assert list(map(id_of, scene.hub.directory.keys())) == [key.record.id]
        [place] = [place for place in places if (place / "credentials.json").exists()]
        assert credentials(place)["key"] == key.secret


async def test_a_hub_that_joins_a_yard_with_an_admin_key_makes_none_whichever_user_has_it(tmp_path: Path) -> None:
    async with a_scene() as scene:
        await scene.a_key("k_boss", "tyk_boss", Scope.ADMIN)
        assert await welcome_owner(scene.hub, tmp_path, URL, JOINS) is None
        assert list(map(id_of, scene.hub.directory.keys())) == ["k_boss"]
        assert list(tmp_path.iterdir()) == []


async def test_a_hub_that_joins_a_yard_whose_admin_keys_have_ended_makes_one(tmp_path: Path) -> None:
    async with a_scene() as scene:
        await scene.a_key("k_boss", "tyk_boss", Scope.ADMIN)
        await scene.a_key("k_worker", "tyk_worker", Scope.TASKS, Scope.DAEMON)
        assert await scene.ask(RevokeKey("k_boss", "test")) == Done()
        assert (await welcomed(scene.hub, tmp_path, policy=JOINS)).is_kept


async def test_a_hub_that_made_the_key_finds_it_at_the_next_start(tmp_path: Path) -> None:
    async with a_scene(with_user=False) as scene:
        first = await welcomed(scene.hub, tmp_path, policy=JOINS)
        again = await welcomed(scene.hub, tmp_path, "http://127.0.0.1:9000", JOINS)
        assert (again.secret, again.is_kept) == (first.secret, True)
        assert credentials(tmp_path)["hub"] == "http://127.0.0.1:9000"


async def test_a_hub_takes_the_key_that_it_is_given_and_writes_it_nowhere(tmp_path: Path) -> None:
    async with a_scene() as scene:
        await scene.a_key("k_boss", "tyk_boss", Scope.ADMIN)
        given = KeyPolicy(joins=True, given="tyk_boss")
        key = await welcomed(scene.hub, tmp_path, policy=given)
        assert (key.secret, key.record.id, key.is_kept) == ("tyk_boss", "k_boss", False)
        assert list(tmp_path.iterdir()) == []
        assert "tyk_boss" not in f"{scene.log.text}{key!r}{given!r}"


async def test_a_key_that_is_given_leaves_the_file_of_an_earlier_start_in_use(tmp_path: Path) -> None:
    async with a_scene() as scene:
        own = await welcomed(scene.hub, tmp_path)
        await scene.a_key("k_boss", "tyk_boss", Scope.ADMIN)
        await welcomed(scene.hub, tmp_path, "http://127.0.0.1:9000", KeyPolicy(joins=True, given="tyk_boss"))
        assert credentials(tmp_path) == {"hub": "http://127.0.0.1:9000", "user": "local", "key": own.secret}


@pytest.mark.parametrize("given", ["tyk_unknown", "tyk_ended", "tyk_worker"])
async def test_a_key_that_is_given_must_be_a_live_admin_key_of_the_yard(tmp_path: Path, given: str) -> None:
    async with a_scene() as scene:
        await scene.a_key("k_ended", "tyk_ended", Scope.ADMIN)
        await scene.a_key("k_worker", "tyk_worker", Scope.TASKS, Scope.DAEMON)
        assert await scene.ask(RevokeKey("k_ended", "test")) == Done()
        with pytest.raises(CannotStart, match="not a live admin key of this yard") as refused:
            await welcome_owner(scene.hub, tmp_path, URL, KeyPolicy(joins=True, given=given))
        assert given not in str(refused.value)


async def test_another_key_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    async with a_scene() as scene:
        await scene.a_key("k_boss", "tyk_boss", Scope.ADMIN)
        new = await welcomed(scene.hub, tmp_path, policy=KeyPolicy(joins=True, given="tyk_boss", makes_new=True))
        assert (credentials(tmp_path)["key"], new.is_kept) == (new.secret, True)
        newer = await welcomed(scene.hub, tmp_path, policy=KeyPolicy(makes_new=True))
        assert credentials(tmp_path)["key"] == newer.secret != new.secret
        assert len(scene.hub.directory.keys()) == 3
