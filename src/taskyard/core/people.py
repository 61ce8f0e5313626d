"""Users and their keys. Keys enter as hashes; who did what is kept as an audit record in the same commit."""

from taskyard.core.changes import KeyRecord, UserRecord
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.plans import unknown_plan
from taskyard.core.state import State, Turn, User
from taskyard.core.told import Keep
from taskyard.core.yard_commands import ChangeUser, CreateKey, CreateUser, RevokeKey
from taskyard.vocabulary import EVERYBODY, MYSELF, Refusal, Scope

NO_USER = Refused(Refusal.USER_NOT_FOUND, "There is no such user.")
HAS_ADMIN_KEY = Refused(Refusal.FORBIDDEN, "This yard has a live admin key already.")


def create_user(turn: Turn, command: CreateUser) -> None:
    state = turn.state
    refusal = refused_name(state, command.name, of="") or unknown_plan(state, command.plan)
    if refusal is not None:
        turn.effects.append(Reply(command.reply_to, refusal))
        return
    record = UserRecord(command.user_id, command.name, turn.now.wall, command.plan, dict(command.overrides))
    add_user(turn, record, actor=command.actor)
    turn.effects.append(Reply(command.reply_to, Done()))


def add_user(turn: Turn, record: UserRecord, *, actor: str) -> None:
    """Of a name that nobody has."""
    state = turn.state
    state.users[record.id] = User(record, 0)
    state.names[record.name] = record.id
    state.ledger.users[record.id] = record
    turn.audit(actor=actor, action="user.create", subject=record.id, new=_told(record))


def change_user(turn: Turn, command: ChangeUser) -> None:
    state = turn.state
    user = state.users.get(command.user_id)
    if user is None:
        turn.effects.append(Reply(command.reply_to, NO_USER))
        return
    old = user.record
    name, plan = old.name if isinstance(command.name, Keep) else command.name, old.plan
    refusal = None if name == old.name else refused_name(state, name, of=old.id)
    if not isinstance(command.plan, Keep):
        plan, refusal = command.plan, refusal or unknown_plan(state, command.plan)
    if refusal is not None:
        turn.effects.append(Reply(command.reply_to, refusal))
        return
    merged = {**old.overrides, **command.overrides}
    overrides = {key: value for key, value in merged.items() if value is not None}
    user.record = UserRecord(old.id, name, old.created_at, plan, overrides)
    user.allowance = None
    state.yard.wake_user(old.id)
    del state.names[old.name]
    state.names[name] = old.id
    state.ledger.users[old.id] = user.record
    turn.audit(actor=command.actor, action="user.change", subject=old.id, old=_told(old), new=_told(user.record))
    turn.effects.append(Reply(command.reply_to, Done()))


def refused_name(state: State, name: str, *, of: str) -> Refused | None:
    """Why this user cannot be called so, if that is so. Of nobody's (""): by anyone who is there."""
    if name in (EVERYBODY, MYSELF):
        detail = f"`{EVERYBODY}` stands for everybody and `{MYSELF}` for whoever asks; choose another name."
    elif state.names.get(name, of) != of:
        detail = f"There is a user {name} already; choose another name."
    else:
        return None
    return Refused(Refusal.NAME_TAKEN, detail, field="name")


def _told(record: UserRecord) -> str:
    """A user as the audit shows one before and after."""
    limits = "".join(f", {name}={value}" for name, value in record.overrides.items())
    return f"{record.name}, {f'plan {record.plan}' if record.plan else 'no plan'}{limits}"


def create_key(turn: Turn, command: CreateKey) -> None:
    if command.user_id not in turn.state.users:
        turn.effects.append(Reply(command.reply_to, NO_USER))
        return
    if command.is_first_only and any(is_admin_key(key, turn.now.wall) for key in turn.state.api_keys.values()):
        turn.effects.append(Reply(command.reply_to, HAS_ADMIN_KEY))
        return
    record = KeyRecord(
        command.key_id,
        command.user_id,
        command.name,
        command.hash,
        command.scopes,
        turn.now.wall,
        command.max_priority,
        command.sources,
        command.expires_at,
        priority_scale=command.priority_scale,
    )
    turn.state.api_keys[record.id] = record
    turn.state.ledger.keys[record.id] = record
    turn.audit(actor=command.actor, action="key.create", subject=record.id, new=", ".join(record.scopes))
    turn.effects.append(Reply(command.reply_to, Done()))


def is_admin_key(record: KeyRecord, now_ms: int) -> bool:
    """Whether a key opens everything now."""
    is_live = record.revoked_at is None and (record.expires_at is None or record.expires_at > now_ms)
    return is_live and Scope.ADMIN in record.scopes


def revoke_key(turn: Turn, command: RevokeKey) -> None:
    record = turn.state.api_keys.get(command.key_id)
    if record is None or record.revoked_at is not None:
        detail = "There is no such key." if record is None else "This key has been revoked already."
        turn.effects.append(Reply(command.reply_to, Refused(Refusal.KEY_NOT_FOUND, detail)))
        return
    record.revoked_at = turn.now.wall
    turn.state.ledger.keys[record.id] = record
    turn.audit(actor=command.actor, action="key.revoke", subject=record.id)
    turn.effects.append(Reply(command.reply_to, Done()))
