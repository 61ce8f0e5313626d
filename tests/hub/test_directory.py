"""Who is known, once it is on disk."""

from taskyard.core.changes import KeyRecord, UserRecord
from taskyard.hub.directory import CommittedDirectory
from taskyard.vocabulary import Scope

ANN, BOB = UserRecord("u_1", "ann", 1), UserRecord("u_2", "bob", 2)


def a_key(key_id: str, user_id: str, **fields: int) -> KeyRecord:
    return KeyRecord(key_id, user_id, "a key", f"hash of {key_id}", (Scope.TASKS,), 1, **fields)  # type: ignore[arg-type]


def a_directory() -> CommittedDirectory:
    directory = CommittedDirectory()
    directory.update([ANN, BOB], [a_key("k_1", "u_1"), a_key("k_2", "u_1"), a_key("k_3", "u_2")])
    return directory


def test_users_are_found_by_id_and_by_name() -> None:
    directory = a_directory()
    assert directory.user("u_1") == directory.user_by_name("ann") == ANN
    assert directory.users() == [ANN, BOB]
    assert directory.user("u_9") is None
    assert directory.user_by_name("eve") is None


def test_keys_are_found_by_id_by_hash_and_by_user() -> None:
    directory = a_directory()
    assert directory.key("k_1") == directory.key_by_hash("hash of k_1")
    assert [key.id for key in directory.keys_of("u_1")] == ["k_1", "k_2"]
    assert directory.key("k_9") is None
    assert directory.key_by_hash("hash of k_9") is None


def test_a_renamed_user_is_not_found_by_the_old_name() -> None:
    directory = a_directory()
    directory.update([UserRecord("u_1", "anna", 1)], [])
    assert directory.user_by_name("ann") is None
    assert directory.user_by_name("anna") == directory.user("u_1")


def test_two_users_may_swap_their_names_in_one_commit() -> None:
    directory = a_directory()
    directory.update([UserRecord("u_1", "bob", 1), UserRecord("u_2", "ann", 2)], [])
    assert directory.user_by_name("bob") == UserRecord("u_1", "bob", 1)
    assert directory.user_by_name("ann") == UserRecord("u_2", "ann", 2)


def test_a_changed_key_replaces_what_was_known_of_it() -> None:
    directory = a_directory()
    directory.update([], [a_key("k_1", "u_1", revoked_at=9)])
    found = directory.key_by_hash("hash of k_1")
    assert found.revoked_at == 9
