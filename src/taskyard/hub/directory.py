"""Users and keys as committed: what authentication may rely on."""

from collections.abc import Callable, Iterable

from taskyard.core.changes import KeyRecord, UserRecord


class CommittedDirectory:
    """Changes arrive with the release of their commit, so a key never works before it is on disk."""

    def __init__(self) -> None:
        self._users: dict[str, UserRecord] = {}
        self._names: dict[str, str] = {}
        self._keys: dict[str, KeyRecord] = {}
        self._hashes: dict[str, str] = {}
        self.watchers: list[Callable[[list[UserRecord], list[KeyRecord]], None]] = []
        """Told of every change, before anybody is told of what it makes possible."""

    def update(self, users: Iterable[UserRecord], keys: Iterable[KeyRecord]) -> None:
        users, keys = list(users), list(keys)
        if not users and not keys:
            return
        changed = {user.id: user for user in users}
        for user_id in changed:
            # First every old name goes: one commit may let two users swap theirs.
            if user_id in self._users:
                del self._names[self._users[user_id].name]
        self._users |= changed
        self._names |= {user.name: user.id for user in changed.values()}
        for key in keys:
            self._keys[key.id] = key
            self._hashes[key.hash] = key.id
        for watch in self.watchers:
            watch(users, keys)

    def key_by_hash(self, digest: str) -> KeyRecord | None:
        key_id = self._hashes.get(digest)
        return None if key_id is None else self._keys[key_id]

    def key(self, key_id: str) -> KeyRecord | None:
        return self._keys.get(key_id)

    def keys(self) -> list[KeyRecord]:
        return list(self._keys.values())

    def keys_of(self, user_id: str) -> list[KeyRecord]:
        return [key for key in self._keys.values() if key.user_id == user_id]

    def user(self, user_id: str) -> UserRecord | None:
        return self._users.get(user_id)

    def user_by_name(self, name: str) -> UserRecord | None:
        user_id = self._names.get(name)
        return None if user_id is None else self._users[user_id]

    def users(self) -> list[UserRecord]:
        return list(self._users.values())
