"""Users and their keys."""

import pytest

from taskyard.core.changes import UserRecord
from taskyard.core.effects import Done, Refused
from taskyard.core.yard_commands import ChangeUser, CreateKey, CreateUser, RevokeKey
from taskyard.vocabulary import Level, Refusal, Scope, SourceType
from tests.support.harness import HubHarness


def refused(answer: object) -> Refusal:
    assert isinstance(answer, Refused), answer
    return answer.code


def test_a_user_is_created_and_it_is_kept_who_did_it() -> None:
    hub = HubHarness()
    assert hub.ask(CreateUser("u1", "zoe", "root", "pro", {"max_pending": 7})) == Done()
    record = UserRecord("u1", "zoe", hub.now.wall, "pro", {"max_pending": 7})
    assert hub.batches[-1].users == [record]
    assert [(a.actor, a.action, a.subject, a.new) for a in hub.batches[-1].audit] == [
        ("root", "user.create", "u1", "zoe, plan pro, max_pending=7")
    ]
    assert hub.submit(user="u1").ref == "T-001"


def test_a_name_is_given_once() -> None:
    hub = HubHarness(users=("ann", "bob"))
    assert refused(hub.ask(CreateUser("u1", "ann", "root"))) is Refusal.NAME_TAKEN
    assert refused(hub.ask(CreateUser("ann", "ann", "root"))) is Refusal.NAME_TAKEN
    assert refused(hub.ask(ChangeUser("bob", "root", name="ann"))) is Refusal.NAME_TAKEN
    assert hub.batches[-1].is_empty()


@pytest.mark.parametrize("word", ["*", "me"])
def test_nobody_is_called_by_a_word_that_stands_for_others(word: str) -> None:
    hub = HubHarness(users=("ann",))
    answer = hub.ask(CreateUser("u1", word, "root"))
    assert refused(answer) is refused(hub.ask(ChangeUser("ann", "root", name=word))) is Refusal.NAME_TAKEN
    assert "choose another name" in answer.detail
    assert hub.batches[-1].is_empty()


def test_who_was_called_by_such_a_word_before_can_still_be_changed() -> None:
    hub = HubHarness(users=("me",))
    assert hub.ask(ChangeUser("me", "root", overrides={"max_pending": 5})) == Done()
    assert hub.ask(ChangeUser("me", "root", name="meg")) == Done()


def test_a_user_can_be_renamed_and_the_old_name_is_free() -> None:
    hub = HubHarness()
    assert hub.ask(ChangeUser("ann", "root", name="anna")) == Done()
    assert hub.state.names == {"anna": "ann"}
    assert hub.ask(CreateUser("u1", "ann", "root")) == Done()


def test_a_plan_is_kept_changed_or_taken_away_and_audited() -> None:
    hub = HubHarness(is_metered=True)
    hub.ask(ChangeUser("ann", "root", plan="pro"))
    hub.ask(ChangeUser("ann", "root"))
    assert hub.state.users["ann"].record.plan == "pro"
    hub.ask(ChangeUser("ann", "root", plan=None))
    assert hub.state.users["ann"].record.plan is None
    audit = hub.batches[-1].audit[0]
    assert (audit.old, audit.new) == ("ann, plan pro", "ann, no plan")


def test_overrides_are_merged_and_null_removes_one() -> None:
    hub = HubHarness()
    hub.ask(ChangeUser("ann", "root", overrides={"max_pending": 5, "monthly_agent_hours": 1.5}))
    hub.ask(ChangeUser("ann", "root", overrides={"max_pending": None}))
    assert hub.state.users["ann"].record.overrides == {"monthly_agent_hours": 1.5}


def test_an_unknown_user_is_not_found() -> None:
    hub = HubHarness()
    assert refused(hub.ask(ChangeUser("nobody", "root"))) is Refusal.USER_NOT_FOUND
    assert refused(hub.ask(CreateKey("k", "nobody", "n", "h", (), "root"))) is Refusal.USER_NOT_FOUND


def test_a_key_is_kept_as_a_hash_with_what_it_may() -> None:
    hub = HubHarness()
    command = CreateKey(
        "k1", "ann", "laptop", "hash", (Scope.TASKS, Scope.DAEMON), "ann", Level.HIGH, (SourceType.USER,), 99
    )
    assert hub.ask(command) == Done()
    key = hub.state.api_keys["k1"]
    assert hub.batches[-1].keys == [key]
    assert (key.hash, key.scopes, key.max_priority, key.sources, key.expires_at) == (
        "hash",
        (Scope.TASKS, Scope.DAEMON),
        Level.HIGH,
        (SourceType.USER,),
        99,
    )
    assert hub.batches[-1].audit[0].new == "tasks, daemon"


def test_a_key_is_revoked_once() -> None:
    hub = HubHarness()
    hub.ask(CreateKey("k1", "ann", "laptop", "hash", (), "ann"))
    assert hub.ask(RevokeKey("k1", "ann")) == Done()
    assert hub.state.api_keys["k1"].revoked_at == hub.now.wall
    again = hub.ask(RevokeKey("k1", "ann"))
    assert again == Refused(Refusal.KEY_NOT_FOUND, "This key has been revoked already.")
    assert refused(hub.ask(RevokeKey("k2", "ann"))) is Refusal.KEY_NOT_FOUND


# The first admin key


def first_key(hub: HubHarness, key_id: str) -> object:
    scopes = (Scope.TASKS, Scope.ADMIN)
    return hub.ask(CreateKey(key_id, "ann", "local admin", f"hash of {key_id}", scopes, "hub", is_first_only=True))


def test_of_keys_that_are_to_be_the_first_admin_key_one_is_made() -> None:
    hub = HubHarness()
    hub.ask(CreateKey("worker", "ann", "worker", "hash", (Scope.TASKS, Scope.DAEMON), "ann"))
    assert first_key(hub, "k1") == Done()
    answer = first_key(hub, "k2")
    assert isinstance(answer, Refused)
    assert answer.detail == "This yard has a live admin key already."
    assert "k2" not in hub.state.api_keys
    assert hub.batches[-1].is_empty()


def test_an_admin_key_that_was_revoked_or_has_expired_is_not_there() -> None:
    hub = HubHarness()
    ends = hub.now.wall + 1000
    hub.ask(CreateKey("lent", "ann", "lent", "hash", (Scope.ADMIN,), "ann", expires_at=ends))
    assert refused(first_key(hub, "k1")) is Refusal.FORBIDDEN
    hub.advance(s=1)
    assert first_key(hub, "k1") == Done()
    hub.ask(RevokeKey("k1", "ann"))
    assert first_key(hub, "k2") == Done()
