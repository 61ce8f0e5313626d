"""Inbound webhooks: whose tasks a hook makes, by which secrets it is recognised, and how urgent its tasks may be.

A hook is its owner's. Its secrets are kept as they are, because a signature can only be checked with the secret itself;
so they are in no event, no audit record and no answer but the one that made them. After a rotation the one before is
good for a while longer, so that a sender can be told of the new one without losing a delivery.

Whoever may change a hook could let it make tasks, so a key does so only for hooks that may no more than the key itself.
What is delivered is checked and read at the edge; it then comes in as any other submission.
"""

from typing import Final

from msgspec.json import Decoder
from msgspec.structs import replace

from taskyard.core.changes import HookDeliveries, HookRecord
from taskyard.core.effects import Done, Refused, Reply, Submitted
from taskyard.core.priority import lower_of
from taskyard.core.state import State, Turn, User
from taskyard.core.task import ms_of
from taskyard.core.told import Keep
from taskyard.core.yard_commands import ChangeHook, CreateHook, DeleteHook, RotateHook
from taskyard.vocabulary import RANK, Keeps, Level, Refusal

NO_USER: Final = Refused(Refusal.USER_NOT_FOUND, "There is no such user.")
NO_HOOK: Final = Refused(Refusal.HOOK_NOT_FOUND, "There is no such hook of yours.")
"""The same for a hook that is another's and one that never was."""
NO_DELIVERIES: Final = HookDeliveries(0, 0)
_record: Final = Decoder(HookRecord)
_deliveries: Final = Decoder(HookDeliveries)


def hooks_of(state: State, user_id: str | None) -> list[HookRecord]:
    """A user's, newest first; None: everybody's."""
    found = state.hooks if user_id is None else state.users[user_id].hooks
    return sorted(found.values(), key=lambda hook: (hook.created_at, hook.id), reverse=True)


def secrets_of(hook: HookRecord, now_ms: int) -> tuple[str, ...]:
    """Those that are good now, the newest first."""
    if hook.previous is None or now_ms >= hook.previous_until:
        return (hook.secret,)
    return (hook.secret, hook.previous)


def create(turn: Turn, command: CreateHook) -> None:
    user = turn.state.users.get(command.user_id)
    refusal = NO_USER if user is None else _too_many(turn.state, user) or _name_taken(user, command.name)
    if refusal is not None:
        turn.effects.append(Reply(command.reply_to, refusal))
        return
    hook = HookRecord(
        command.hook_id,
        command.user_id,
        command.name,
        command.provider,
        command.secret,
        command.template,
        turn.now.wall,
        _capped(command.max_priority, command.ceiling),
        events=command.events,
    )
    _keep(turn, hook)
    turn.audit(actor=command.actor, action="hook.create", subject=hook.id, new=_told(hook))
    turn.effects.append(Reply(command.reply_to, Done()))


def _too_many(state: State, user: User) -> Refused | None:
    most = state.settings.hooks.per_user_max
    if len(user.hooks) < most:
        return None
    return Refused(Refusal.TOO_MANY_HOOKS, f"You have {most} hooks, which is the most; delete one first.")


def _name_taken(user: User, name: str) -> Refused | None:
    if all(hook.name != name for hook in user.hooks.values()):
        return None
    return Refused(Refusal.NAME_TAKEN, f"You have a hook {name} already; choose another name.", field="name")


def change(turn: Turn, command: ChangeHook) -> None:
    hook = _open_to(turn.state, command)
    if not isinstance(hook, Refused) and not isinstance(command.name, Keep) and command.name != hook.name:
        hook = _name_taken(turn.state.users[hook.user_id], command.name) or hook
    if isinstance(hook, Refused):
        turn.effects.append(Reply(command.reply_to, hook))
        return
    changed = replace(
        hook,
        name=hook.name if isinstance(command.name, Keep) else command.name,
        template=hook.template if isinstance(command.template, Keep) else command.template,
        max_priority=(
            hook.max_priority
            if isinstance(command.max_priority, Keep)
            else _capped(command.max_priority, command.ceiling)
        ),
        events=hook.events if isinstance(command.events, Keep) else command.events,
    )
    _keep(turn, changed)
    turn.audit(actor=command.actor, action="hook.change", subject=hook.id, old=_told(hook), new=_told(changed))
    turn.effects.append(Reply(command.reply_to, Done()))


def rotate(turn: Turn, command: RotateHook) -> None:
    """Another secret from now on, beside the one until now for a while. One from before that is good no more."""
    hook = _open_to(turn.state, command)
    if isinstance(hook, Refused):
        turn.effects.append(Reply(command.reply_to, hook))
        return
    overlap_ms = command.overlap_ms
    if overlap_ms is None:
        overlap_ms = ms_of(turn.state.settings.hooks.overlap_s)
    until = turn.now.wall + overlap_ms
    _keep(turn, replace(hook, secret=command.secret, previous=hook.secret, previous_until=until))
    turn.audit(actor=command.actor, action="hook.rotate", subject=hook.id)
    turn.effects.append(Reply(command.reply_to, Done()))


def delete(turn: Turn, command: DeleteHook) -> None:
    """Nothing more comes in by it. What came in stays."""
    hook = _own(turn.state, command)
    if hook is None:
        turn.effects.append(Reply(command.reply_to, NO_HOOK))
        return
    del turn.state.hooks[hook.id], turn.state.users[hook.user_id].hooks[hook.id]
    turn.state.ledger.kept[Keeps.HOOK, hook.id] = None
    if turn.state.hook_deliveries.pop(hook.id, None) is not None:
        turn.state.ledger.kept[Keeps.HOOK_DELIVERIES, hook.id] = None
    turn.audit(actor=command.actor, action="hook.delete", subject=hook.id, old=_told(hook))
    turn.effects.append(Reply(command.reply_to, Done()))


def note_delivery(turn: Turn, hook_id: str, answer: Refused | Submitted) -> None:
    """For its owner to see. One that is refused, known already or to a hook that just went is written nowhere."""
    state = turn.state
    if isinstance(answer, Submitted) and not all(answer.deduplicated) and hook_id in state.hooks:
        seen = HookDeliveries(state.hook_deliveries.get(hook_id, NO_DELIVERIES).count + 1, turn.now.wall)
        state.hook_deliveries[hook_id] = state.ledger.kept[Keeps.HOOK_DELIVERIES, hook_id] = seen


def _own(state: State, command: ChangeHook | RotateHook | DeleteHook) -> HookRecord | None:
    hook = state.hooks.get(command.hook_id)
    return hook if hook is not None and hook.user_id == command.user_id else None


def _open_to(state: State, command: ChangeHook | RotateHook) -> HookRecord | Refused:
    """The hook, if it is the caller's and lets nobody do more than the caller's key does."""
    hook, ceiling = _own(state, command), command.ceiling
    if hook is None:
        return NO_HOOK
    if ceiling is None or (hook.max_priority is not None and RANK[hook.max_priority] >= RANK[ceiling]):
        return hook
    allowed = hook.max_priority or "any"
    detail = f"This key makes tasks up to {ceiling}, and the hook of {allowed} priority; use another key."
    return Refused(Refusal.FORBIDDEN, detail)


def _capped(wanted: Level | None, ceiling: Level | None) -> Level | None:
    """A higher one is brought down, as with tasks; the answer shows it."""
    return ceiling if wanted is None else lower_of(wanted, ceiling)


def _keep(turn: Turn, hook: HookRecord) -> None:
    _list(turn.state, hook)
    turn.state.ledger.kept[Keeps.HOOK, hook.id] = hook


def _list(state: State, hook: HookRecord) -> None:
    """By its id for deliveries, and with its owner's for them: there may be many users with many hooks."""
    state.hooks[hook.id] = state.users[hook.user_id].hooks[hook.id] = hook


def _told(hook: HookRecord) -> str:
    """A hook as the audit shows it: never by its secret."""
    return f"{hook.name}, {hook.provider}, {f'up to {hook.max_priority}' if hook.max_priority else 'any priority'}"


def remember(state: State, _hook_id: str, record: bytes) -> None:
    """What was kept of a hook."""
    _list(state, _record.decode(record))


def remember_deliveries(state: State, hook_id: str, record: bytes) -> None:
    state.hook_deliveries[hook_id] = _deliveries.decode(record)
